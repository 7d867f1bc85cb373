"""A Spark session that starts when the first record needs it."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from headrace.config.effective import Effective
    from headrace.config.workspace import Workspace
    from headrace.records.rows import Row
    from router.given import GivenRecord
    from router.outcomes import BySpark, Outcome
    from router.plan import Outlet, RoutePlan


@contextmanager
def evaluator(workspace: Workspace, stream: Effective) -> Iterator[BySpark]:
    """Give what evaluates an output of the Spark lane, on this machine."""
    with ExitStack() as stack:
        running: list[SparkSession] = []

        def evaluate(
            plan: RoutePlan, outlet: Outlet, good: Sequence[tuple[GivenRecord, Row]]
        ) -> list[Outcome]:
            # Both load Spark, which most streams do without.
            from headrace.spark import session  # noqa: PLC0415
            from router.outcomes_spark import spark_outcomes  # noqa: PLC0415

            if not running:
                conf = {**stream.spark_conf, "spark.master": "local[1]"}
                name = f"router-given-{stream.config.name}"
                running.append(stack.enter_context(session(workspace, name, conf)))
            return spark_outcomes(running[0], plan, outlet, good)

        yield evaluate
