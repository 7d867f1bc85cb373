"""The lines of the overview, from the API or from `headrace status`, and their order."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from headrace.contract import QUARANTINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fleet.lines import StatusLine

# A rate is that of the last seconds: a batch comes every few of them.
WINDOW_S: Final = 10.0
# Where nothing is wrong, what is not running comes before what is.
STATES: Final = ("failed", "starting", "stopped", "new", "running", "complete")

Key = tuple[str, str, str | None]


@dataclass(frozen=True, slots=True)
class TopRow:
    """An output of a stream, a lake table, an application or a replay.

    `lag` is in records, of a replay in steps. `done` counts records, for the rate; a rate is in
    records a second. What is None is not known.
    """

    kind: str
    name: str
    part: str | None
    state: str
    problem: str | None = None
    lag: int | None = None
    complete_up_to: str | None = None
    done: int | None = None

    @property
    def key(self) -> Key:
        """What identifies it."""
        return self.kind, self.name, self.part

    @property
    def is_wrong(self) -> bool:
        """Whether somebody has to look at it."""
        return self.state == "failed" or self.problem is not None


def in_order(rows: Iterable[TopRow]) -> list[TopRow]:
    """Return what is wrong first, then what is furthest behind."""

    def rank(row: TopRow) -> tuple[bool, int, int, Key]:
        lag = -1 if row.lag is None else row.lag
        state = STATES.index(row.state) if row.state in STATES else 0
        return not row.is_wrong, -lag, state, (row.kind, row.name, row.part or "")

    return sorted(rows, key=rank)


def rows_of_lines(lines: Sequence[StatusLine]) -> list[TopRow]:
    """Return the rows of what `headrace status` says; of a quarantine only what is wrong with it."""
    found = []
    for one in lines:
        if one.part == QUARANTINE and one.state != "failed":
            continue
        counts, facts = one.facts.counts, one.facts
        done = facts.rows if counts is None else counts.read
        about = (one.kind, one.name, one.part, one.state, one.problem)
        found.append(TopRow(*about, one.lag, one.complete_up_to, done))
    return found


def rows_of_answers(answers: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[TopRow]:
    """Return the rows of what the API answers, by its paths below /api/v1."""
    found = [row for one in answers["streams"] for row in _of_stream(one)]
    for one in answers["tables"]:
        about = ("lake_table", one["name"], None, one["state"], one["problem"])
        found.append(TopRow(*about, one["lag"], one["complete_up_to"], one["rows"]))
    for one in answers["apps"]:
        lags = [source["lag"] for source in one["sources"] if source["lag"] is not None]
        lag = sum(lags) if lags else None
        found.append(TopRow("app", one["name"], None, one["state"], one["problem"], lag))
    for one in answers["replays"]:
        left = one["steps"] - one["steps_done"]
        about = ("replay", one["run_id"], None, one["state"], None)
        found.append(TopRow(*about, left, one["frontier"], one["rows"]))
    return found


def _of_stream(one: Mapping[str, Any]) -> Iterator[TopRow]:
    problems = {output["problem"] for output in one["outputs"]}
    if one["problem"] is not None and one["problem"] not in problems:
        # Of its file as a whole, or of its quarantine.
        yield TopRow("stream", one["name"], None, one["state"], one["problem"])
    for output in one["outputs"]:
        about = ("stream", one["name"], output["name"], output["state"], output["problem"])
        yield TopRow(*about, output["lag"], output.get("complete_up_to"), output["read"])


@dataclass
class Rates:
    """Records a second, from the counts of the last seconds."""

    _seen: deque[tuple[float, dict[Key, int]]] = field(default_factory=deque)

    def of(self, rows: Iterable[TopRow], at_s: float) -> dict[Key, float]:
        """Take in the counts of a time, and return the rates; at first there is none."""
        now = {one.key: one.done for one in rows if one.done is not None}
        while len(self._seen) > 1 and at_s - self._seen[1][0] >= WINDOW_S:
            self._seen.popleft()
        found: dict[Key, float] = {}
        for then_s, then in self._seen:
            for key in now.keys() & then.keys() - found.keys():
                # A count that begins again has no rate until it is older.
                if at_s > then_s and now[key] >= then[key]:
                    found[key] = (now[key] - then[key]) / (at_s - then_s)
        self._seen.append((at_s, now))
        return found
