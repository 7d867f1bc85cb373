"""What a JVM keeps of its classes, made and read by real ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from headrace.jars.cache import cache_dir

if TYPE_CHECKING:
    from pathlib import Path

WORKSPACE = """\
spark: {master: "local[1]", conf: {spark.driver.memory: 512m}}
"""
# A command that holds a session, and says whether its JVM has the archive in its memory.
COMMAND = """\
import json, os, signal, sys, psutil
from pathlib import Path
from headrace.config.load import load_workspace
from headrace.log import configure_logging
from headrace.spark import SCHEDULER_JVM, session
configure_logging()
conf = SCHEDULER_JVM if "scheduler" in sys.argv else {}
with session(load_workspace(Path(sys.argv[1])), "archive", conf) as spark:
    (jvm,) = [one for one in psutil.Process().children() if one.name() == "java"]
    maps = {one.path for one in jvm.memory_maps() if one.path.endswith(".jsa")}
    rows = spark.range(5).count()
    if "kill" in sys.argv:
        jvm.kill()
        jvm.wait()
print(json.dumps({"rows": rows, "read": [one for one in maps if sys.argv[2] in one]}))
"""


def run(folder: Path, *said: str) -> tuple[list[str], str]:
    """Return the archives that the JVM of a command has read, and the command's log."""
    environment = os.environ | {"HEADRACE_CACHE": str(folder)}
    arguments = [sys.executable, "-c", COMMAND, str(folder), str(folder), *said]
    ended = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["rows"] == 5
    return found["read"], ended.stderr


def test_it_is_made_once_and_read_and_begun_anew_where_it_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "jars").symlink_to(cache_dir())
    (tmp_path / "headrace.yaml").write_text(WORKSPACE)
    kept = tmp_path / "classes"
    # Made by a JVM that schedules, and read by one that works on records: they share it.
    read, said = run(tmp_path, "scheduler")
    (archive,) = kept.iterdir()
    assert (read, "archiving the JVM's classes" in said) == ([], True)
    read, said = run(tmp_path)
    assert (read, "archiving the JVM's classes" in said) == ([str(archive)], False)
    # Cut short: a JVM that is given this one does not start. The last one may still be ending,
    # and have the whole one in its memory.
    content = archive.read_bytes()
    archive.unlink()
    archive.write_bytes(content[: len(content) // 2])
    # This one is started to make another. It is killed, and leaves none.
    read, said = run(tmp_path, "scheduler", "kill")
    assert (read, "was damaged" in said) == ([], True)
    (tried,) = kept.iterdir()
    assert tried.suffix == ".tried"
