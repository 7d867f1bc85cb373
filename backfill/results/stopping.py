"""Stopping the process of a replay: it finishes its step, and the replay can go on or be cancelled."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import psutil
import structlog

from backfill.run.request import state_of
from headrace.errors import Terminal, Transient
from headrace.locks import holder

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace

LOOKED_EVERY_S: Final = 0.1
# What holds a run for a moment without running it, such as another `backfill cancel`, is let be.
COMMAND: Final = "replay"
log = structlog.get_logger(__name__)


def stop(workspace: Workspace, run_id: str, within_s: float) -> None:
    """Let the process of a run finish its step, and wait for its end; nothing where none runs here."""
    process = process_of(state_of(workspace, run_id).lock)
    if process is None:
        return
    log.info("stopping the replay after its current step", run=run_id, pid=process.pid)
    try:
        process.terminate()
    except psutil.NoSuchProcess:
        return
    except psutil.AccessDenied:
        raise Terminal(
            f"process {process.pid}, which runs {run_id}, belongs to another user",
            "stop it as that user",
        ) from None
    if not has_ended(process, within_s):
        raise Transient(
            f"{run_id} still works on its current step (process {process.pid})",
            "run the command again in a while; the step is the last one",
        )


def process_of(lock: Path) -> psutil.Process | None:
    """Return the `backfill replay` of this host that holds a run."""
    pid = holder(lock)
    if pid is None:
        return None
    try:
        process = psutil.Process(pid)
        return process if COMMAND in process.cmdline() else None
    except psutil.Error:
        return None


def has_ended(process: psutil.Process, within_s: float) -> bool:
    """Wait for the end of a process, whoever started it."""
    until_s = time.monotonic() + within_s
    while True:
        try:
            if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        if time.monotonic() >= until_s:
            return False
        time.sleep(LOOKED_EVERY_S)
