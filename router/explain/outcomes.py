"""What a stream makes of given records, evaluated by the functions that its tasks use."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from headrace.expressions.compiled.compiler import NotCompiled
from headrace.records.hygiene.rules import Broken
from router.plan.model import ToTable, ToTopic
from router.tasks.compile import compile_outlet, compile_route
from router.tasks.sending import as_bytes, reason_of
from router.tasks.sent_lines import without_queue
from router.tasks.spark_decoding import decoder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from headrace.kafka.message import GivenMessage
    from headrace.records.rows import Headers, HeadersToSend, Row
    from router.plan.model import Outlet, RoutePlan
    from router.tasks.compile import CompiledOutlet


@dataclass(frozen=True, slots=True)
class Passed:
    """The record that an output would be given."""

    value: bytes | None
    key: bytes | None
    headers: Headers


@dataclass(frozen=True, slots=True)
class Filtered:
    """A record that the output's filter does not let pass."""


Outcome: TypeAlias = Passed | Filtered | Broken
# What lets Spark evaluate an output over decoded records.
BySpark: TypeAlias = (
    "Callable[[RoutePlan, Outlet, Sequence[tuple[GivenMessage, Row]]], list[Outcome]]"
)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How an output's expressions are evaluated: `reason` says why it has to be Spark."""

    outlet: Outlet
    compiled: CompiledOutlet | None
    reason: str | None

    def __str__(self) -> str:
        return "compiled" if self.reason is None else f"by Spark: {self.reason}"


def evaluation_of(outlet: Outlet, plan: RoutePlan) -> Evaluation:
    """Return how an output is evaluated; for a table, which Spark writes, too."""
    compiled = compile_outlet(outlet, plan.source.schema)
    if not isinstance(compiled, NotCompiled):
        return Evaluation(outlet, compiled, None)
    reason = compiled.reason
    if isinstance(outlet.target, ToTable):
        rows = ToTopic("", outlet.sent_to, "json", None, "none")
        compiled = compile_outlet(replace(outlet, target=rows), plan.source.schema)
        if not isinstance(compiled, NotCompiled):
            return Evaluation(outlet, compiled, reason)
        reason = f"{reason}; {compiled.reason}"
    return Evaluation(outlet, None, reason)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A record: the rule that it breaks, or its row and what becomes of it for each output.

    An output that only Spark can evaluate, and that nobody let it, has None.
    """

    record: GivenMessage
    broken: Broken | None = None
    row: Row = None
    outcomes: dict[str, Outcome | None] = field(default_factory=dict)


class Evaluator:
    """Evaluates records for some outputs of a plan, and sends nothing."""

    def __init__(self, plan: RoutePlan, names: Collection[str], by_spark: BySpark | None) -> None:
        self._plan, self._by_spark = plan, by_spark
        self.evaluations = [evaluation_of(one, plan) for one in plan.outlets if one.name in names]
        compiled = [one.compiled for one in self.evaluations if one.compiled is not None]
        self._names = [one.outlet.name for one in compiled]
        self._decode, self._route = decoder(plan), compile_route(plan, compiled)

    def __call__(self, asked: Sequence[tuple[GivenMessage, Collection[str]]]) -> list[Evaluated]:
        """Return what becomes of each record for the outputs that are asked for, in their order."""
        now_ms = time.time_ns() // 1_000_000
        found = [self._evaluate(record, names, now_ms) for record, names in asked]
        for outlet in [one.outlet for one in self.evaluations if one.compiled is None]:
            good = [one for one in found if outlet.name in one.outcomes]
            if good and self._by_spark is not None:
                rows = [(one.record, one.row) for one in good]
                outcomes = self._by_spark(self._plan, outlet, rows)
                for one, outcome in zip(good, outcomes, strict=True):
                    one.outcomes[outlet.name] = outcome
        return found

    def _evaluate(self, record: GivenMessage, names: Collection[str], now_ms: int) -> Evaluated:
        good: list[tuple[GivenMessage, Row]] = []
        bad: list[tuple[GivenMessage, Broken]] = []
        self._decode([record], record.partition(), now_ms, good, bad)
        if bad:
            return Evaluated(record, bad[0][1])
        failed: list[tuple[int, GivenMessage, Exception]] = []
        outcomes: dict[str, Outcome | None] = {
            one.outlet.name: None if one.compiled is None else Filtered()
            for one in self.evaluations
        }
        sends = [without_queue(_collecting(outcomes, name)) for name in self._names]
        self._route([record], record.partition(), now_ms, sends, bad, failed)
        for index, _, problem in failed:
            outcomes[self._names[index]] = failure(self._plan, reason_of(problem))
        wanted = {name: one for name, one in outcomes.items() if name in names}
        return Evaluated(record, None, good[0][1], wanted)


def _collecting(outcomes: dict[str, Outcome | None], name: str) -> Callable[..., None]:
    """Return what takes the place of an output's producer."""

    def collect(
        _topic: str, value: bytes | None, key: bytes | str | None, headers: HeadersToSend
    ) -> None:
        outcomes[name] = passed(value, key, headers)

    return collect


def failure(plan: RoutePlan, reason: str) -> Broken:
    """Return a record that the expressions of one output fail on."""
    return Broken("expression", None, reason, plan.hygiene.on_bad_record)


def passed(value: bytes | str | None, key: bytes | str | None, headers: HeadersToSend) -> Passed:
    """Return a record as it arrives: a client encodes text as UTF-8."""
    own = [(name, as_bytes(one)) for name, one in headers]
    return Passed(as_bytes(value), as_bytes(key), own)
