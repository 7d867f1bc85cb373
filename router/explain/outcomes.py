"""What a stream makes of one record at a time: told, and nothing sent.

The same compiled functions as a task's: what is told here is what would happen there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.expressions.lane.compile import NotCompiled
from headrace.records.json_writer import JsonWriter
from router.compile import compile_outlet, compile_route
from router.plan import ToTable, ToTopic
from router.spark_tasks import decoder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.records.hygiene import Broken
    from headrace.records.rows import Headers, HeadersToSend, Row
    from router.compile import CompiledOutlet
    from router.given import GivenRecord
    from router.plan import Outlet, RoutePlan


@dataclass(frozen=True, slots=True)
class Passed:
    """The record that an output would be given."""

    value: bytes | None
    key: bytes | None
    headers: Headers


@dataclass(frozen=True, slots=True)
class Filtered:
    """A record that the output's filter does not let pass."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A record that the output's expressions fail on."""

    reason: str


Outcome: TypeAlias = Passed | Filtered | Failed
# What lets Spark evaluate an output over decoded records.
BySpark: TypeAlias = (
    "Callable[[RoutePlan, Outlet, Sequence[tuple[GivenRecord, Row]]], list[Outcome]]"
)

DIRECT: Final = "direct"


@dataclass(frozen=True, slots=True)
class Lane:
    """How an output's expressions are evaluated: `reason` says why it has to be Spark."""

    outlet: Outlet
    compiled: CompiledOutlet | None
    reason: str | None

    def __str__(self) -> str:
        return DIRECT if self.reason is None else f"spark: {self.reason}"


def lane_of(outlet: Outlet, plan: RoutePlan) -> Lane:
    """Return an output's lane.

    A table is written by Spark, and its rows can be told without it all the same.
    """
    compiled = compile_outlet(outlet, plan.source.schema)
    if not isinstance(compiled, NotCompiled):
        return Lane(outlet, compiled, None)
    reason = compiled.reason
    if isinstance(outlet.target, ToTable):
        rows = ToTopic("", outlet.sent_to, "json", None, "none")
        compiled = compile_outlet(replace(outlet, target=rows), plan.source.schema)
        if not isinstance(compiled, NotCompiled):
            return Lane(outlet, compiled, reason)
        reason = f"{reason}; {compiled.reason}"
    return Lane(outlet, None, reason)


class Decoder:
    """Reads a record, checks and masks it."""

    def __init__(self, plan: RoutePlan) -> None:
        self._decode = decoder(plan)
        self._write = JsonWriter(plan.source.schema)

    def __call__(self, record: GivenRecord, now_ms: int) -> Broken | Row:
        """Return the row that outputs get to see, or the rule that the record breaks."""
        good: list[tuple[GivenRecord, Row]] = []
        bad: list[tuple[GivenRecord, Broken]] = []
        self._decode([record], record.partition(), now_ms, good, bad)
        return good[0][1] if good else bad[0][1]

    def shown(self, row: Row) -> bytes:
        """Return a row as JSON."""
        return self._write(row)


class DirectOutcomes:
    """Evaluates outputs that need no Spark."""

    def __init__(self, plan: RoutePlan, outlets: Sequence[CompiledOutlet]) -> None:
        self._names = [one.outlet.name for one in outlets]
        self._route = compile_route(plan, outlets)

    def __call__(self, record: GivenRecord, now_ms: int) -> Broken | dict[str, Outcome]:
        """Return what becomes of a record for each output, or the rule that it breaks."""
        given: list[list[Passed]] = [[] for _ in self._names]
        bad: list[tuple[GivenRecord, Broken]] = []
        failed: list[tuple[int, GivenRecord, Exception]] = []
        sends = [(collect, collect) for collect in map(_Collecting, given)]
        self._route([record], record.partition(), now_ms, sends, bad, failed)
        if bad:
            return bad[0][1]
        outcomes: dict[str, Outcome] = {
            name: passed[0] if passed else Filtered()
            for name, passed in zip(self._names, given, strict=True)
        }
        for index, _, problem in failed:
            outcomes[self._names[index]] = Failed(str(problem) or type(problem).__name__)
        return outcomes


class _Collecting:
    """Takes the place of a producer."""

    def __init__(self, into: list[Passed]) -> None:
        self._into = into

    def __call__(
        self, _topic: str, value: bytes | None, key: bytes | str | None, headers: HeadersToSend
    ) -> None:
        self._into.append(passed(value, key, headers))


def passed(value: bytes | str | None, key: bytes | str | None, headers: HeadersToSend) -> Passed:
    """Return a record as it arrives: a client encodes text as UTF-8."""
    own = [(name, _bytes(one)) for name, one in headers]
    return Passed(_bytes(value), _bytes(key), own)


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
