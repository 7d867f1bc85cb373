"""What pages and programs see of replays that are asked for here: choices, requests, results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003 - the OpenAPI document is made by the types
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from headrace.errors import UsageError


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong in a request, and in which field; `field` is empty if it is about several."""

    field: str
    message: str
    advice: str = ""


class RequestRefused(UsageError):
    """A request that cannot be carried out as it is, with every mistake in it."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        said = [
            f"{one.field}: {one.message}" if one.field else one.message for one in self.mistakes
        ]
        super().__init__("; ".join(said), next((one.advice for one in mistakes if one.advice), ""))


class ReplayRequestBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A replay that is asked for: of an application, or of tables; values as the options have them."""

    start_ts: str
    end_ts: str
    app: str | None = None
    tables: Sequence[str] = ()
    select: Mapping[str, str] = {}
    regions: Sequence[str] = ()
    max_misalignment: str | None = None
    order: Literal["bounded", "any", "strict"] | None = None
    warmup: str | None = None
    cooldown: str | None = None
    rate_limit: str | int | float | None = None
    stage: bool = False
    to: str | None = None


class CancelBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether what a replay has written is removed, too."""

    delete_output: bool = False


@dataclass(frozen=True, slots=True)
class ReplayStarted:
    """A replay that was started."""

    run_id: str


@dataclass(frozen=True, slots=True)
class ReplayEnded:
    """A replay that is cancelled, or will be when its current step is done."""

    run_id: str
    state: Literal["cancelled", "cancelling"]


@dataclass(frozen=True, slots=True)
class ReplayPublished:
    """A replay whose result is in the table of its application."""

    run_id: str
    table: str
    rows: int


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """A candidate of a source; `table` is None where it cannot be replayed."""

    name: str
    table: str | None


@dataclass(frozen=True, slots=True)
class ReplayedSource:
    """A source of an application, and the candidate that a replay reads if none is chosen."""

    name: str
    read: str
    candidates: Sequence[CandidateRow] = ()


@dataclass(frozen=True, slots=True)
class AppChoice:
    """An application that can be replayed; `problem` says why one cannot."""

    name: str
    file: str
    sink: str = ""
    can_stage: bool = False
    has_time_column: bool = False
    threshold: str = ""
    key: Sequence[str] = ()
    sources: Sequence[ReplayedSource] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class ReplayChoices:
    """What a workspace has that can be replayed, and where records may go."""

    apps: Sequence[AppChoice] = ()
    tables: Sequence[str] = ()
    clusters: Sequence[str] = ()
    regions: Sequence[str] = ()

    def app(self, name: str) -> AppChoice | None:
        """Return an application by its name."""
        return next((one for one in self.apps if one.name == name), None)


@dataclass(frozen=True, slots=True)
class TableOverTime:
    """How many rows a table holds when, by the bounds of its files.

    `counts` are the rows of each span of `each_s` from `start` on. `gaps` are spans without any row,
    the longest first. `problem` says why it is not known.
    """

    table: str
    rows: int = 0
    files: int = 0
    first: str | None = None
    last: str | None = None
    start: str | None = None
    each_s: int = 0
    counts: Sequence[int] = ()
    gaps: Sequence[tuple[str, str]] = ()
    complete_up_to: str | None = None
    rows_elsewhere: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class ReplayDetail:
    """What is known of a replay beside its progress.

    `asked` is the request and `plan` the plan that was approved, where it was started here.
    `comparison` is the last comparison of its result with the live one. `advice` is what to do where
    its process has ended with an error.
    """

    run_id: str
    to: str | None = None
    app: str | None = None
    begun: str | None = None
    staged: str | None = None
    live: str | None = None
    published_rows: int | None = None
    key: Sequence[str] = ()
    can_cancel: bool = False
    can_compare: bool = False
    can_publish: bool = False
    is_ending: bool = False
    can_delete_output: bool = False
    log: str | None = None
    advice: str | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, Any] | None = None
    comparison: Mapping[str, Any] | None = None
