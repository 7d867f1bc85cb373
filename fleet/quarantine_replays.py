"""Replays of quarantines that the control room starts: `router quarantine replay`, as a process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fleet.process_unit import error_in
from headrace.contract import QUARANTINE
from headrace.errors import Terminal
from headrace.http.quarantine_rows import QuarantineReplay, ReplayedOutput
from headrace.state_files import make_folder
from router.quarantine.replay_state import is_running, last_replay, now
from router.state import stream_state

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fleet.stream_origin import StreamOrigin
    from router.quarantine.replay_state import ReplayState

OUTPUT: Final = "replay-output.json"
LOG: Final = "replay.log"
MOST_REASONS_SHOWN: Final = 10
KILLED: Final = "it was killed before its end"
KILLED_ADVICE: Final = "start it again: what it noted is not sent twice, its last records may be"
DRAINED_ADVICE: Final = "start it again: it goes on with the records that are left"


class ReplayRuns(Terminal):
    """A replay of a quarantine that has not ended yet."""

    def __init__(self, stream: str) -> None:
        super().__init__(
            f"a replay of the quarantine of stream {stream} runs already", "wait until it has ended"
        )


@dataclass(slots=True)
class Started:
    """A process that was started here: since when, its id, and what it said when it failed."""

    at: str
    has_begun: threading.Event = field(default_factory=threading.Event)
    pid: int | None = None
    is_over: bool = False
    problem: str | None = None


class QuarantineReplays:
    """Starts replays, one of a stream at a time, and says how the last one fares.

    What it says comes from the disk of this host, so it is the same after a restart. The kernel asks
    a replay to end when this process ends: it then finishes the records at hand.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started: dict[str, Started] = {}

    def start(self, origin: StreamOrigin) -> QuarantineReplay:
        """Start a replay; ReplayRuns if one has not ended."""
        stream, started = origin.stream.config.name, Started(now())
        with self._lock:
            last = self.last(origin)
            if last is not None and last.is_under_way:
                raise ReplayRuns(stream)
            self._started[stream] = started
        # The process lives as long as the thread that started it, so that thread waits for it.
        thread = threading.Thread(
            target=_run,
            args=(started, _command(origin), _folder(origin)),
            name=f"replays the quarantine of {stream}",
            daemon=True,
        )
        thread.start()
        started.has_begun.wait()
        return self.last(origin) or QuarantineReplay(stream, "starting")

    def last(self, origin: StreamOrigin) -> QuarantineReplay | None:
        """Return the last replay of this host, whoever started it; None where there was none."""
        stream, folder = origin.stream.config.name, _folder(origin)
        started, kept = self._started.get(stream), last_replay(folder)
        if kept is not None and is_running(folder, kept):
            return _row(stream, kept, is_running=True)
        is_older = kept is None or (
            started is not None and kept.pid != started.pid and kept.started_at <= started.at
        )
        if started is not None and is_older:
            # It ended, or has not come so far, before it wrote anything.
            if not started.is_over:
                return QuarantineReplay(stream, "starting")
            if started.problem is not None:
                return QuarantineReplay(stream, "failed", problem=started.problem)
        if kept is not None and started is not None and not started.is_over:
            # It is about to end.
            return _row(stream, kept, is_running=True)
        return None if kept is None else _row(stream, kept, is_running=False)


def _folder(origin: StreamOrigin) -> Path:
    return stream_state(origin.workspace, origin.stream.config.name).member(QUARANTINE)


def _command(origin: StreamOrigin) -> list[str]:
    """Return the words of the command; each value is one word, whatever it begins with."""
    return [
        *("router", "quarantine", "replay", f"--config={origin.path}"),
        *([f"--topic={origin.topic}"] if origin.topic else []),
        *([f"--region={origin.region}"] if origin.region else []),
        f"--workspace={origin.workspace.root}",
        "--format=json",
    ]


def _run(started: Started, words: list[str], folder: Path) -> None:
    """Run the command until it ends, and keep why it failed."""
    tether = [sys.executable, "-m", "headrace.embedded.tether", str(os.getpid())]
    try:
        make_folder(folder)
        with (folder / OUTPUT).open("wb") as output, (folder / LOG).open("wb") as said:
            process = subprocess.Popen(
                [*tether, sys.executable, "-m", "headrace.cli.main", *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=said,
                start_new_session=True,
            )
            started.pid = process.pid
            started.has_begun.set()
            code = process.wait()
        if code != 0:
            _, why = error_in(folder / OUTPUT)
            started.problem = why or f"its process ended with exit code {code}; see {folder / LOG}"
    except OSError as problem:
        started.problem = f"it could not be started: {problem.strerror or problem}"
    finally:
        started.is_over = True
        started.has_begun.set()


def _row(stream: str, kept: ReplayState, *, is_running: bool) -> QuarantineReplay:
    problem, advice = kept.problem, kept.advice
    if is_running:
        state, problem = "running", None
    elif problem is not None:
        state = "failed"
    elif kept.ended_at is None:
        state, problem, advice = "stopped", KILLED, KILLED_ADVICE
    elif kept.report.get("drained"):
        state, problem, advice = "stopped", "it was asked to end early", DRAINED_ADVICE
    else:
        state = "complete"
    outputs = [_output(name, one) for name, one in kept.report.get("outputs", {}).items()]
    return QuarantineReplay(
        stream,
        state,  # type: ignore[arg-type]  # mypy takes the literals above for texts
        kept.started_at,
        kept.ended_at,
        kept.read,
        kept.records,
        outputs,
        problem,
        advice,
    )


def _output(name: str, tally: Mapping[str, Any]) -> ReplayedOutput:
    return ReplayedOutput(
        name,
        tally["replayed"],
        tally["filtered"],
        tally["dropped"],
        tally["still_bad"],
        tally["already"],
        [(one["reason"], one["count"]) for one in tally["reasons"][:MOST_REASONS_SHOWN]],
    )
