"""Which records are shown, and what becomes of them: the functions of the stream's own tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headrace.errors import UsageError
from headrace.expressions.compiled.compiler import NotCompiled, compile_filter
from headrace.expressions.projection import check_filter, check_projection
from headrace.kafka.message import GivenMessage, position_of
from router.explain.explanation import Explanation
from router.explain.outcomes import Evaluator, Passed
from router.plan.model import Outlet, ToTopic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.kafka.message import Message
    from router.explain.outcomes import BySpark, Evaluated
    from router.plan.model import RoutePlan

# No output may be called so.
WHERE: Final = "--where"


class Selecting:
    """Evaluates records, and passes on those that are wanted."""

    def __init__(
        self,
        plan: RoutePlan,
        output: str | None,
        where: str | None,
        by_spark: BySpark | None,
    ) -> None:
        outlets = [one for one in plan.outlets if output in {None, one.name}]
        self._has_where = where is not None
        if where is not None:
            outlets.append(_outlet_of(where, plan))
        names = [one.name for one in outlets]
        whole = replace(plan, outlets=tuple(outlets))
        self._evaluate = Evaluator(whole, names, by_spark)
        self._names = names
        evaluations = [one for one in self._evaluate.evaluations if one.outlet.name != WHERE]
        self.explanation = Explanation(plan, evaluations, [])
        self.read = 0

    def __call__(self, messages: Sequence[Message]) -> Iterator[Evaluated]:
        """Yield the records that are wanted, each with what becomes of it for the outputs.

        A record that is rejected has no columns: no condition is true for it.
        """
        asked = [(_given(one), self._names) for one in messages]
        for one in self._evaluate(asked):
            self.read += 1
            if not self._has_where or isinstance(one.outcomes.pop(WHERE, None), Passed):
                yield one


def _given(message: Message) -> GivenMessage:
    headers = tuple(message.headers() or ())
    at_ms = message.timestamp()[1]
    return GivenMessage(position_of(message), at_ms, message.value(), message.key(), headers)


def _outlet_of(where: str, plan: RoutePlan) -> Outlet:
    """Return an output of which nothing is used but whether its filter lets a record pass."""
    schema = plan.source.schema
    for problem in check_filter(where, schema):
        raise UsageError(f"--where: {problem.message}", problem.suggestion or "")
    compiled = compile_filter(where, schema)
    if isinstance(compiled, NotCompiled):
        raise UsageError(
            f"--where: only Spark can evaluate it ({compiled.reason})",
            "use functions that headrace evaluates itself; `router explain` names the others",
        )
    columns, _ = check_projection([schema.fields[0].name], schema)
    nowhere = ToTopic("", "", "json", None, "none", origin="none")
    return Outlet(WHERE, where, tuple(columns), nowhere)
