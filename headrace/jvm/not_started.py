"""A Spark that does not start: its master is away, or its log says why."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING, Final

from headrace.errors import Terminal, Transient

if TYPE_CHECKING:
    from pathlib import Path

STANDALONE: Final = "spark://"
CONNECT_S: Final = 5.0


def require_master(master: str) -> None:
    """Say that a standalone master is away, before Spark tries for a minute and dies of it."""
    if not master.startswith(STANDALONE):
        return
    for place in master.removeprefix(STANDALONE).split(","):
        host, _, port = place.rpartition(":")
        if not port.isdigit():
            return
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), CONNECT_S):
            return
    raise _master_away(master)


def _master_away(master: str) -> Transient:
    return Transient(f"no Spark master answers at {master}", "start it, or correct spark.master")


def why_not_started(
    master: str, log_file: Path, text: str, problem: Exception
) -> Terminal | Transient:
    """Return the error that a failed start of Spark means, by what it has said."""
    if "No space left on device" in text:
        return Terminal("Spark could not start: the disk is full", "free some space, start again")
    if "All masters are unresponsive" in text or "Failed to connect to master" in text:
        return _master_away(master)
    if "Could not parse Master URL" in text:
        return Terminal(
            f"{master} is not a Spark master", "for example local[*] or spark://host:7077"
        )
    return Transient(
        f"Spark could not start ({str(problem).splitlines()[0]})", f"its log is {log_file}"
    )
