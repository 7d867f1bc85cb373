"""The folder of a line's socket."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

import psutil

# The system takes some hundred bytes for the path of a socket, whatever TMPDIR is.
LONGEST_PARENT_BYTES: Final = 60
SHORT_PARENT: Final = "/tmp"  # noqa: S108 - mkdtemp makes the folder, with a name of its own


def private_folder() -> Path:
    """Make a folder that only this user can enter; remove those that crashes have left.

    A socket's path has to be short, so it is not in the workspace.
    """
    prefix = "headrace-line-"
    asked = tempfile.gettempdir()
    parent = Path(asked if len(os.fsencode(asked)) <= LONGEST_PARENT_BYTES else SHORT_PARENT)
    for left in parent.glob(f"{prefix}*"):
        pid = left.name.removeprefix(prefix).partition("-")[0]
        if pid.isdecimal() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=parent))
