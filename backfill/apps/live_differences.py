"""What of an application's query may come out of a replay in another way than it came live.

Found in Spark's analysed plan, which is the same for SQL and for Python. docs/replay-differences.md
has each kind, and what no plan can tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from headrace.jvm.plans import analyzed, each, expressions, kind_of, walk, with_subqueries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from backfill.run.request import ReplayRequest
    from headrace.config.load import LoadedApp
    from headrace.jvm.plans import Java

DifferenceKind: TypeAlias = Literal[
    "late_records",
    "wider_deduplication",
    "deduplication_from_the_start",
    "join",
    "outer_join",
    "sessions",
    "timers",
    "order_of_arrival",
    "floating_point",
    "processing_time",
    "random",
    "limit",
    "own_watermark",
    "own_source",
    "lookup",
    "order_any",
    "open_at_the_end",
]
KINDS: Final[tuple[DifferenceKind, ...]] = get_args(DifferenceKind)
WHAT_TO_DO: Final[dict[DifferenceKind, str]] = {
    "late_records": "records that live dropped as late may be counted here: backfill compare -c"
    " shows such rows as late",
    "wider_deduplication": (
        "repeats are dropped over the longer delay, so more are dropped: if that matters, use "
        "dropDuplicates with a time bucket in the key"
    ),
    "deduplication_from_the_start": "a first record from before the period is not known: read it with --warmup",
    "join": "live forgets a row earlier: the replay also finds partners that came later",
    "outer_join": "live forgets a row earlier: in the replay, fewer rows have no partner",
    "sessions": "a record that live dropped as late may join two sessions into one",
    "timers": (
        "event-time timers fire later, after more records: let their results depend on event "
        "times alone"
    ),
    "order_of_arrival": (
        "within the threshold, records come in another order: order them by a column, as in "
        "max_by(value, at), or array_sort"
    ),
    "floating_point": "the last digits of a sum depend on the order: sum decimals, or compare with --ignore",
    "processing_time": (
        "this is the time of the replay, not of the live run: use the event's time, or "
        "__metadata__.kafka_ingestion_ts"
    ),
    "random": "it gives other values each time: derive them from the record, as in"
    " hash(__metadata__.partition, __metadata__.offset)",
    "limit": "which rows come first depends on the steps: choose rows by a column",
    "own_watermark": (
        "the replay cannot make it wider, so it drops records that live kept: put it under "
        "watermarks in the application's file"
    ),
    "own_source": (
        "the transform opens it, so it is read as it is now and not replayed: name it under sources"
    ),
    "lookup": (
        "it changes between steps, but live between batches: records that arrived close to a "
        "change may be joined with its other state"
    ),
    "order_any": "the disorder has no limit: --order bounded keeps less state and is closer to live",
    "open_at_the_end": (
        "live, records after the period close these; in the replay they stay open: "
        "--cooldown, or --open-windows close"
    ),
}
WITH_STATE: Final = ("TransformWithState", "FlatMapGroups")
BY_ARRIVAL: Final = frozenset(
    {"First", "Last", "AnyValue", "CollectList", "CollectSet", "ListAgg", "ArrayAgg"}
)
NOW: Final = frozenset({"CurrentTimestamp", "CurrentDate", "CurrentTime", "LocalTimestamp", "Now"})
SUMS: Final = frozenset({"Sum", "Average"})
DELAY: Final = "spark.watermarkDelayMs"
SESSION: Final = "spark.sessionWindow"


@dataclass(frozen=True, slots=True)
class LiveDifference:
    """One place in a query whose result may differ from the live one."""

    kind: DifferenceKind
    where: str

    @property
    def what_to_do(self) -> str:
        """What to do about it, or to know of it."""
        return WHAT_TO_DO[self.kind]

    def to_json(self) -> dict[str, str]:
        """Return it for machines."""
        return {"kind": self.kind, "where": self.where, "what_to_do": self.what_to_do}


def differences_in(result: DataFrame, sources: Iterable[DataFrame]) -> tuple[LiveDifference, ...]:
    """Return what a query's plan shows, given the streams that it was made of."""
    ours = {
        node.nodeId().toString()
        for source in sources
        for node in walk(analyzed(source))
        if kind_of(node) == "EventTimeWatermark"
    }
    found = [
        LiveDifference(kind, where)
        for node in with_subqueries(analyzed(result))
        if node.isStreaming()
        for kind, where in (
            *_of_node(node, ours),
            *(one for part in expressions(node) for one in _of_expression(part)),
        )
    ]
    return tuple(sorted(dict.fromkeys(found), key=lambda one: KINDS.index(one.kind)))


def differences_asked_for(app: LoadedApp, request: ReplayRequest) -> tuple[LiveDifference, ...]:
    """Return what the file and the command show, without any plan."""
    found = [LiveDifference("lookup", name) for name in sorted(app.config.lookups)]
    if request.order == "any" and app.config.watermarks:
        found.append(LiveDifference("order_any", "--order any"))
    return tuple(found)


def _of_node(node: Java, ours: set[str]) -> Iterator[tuple[DifferenceKind, str]]:
    match kind_of(node):
        case "Aggregate":
            yield from _of_aggregate(node)
        case "Deduplicate":
            where = f"dropDuplicates({_listed(node.keys())})"
            has_time = any(one.metadata().contains(DELAY) for one in each(node.keys()))
            yield ("late_records" if has_time else "deduplication_from_the_start"), where
        case "DeduplicateWithinWatermark":
            yield "wider_deduplication", f"dropDuplicatesWithinWatermark({_listed(node.keys())})"
        case "Join" if node.left().isStreaming() and node.right().isStreaming():
            yield from _of_join(node)
        case "GlobalLimit" | "Offset" | "Tail":
            yield "limit", str(node.nodeName())
        case "EventTimeWatermark" if node.nodeId().toString() not in ours:
            yield "own_watermark", f"withWatermark({node.eventTime().name()}, {node.delay()})"
        case "StreamingRelationV2" if node.extraOptions().get("table") is not None:
            # A table of the plan, which is replayed.
            return
        case "StreamingRelation" | "StreamingRelationV2":
            yield "own_source", f"readStream of format {node.sourceName()}"
        case kind if kind.startswith(WITH_STATE):
            yield from _of_function_with_state(node, kind)


def _of_aggregate(node: Java) -> Iterator[tuple[DifferenceKind, str]]:
    where = f"GROUP BY {_listed(node.groupingExpressions())}"
    yield "late_records", where
    yield "open_at_the_end", where
    columns = (part for one in each(node.groupingExpressions()) for part in walk(one))
    named = (one for one in columns if kind_of(one) == "AttributeReference")
    if any(one.metadata().contains(SESSION) for one in named):
        yield "sessions", where


def _of_join(node: Java) -> Iterator[tuple[DifferenceKind, str]]:
    how, condition = str(node.joinType().sql()), node.condition()
    where = f"{how} JOIN ON {condition.get().sql() if condition.isDefined() else 'nothing'}"
    yield "late_records", where
    yield "join", where
    if "OUTER" in how or "ANTI" in how:
        yield "outer_join", where
        yield "open_at_the_end", where


def _of_function_with_state(node: Java, kind: str) -> Iterator[tuple[DifferenceKind, str]]:
    times = node.timeMode() if kind.startswith("TransformWithState") else node.timeout()
    # Where it is in Python, the columns of the key are the first ones.
    is_in_python = kind == "TransformWithStateInPySpark"
    keys = node.leftAttributes() if is_in_python else node.groupingAttributes()
    where = f"{kind} by {_listed(keys)}"
    if "ProcessingTime" in kind_of(times):
        yield "processing_time", where
    elif "EventTime" in kind_of(times):
        yield "late_records", where
        yield "timers", where
        yield "open_at_the_end", where
    yield "order_of_arrival", where


def _of_expression(one: Java) -> Iterator[tuple[DifferenceKind, str]]:
    kind = kind_of(one)
    if kind in BY_ARRIVAL:
        yield "order_of_arrival", str(one.sql())
    elif kind in NOW:
        yield "processing_time", str(one.sql())
    elif kind in SUMS and one.child().dataType().typeName() in {"double", "float"}:
        yield "floating_point", str(one.sql())
    elif not one.deterministic() and all(child.deterministic() for child in each(one.children())):
        yield "random", str(one.sql())


def _listed(columns: Java) -> str:
    return ", ".join(str(one.sql()) for one in each(columns))
