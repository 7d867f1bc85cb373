"""`router explain`: what a stream makes of given records, output by output."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.records.json.writer import JsonWriter
from router.explain.outcomes import Evaluator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from headrace.kafka.message import GivenMessage
    from headrace.records.rows import Row
    from router.explain.outcomes import BySpark, Evaluated, Evaluation, Outcome
    from router.plan.model import Outlet, RoutePlan


@dataclass(frozen=True, slots=True)
class Explanation:
    """All records with the numbers of their lines, and how each output is evaluated."""

    plan: RoutePlan
    evaluations: Sequence[Evaluation]
    records: Sequence[tuple[int, Evaluated]]

    @property
    def outlets(self) -> dict[str, Outlet]:
        """The outputs by their names."""
        return {one.outlet.name: one.outlet for one in self.evaluations}

    def seen(self, one: Evaluated) -> bytes:
        """Return a good record as outputs see it, as JSON."""
        return JsonWriter(self.plan.source.schema)(one.row)


def explain(
    plan: RoutePlan, given: Sequence[tuple[int, GivenMessage]], by_spark: BySpark | None
) -> Explanation:
    """Return what becomes of each record; `by_spark` evaluates what Python does not."""
    names = [outlet.name for outlet in plan.outlets]
    evaluate = Evaluator(plan, names, by_spark)
    found = evaluate([(record, names) for _, record in given])
    lines = [line for line, _ in given]
    return Explanation(plan, evaluate.evaluations, list(zip(lines, found, strict=True)))


@contextmanager
def spark_evaluator(workspace: Workspace, stream: Effective) -> Iterator[BySpark]:
    """Give what evaluates an output with Spark expressions, on this machine."""
    with ExitStack() as stack:
        running: list[SparkSession] = []

        def evaluate(
            plan: RoutePlan, outlet: Outlet, good: Sequence[tuple[GivenMessage, Row]]
        ) -> list[Outcome]:
            # Both load Spark, which most streams do without.
            from headrace.spark import session  # noqa: PLC0415
            from router.explain.spark_outcomes import spark_outcomes  # noqa: PLC0415

            if not running:
                conf = {**stream.spark_conf, "spark.master": "local[1]"}
                name = f"router-given-{stream.config.name}"
                running.append(stack.enter_context(session(workspace, name, conf)))
            return spark_outcomes(running[0], plan, outlet, good)

        yield evaluate
