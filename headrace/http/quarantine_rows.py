"""What the page of a quarantine tells: rejected records, what a rule would make of them, a replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003 - the OpenAPI document is made by the types
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from headrace.http.file_rows import FilesCheck

GroupKey: TypeAlias = "tuple[str, str, str]"


@dataclass(frozen=True, slots=True)
class SampleHeader:
    """A header of a rejected record. `is_hex` says that the value is shown as bytes."""

    name: str
    value: str | None
    is_hex: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """A rejected record: where it came from, and what it holds, as text where it is text.

    `is_hex` says that a key or value is shown as bytes. `hidden` says why the value is not shown.
    """

    topic: str
    partition: int
    offset: int
    time: str | None
    size: int
    key: str | None
    key_is_hex: bool
    value: str | None
    value_is_hex: bool
    is_cut: bool = False
    hidden: str | None = None
    headers: Sequence[SampleHeader] = ()
    hidden_headers: int = 0


@dataclass(frozen=True, slots=True)
class QuarantineGroup:
    """Rejected records of one reason, with the newest of them.

    `count` of them wait; a replay has finished `replayed` more. `output` is "" if all failed.
    """

    stage: str
    reason: str
    output: str
    count: int
    samples: Sequence[Sample] = ()
    replayed: int = 0

    @property
    def key(self) -> GroupKey:
        """What tells it from the others."""
        return self.stage, self.reason, self.output


@dataclass(frozen=True, slots=True)
class QuarantineRow:
    """A stream's quarantine. `records` wait, replays have finished `replayed`.

    `unread` older ones were not read. `groups_left` smaller groups are not among the `groups`.
    `is_there` says whether the topic exists.
    """

    stream: str
    cluster: str
    topic: str
    records: int = 0
    bytes: int = 0
    others: int = 0
    unread: int = 0
    groups: Sequence[QuarantineGroup] = ()
    replayed: int = 0
    groups_left: int = 0
    is_there: bool = True


@dataclass(frozen=True, slots=True)
class TriedOutput:
    """What an output would make of rejected records; `unknown` where only Spark could say.

    A replay leaves out an output that `is_table`.
    """

    output: str
    written: int
    filtered: int
    rejected: int
    unknown: int
    reasons: Sequence[tuple[str, int]] = ()
    dropped: int = 0
    is_table: bool = False


@dataclass(frozen=True, slots=True)
class TriedGroup:
    """What a replay would make of the records of one reason: `mended` ones would leave it."""

    stage: str
    reason: str
    output: str
    records: int
    mended: int
    rejected: int
    unknown: int

    @property
    def key(self) -> GroupKey:
        """What tells it from the others."""
        return self.stage, self.reason, self.output


@dataclass(frozen=True, slots=True)
class QuarantineTrial:
    """What a stream would make of the records in its quarantine, by a file that may be changed.

    `skipped` are of another topic than the one that the file reads. `check` has what was changed, and
    its mistakes; with mistakes, nothing was tried.
    """

    stream: str
    records: int
    unread: int
    outputs: Sequence[TriedOutput] = ()
    groups: Sequence[TriedGroup] = ()
    skipped: int = 0
    check: FilesCheck = field(default_factory=lambda: FilesCheck(ok=True))


@dataclass(frozen=True, slots=True)
class EditableFile:
    """A file as it is on the disk, by its path below the workspace; `seen` stands for its content.

    `hidden` says why the text is not shown, and not changed here.
    """

    path: str
    text: str | None
    seen: str
    hidden: str | None = None


@dataclass(frozen=True, slots=True)
class EditableStream:
    """The files of a stream: its own first, then its schema. `is_for_many`: they are for many topics."""

    stream: str
    files: Sequence[EditableFile]
    is_for_many: bool = False


@dataclass(frozen=True, slots=True)
class ReplayedOutput:
    """What a replay of a quarantine made of the records of an output."""

    output: str
    replayed: int
    filtered: int
    dropped: int
    still_rejected: int
    done_before: int
    reasons: Sequence[tuple[str, int]] = ()


QuarantineReplayState: TypeAlias = Literal["starting", "running", "complete", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class QuarantineReplay:
    """The last replay of a quarantine on this host: `read` of `records` of the topic."""

    stream: str
    state: QuarantineReplayState
    started_at: str | None = None
    ended_at: str | None = None
    read: int = 0
    records: int | None = None
    outputs: Sequence[ReplayedOutput] = ()
    problem: str | None = None
    advice: str | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether it runs, or is about to."""
        return self.state in {"starting", "running"}

    @property
    def totals(self) -> Mapping[str, int]:
        """What became of the records, all outputs together."""
        return {
            name: sum(getattr(one, name) for one in self.outputs)
            for name in ("replayed", "filtered", "dropped", "still_rejected", "done_before")
        }
