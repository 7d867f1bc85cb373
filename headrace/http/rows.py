"""The answers of the API. Times are ISO-8601 in UTC; None means not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003 - the OpenAPI document is made by the types
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

# `starting` is only said by the process that starts it, `cancelled` of a replay that was started here.
State: TypeAlias = Literal[
    "new", "starting", "running", "stopped", "complete", "failed", "cancelled"
]


@dataclass(frozen=True, slots=True)
class NotReady:
    """Something that is not at work: a stream (and its output), a table, an application."""

    kind: str
    name: str
    part: str | None
    problem: str
    advice: str | None = None


@dataclass(frozen=True, slots=True)
class OutputRow:
    """An output of a stream. Counts are from its first record on, as the ledger has them."""

    name: str
    state: State
    problem: str | None = None
    lag: int | None = None
    read: int | None = None
    written: int | None = None
    filtered: int | None = None
    dropped: int | None = None
    quarantined: int | None = None
    lost: int | None = None
    complete_up_to: str | None = None


@dataclass(frozen=True, slots=True)
class StreamRow:
    """A stream and its outputs."""

    name: str
    state: State
    problem: str | None = None
    outputs: Sequence[OutputRow] = ()


@dataclass(frozen=True, slots=True)
class TableRow:
    """A lake table. `rows` and `files` are all that the table has, whoever wrote them."""

    name: str
    table: str
    state: State
    problem: str | None = None
    lag: int | None = None
    rows: int | None = None
    complete_up_to: str | None = None
    last_commit: str | None = None
    files: int | None = None
    small_files: int | None = None


@dataclass(frozen=True, slots=True)
class AppSourceRow:
    """A source of an application."""

    name: str
    selected: str
    candidates: Sequence[str] = ()
    lag: int | None = None
    watermark: str | None = None


@dataclass(frozen=True, slots=True)
class AppRow:
    """An application."""

    name: str
    state: State
    problem: str | None = None
    sources: Sequence[AppSourceRow] = ()


@dataclass(frozen=True, slots=True)
class ReplaySourceRow:
    """A table of a replay; the watermark is the newest record of it that was delivered."""

    name: str
    watermark: str | None = None
    next: str | None = None
    held_back_by: str | None = None


@dataclass(frozen=True, slots=True)
class ReplayRow:
    """A replay. Where it has failed, `problem` says why."""

    run_id: str
    state: State
    steps_done: int
    steps: int
    rows: int | None = None
    rows_planned: int | None = None
    eta_s: float | None = None
    frontier: str | None = None
    threshold_ms: int | None = None
    sources: Sequence[ReplaySourceRow] = ()
    certificate: Mapping[str, Any] | None = None
    problem: str | None = None


def state_of_all(states: Sequence[State]) -> State:
    """Return the state of a whole by those of its parts: the one that asks for most attention."""
    order: Sequence[State] = ("failed", "starting", "stopped", "new", "complete", "running")
    return next((one for one in order if one in states), "new")
