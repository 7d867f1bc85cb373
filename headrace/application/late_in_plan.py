"""Counting the records that a computed batch dropped as late, by Spark's own plan of that batch.

Spark counts the rows that a stateful operator drops. To an aggregation rows come put together by
group, so there it counts groups. Those records are counted again: what lies below the aggregation
in the plan is run once more, through the operator's own test of what is late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import structlog

from headrace.application.late_rows import DroppedLate
from headrace.jvm.plans import each, kind_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from headrace.application.late_rows import MayRepeat
    from headrace.jvm.plans import Java

DROPPED: Final = "numRowsDroppedByWatermark"
AGGREGATIONS: Final = frozenset(
    {
        "StateStoreSaveExec",
        "SessionWindowStateStoreRestoreExec",
        "SessionWindowStateStoreSaveExec",
    }
)
PARTIAL: Final = frozenset({"HashAggregateExec", "ObjectHashAggregateExec", "SortAggregateExec"})
# They stand around others, which are compiled together.
AROUND: Final = frozenset({"WholeStageCodegenExec", "InputAdapter"})
log = structlog.get_logger(__name__)


class _NotOneByOne(Exception):
    """Says why the records behind dropped groups cannot be counted."""


def dropped_late(spark: SparkSession, query: str, may_repeat: MayRepeat) -> DroppedLate:
    """Return what the batch that a running query has just computed dropped.

    A row of two operators counts at each that drops it. A record that belongs to several windows
    of an aggregation counts once there, whether all of them were closed or one.
    """
    active = spark._jsparkSession.streams().active()  # noqa: SLF001 - Python's own have no execution
    (running,) = (one for one in active if one.name() == query)
    plan = running.streamingQuery().lastExecution().executedPlan()
    return sum(
        (_of_operator(spark, one, rows, may_repeat) for one, rows in _droppers(plan)),
        DroppedLate(),
    )


def _droppers(node: Java) -> Iterator[tuple[Java, int]]:
    """Yield the operators of a plan that have dropped rows, and how many each."""
    metric = node.metrics().get(DROPPED)
    if metric.isDefined() and (rows := metric.get().value()):
        yield node, rows
    for child in each(node.children()):
        yield from _droppers(child)


def _of_operator(
    spark: SparkSession, operator: Java, rows: int, may_repeat: MayRepeat
) -> DroppedLate:
    if kind_of(operator) not in AGGREGATIONS:
        return DroppedLate(rows)
    try:
        return DroppedLate(_recounted(spark, operator, may_repeat))
    except _NotOneByOne as reason:
        log.debug("groups are counted, not records", reason=str(reason))
    except Exception as problem:  # noqa: BLE001 - a figure is not worth a batch
        log.warning("records dropped as late could not be counted", problem=str(problem)[:500])
    return DroppedLate(rows, is_exact=False)


def _recounted(spark: SparkSession, operator: Java, may_repeat: MayRepeat) -> int:
    partial = _partial_aggregate(operator)
    below = partial.child()
    _require_repeatable(below, may_repeat)
    plans = _Plans(spark)
    late, keys = operator.watermarkExpressionForLateEvents().get(), partial.groupingExpressions()
    numbered, number = plans.numbered(below)
    if number is None:
        plan = plans.nodes.FilterExec(late, plans.nodes.ProjectExec(keys, below))
        return int(plan.execute().count())
    # Of one record in several windows there are several rows.
    windows = plans.nodes.ProjectExec(keys.appended(number), numbered)
    plan = plans.nodes.FilterExec(late, windows)
    return plans.distinct(number, plan)


def _partial_aggregate(operator: Java) -> Java:
    """Return what puts rows together before the operator gets them."""
    node = operator
    while True:
        kind = kind_of(node)
        if kind in PARTIAL and node.requiredChildDistributionExpressions().isEmpty():
            return node
        if kind == "MergingSessionsExec":
            raise _NotOneByOne("sessions are merged before their rows are tested")
        children = list(each(node.children()))
        if len(children) != 1:
            raise _NotOneByOne(f"{kind} has {len(children)} inputs")
        (node,) = children


def _require_repeatable(plan: Java, may_repeat: MayRepeat) -> None:
    for node in walk(plan):
        if node.metrics().contains(DROPPED):
            raise _NotOneByOne("its rows come from another operator with state")
        if kind_of(node) == "MicroBatchScanExec" and not may_repeat(
            node.start().json(), node.end().json()
        ):
            raise _NotOneByOne("a topic is not read twice for that")


class _Plans:
    """Makes nodes of physical plans."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Java = spark._jvm  # noqa: SLF001 - there is no other way to Spark's plans
        self._spark = spark
        self.nodes = jvm.org.apache.spark.sql.execution
        self._expressions = jvm.org.apache.spark.sql.catalyst.expressions
        self._seq = jvm.org.apache.spark.api.python.PythonUtils.toSeq
        self._none = jvm.scala.Option.empty

    def numbered(self, node: Java) -> tuple[Java, Java | None]:
        """Return the plan with a number for each row from before a row was put into many windows.

        The second is the number's column, None where no row is multiplied.
        """
        kind = kind_of(node)
        if kind == "ExpandExec":
            alias = self._row_number()
            number = alias.toAttribute()
            child = self.nodes.ProjectExec(node.child().output().appended(alias), node.child())
            rows = self._seq([one.appended(number) for one in each(node.projections())])
            return self.nodes.ExpandExec(rows, node.output().appended(number), child), number
        if kind not in {*AROUND, "ProjectExec", "FilterExec"}:
            return node, None
        child, number = self.numbered(node.child())
        if number is None or kind in AROUND:
            return child, number
        if kind == "FilterExec":
            return self.nodes.FilterExec(node.condition(), child), number
        return self.nodes.ProjectExec(node.projectList().appended(number), child), number

    def distinct(self, column: Java, plan: Java) -> int:
        """Return how many different values a column of a plan has."""
        from pyspark.sql import DataFrame  # noqa: PLC0415 - importing it takes a second

        found = self.nodes.ProjectExec(self._seq([column]), plan)
        session: Java = self._spark._jsparkSession  # noqa: SLF001 - as above
        rows = session.internalCreateDataFrame(found.execute(), found.schema(), False)
        return DataFrame(rows, self._spark).distinct().count()

    def _row_number(self) -> Java:
        made = self._expressions
        return made.Alias(
            made.MonotonicallyIncreasingID(),
            "row",
            made.NamedExpression.newExprId(),
            self._seq([]),
            self._none(),
            self._seq([]),
        )
