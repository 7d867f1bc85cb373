"""A line of `headrace status`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from fleet.text import columns
from headrace.times import format_time_us

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from headrace.http.rows import AppSourceRow
    from headrace.kafka.lag import Lag
    from router.ledger.entries import Counts
    from router.ledger.places import Place

State = Literal["new", "running", "stopped", "complete", "failed"]
HEADER: Final = ("KIND", "NAME", "STATE", "LAG", "LAST BATCH", "COMPLETE UP TO", "PROBLEM")


@dataclass(frozen=True, slots=True)
class LineFacts:
    """What more is known, for the API: of a stream's output, of a lake table, of an application."""

    counts: Counts | None = None
    lost: int | None = None
    table: str | None = None
    rows: int | None = None
    files: int | None = None
    sources: Sequence[AppSourceRow] = ()
    places: Mapping[int, Place] = field(default_factory=dict)
    ends: Mapping[int, int] = field(default_factory=dict)
    advice: str | None = None


@dataclass(frozen=True, slots=True)
class StatusLine:
    """One output of a stream, one lake table, one application or one replay.

    `part` is a stream's output. `lag` is in records, for a replay in steps. What is None is not
    known.
    """

    kind: str
    name: str
    part: str | None = None
    state: State = "new"
    lag: int | None = None
    last_batch: str | None = None
    complete_up_to: str | None = None
    problem: str | None = None
    facts: LineFacts = LineFacts()

    def behind(self, lag: Lag) -> StatusLine:
        """Return it with its lag, and with what follows from that."""
        us = lag.complete_up_to_us
        complete = None if us is None else format_time_us(us)
        return replace(self, lag=lag.records, complete_up_to=complete)

    def failed(self, problem: str, advice: str = "") -> StatusLine:
        """Return it with what is wrong, and what to do about it."""
        facts = replace(self.facts, advice=advice or None)
        return replace(self, state="failed", problem=problem, facts=facts)

    def as_dict(self) -> dict[str, Any]:
        """Return the facts for `-o json`."""
        facts = asdict(replace(self, facts=LineFacts()))
        del facts["facts"]
        output = facts.pop("part")
        return {"kind": facts.pop("kind"), "name": facts.pop("name"), "output": output, **facts}


def as_text(lines: Sequence[StatusLine]) -> str:
    """Return the lines for a person."""
    rows = [
        (
            one.kind.replace("_", " "),
            one.name if one.part is None else f"{one.name}/{one.part}",
            one.state,
            _lag(one),
            _moment(one.last_batch),
            _moment(one.complete_up_to),
            one.problem or "",
        )
        for one in lines
    ]
    return columns(HEADER, rows)


def any_failed(lines: Iterable[StatusLine]) -> bool:
    """Whether something is wrong with any of them."""
    return any(one.state == "failed" for one in lines)


def _lag(line: StatusLine) -> str:
    if line.lag is None:
        return "-"
    return f"{line.lag:,} steps" if line.kind == "replay" else f"{line.lag:,}"


def _moment(text: str | None) -> str:
    """Return a time without its fractions."""
    return "-" if text is None else f"{text[:19]}Z"
