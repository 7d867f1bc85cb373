"""What an audit found, as values, as text and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_LINES: Final = 100


@dataclass(frozen=True, slots=True)
class PartitionFindings:
    """One partition: from `since` to before `next` the table says it has everything.

    `end` is where the topic ended; `unmarked` are rows that no commit of the writer accounts for.
    `lost` is what the topic lost before it landed, where `on_data_loss: skip` let the writer go on.
    """

    partition: int
    since: int
    next: int
    end: int
    rows: int
    missing: Sequence[range]
    doubled: Sequence[range]
    unmarked: Sequence[range]
    lost: Sequence[range] = ()

    @property
    def complete_up_to(self) -> int:
        """The first offset that the table does not have, and ought to."""
        return self.missing[0].start if self.missing else self.next

    def wrong(self) -> Iterator[tuple[str, range]]:
        """Yield what is wrong, by its kind."""
        for kind in ("missing", "doubled", "unmarked"):
            for span in getattr(self, kind):
                yield kind, span


@dataclass(frozen=True, slots=True)
class Findings:
    """A table against its topic."""

    table: str
    topic: str
    writer: str
    complete_up_to: str | None
    partitions: Sequence[PartitionFindings]

    @property
    def ok(self) -> bool:
        """Whether each offset has its one row, and no row is without an offset of ours."""
        return not any(True for one in self.partitions for _ in one.wrong())

    def to_json(self) -> dict[str, Any]:
        """Return all of it, for machines."""
        return {
            "table": self.table,
            "topic": self.topic,
            "writer": self.writer,
            "ok": self.ok,
            "rows": sum(one.rows for one in self.partitions),
            "complete_up_to": self.complete_up_to,
            "partitions": [_to_json(one) for one in self.partitions],
        }

    def to_text(self) -> str:
        """Return all of it, for people; where there is much that is wrong, the first of it."""
        rows = sum(one.rows for one in self.partitions)
        lines = [
            f"table {self.table}, landed from topic {self.topic} by {self.writer}",
            f"  {rows:,} rows; complete up to {self.complete_up_to or 'no time known yet'}",
        ]
        lines += [
            (
                f"  {self.topic}-{one.partition}: offsets {one.since:,} to {one.next:,}, complete up "
                f"to {one.complete_up_to:,}, lag {max(0, one.end - one.next):,}"
            )
            for one in self.partitions
        ]
        lines += [
            f"lost: {self.topic}-{one.partition} @ {shown(span)}, accepted by on_data_loss: skip"
            for one in self.partitions
            for span in one.lost
        ]
        wrong = [
            f"{kind}: {self.topic}-{one.partition} @ {shown(span)}"
            for one in self.partitions
            for kind, span in one.wrong()
        ]
        if len(wrong) > MOST_LINES:
            more = f"and {len(wrong) - MOST_LINES:,} more; -o json has them all"
            wrong = [*wrong[:MOST_LINES], more]
        return "\n".join([*lines, *(wrong or ["no offset is missing or doubled"])])


def shown(span: range) -> str:
    """Return a range of offsets as people read it: its last offset is in it."""
    return str(span.start) if len(span) == 1 else f"{span.start}-{span.stop - 1}"


def _to_json(found: PartitionFindings) -> dict[str, Any]:
    numbers = ("partition", "since", "next", "end", "rows", "complete_up_to")
    spans = ("missing", "doubled", "unmarked", "lost")
    return {name: getattr(found, name) for name in numbers} | {
        name: [shown(span) for span in getattr(found, name)] for name in spans
    }
