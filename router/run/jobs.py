"""A stream's queries, from its file to their end."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import structlog

from headrace.errors import UsageError
from headrace.expressions.lane.compile import NotCompiled
from headrace.kafka.groups import GroupPlace
from headrace.locks import AlreadyHeld, hold
from headrace.spark import SCHEDULER_JVM, cores
from headrace.supervision import raise_failures, supervise
from router.compile import compile_outlet
from router.groups import grouped
from router.ledger_file import LedgerFile
from router.member import Member
from router.plan import QUARANTINE, ToTable
from router.planning import Planner
from router.query import QuerySettings, RouterQuery
from router.source import SourceTopic
from router.state import stream_state

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from headrace.config.effective import Effective
    from headrace.config.workspace import Workspace
    from headrace.signals import Drain
    from router.groups import Group
    from router.ledger import Counts
    from router.plan import Outlet, RoutePlan
    from router.query import Lane

# Tasks at a time: one output's, waiting for its cluster, shall not keep the others' from running.
MOST_TASKS: Final = 32
log = structlog.get_logger(__name__)


class StreamRouter:
    """A stream's outputs, all or some of them, and its quarantine."""

    def __init__(self, workspace: Workspace, stream: Effective, only: Sequence[str] = ()) -> None:
        self._workspace = workspace
        self._stream = stream
        self._only = chosen(stream, only)
        self._state = stream_state(workspace, stream.config.name)
        self._plan: RoutePlan | None = None
        self._planner = Planner(workspace, stream)

    def prepare(self) -> dict[str, str]:
        """Check the source and make what is missing of the targets, before a JVM starts.

        Returns the Spark settings that the stream's queries want on top of the workspace's.
        """
        plan = self._plan = self._planner.plan()
        self._planner.kafka(plan.source.cluster).require_topic(plan.source.topic)
        conf = dict(self._stream.spark_conf)
        master = conf.get("spark.master", self._workspace.spark.master)
        if master == "local[*]":
            conf["spark.master"] = f"local[{self._tasks() * self._queries()}]"
        if not any(is_alone(outlet, plan) for outlet in plan.outlets):
            conf = {**SCHEDULER_JVM, **conf}
        return conf

    def run(self, spark: SparkSession, drain: Drain, *, once: bool) -> Mapping[str, Counts]:
        """Run until everything there is now is routed, or until asked to drain."""
        plan = self._planned()
        with ExitStack() as locks:
            names = self._held(plan, locks)
            members = {name: self._member(plan, name) for name in names}
            source = self._source_topic(plan)
            for member in members.values():
                # Who is new has its place before queries are shared out by places.
                if member.ledger.header is None:
                    member.begin(source)
            queries = [self._query(plan, group, members) for group in self._groups(plan, members)]
            ended = supervise(
                {query.name: lambda query=query: query.job(spark) for query in queries},  # type: ignore[misc]  # a default binds the loop's value
                drain,
                once=once,
            )
        raise_failures(ended)
        return {name: member.counts for name, member in members.items()}

    def _planned(self) -> RoutePlan:
        if self._plan is None:
            self._plan = self._planner.plan()
        return self._plan

    def _held(self, plan: RoutePlan, locks: ExitStack) -> list[str]:
        """Lock what is to be run; a quarantine that another router of the stream keeps is its."""
        stream = self._stream.config.name
        for name in self._only:
            what = f"output {name} of stream {stream}"
            locks.enter_context(hold(self._state.lock(name), what, "stop that router first"))
        if plan.quarantine is None:
            return list(self._only)
        try:
            what = f"the quarantine of stream {stream}"
            locks.enter_context(hold(self._state.lock(QUARANTINE), what, "stop that router first"))
        except AlreadyHeld:
            log.info("another router of this stream keeps its quarantine")
            return list(self._only)
        return [*self._only, QUARANTINE]

    def _groups(self, plan: RoutePlan, members: Mapping[str, Member]) -> list[Group]:
        alone = [outlet.name for outlet in plan.outlets if is_alone(outlet, plan)]
        direct = [name for name in members if name not in alone]
        places = {name: member.places for name, member in members.items()}
        mine = [name for name in alone if name in members]
        return grouped(direct, mine, self._stream.config.isolation, places)

    def _query(self, plan: RoutePlan, group: Group, members: Mapping[str, Member]) -> RouterQuery:
        settings = QuerySettings(
            self._planner,
            plan,
            self._workspace.cluster(plan.source.cluster),
            self._source_topic(plan),
            self._tasks(),
            self._stream.config.trigger,
        )
        mine = [members[name] for name in group.members]
        checkpoint = self._state.checkpoint(group.name)
        outlet = next((one for one in plan.outlets if one.name == group.name), None)
        if outlet is None or not is_alone(outlet, plan):
            return RouterQuery(settings, mine, checkpoint)
        return RouterQuery(settings, mine, checkpoint, self._spark_lane(plan, outlet))

    def _spark_lane(self, plan: RoutePlan, outlet: Outlet) -> Lane:
        if isinstance(outlet.target, ToTable):
            from router.table_lane import TableLane  # noqa: PLC0415 - few streams need it

            writer = f"{plan.stream}.{outlet.name}"
            return TableLane(self._workspace, outlet.target.sink, writer, plan.source.topic)
        from router.spark_lane import route_by_spark  # noqa: PLC0415 - as above

        return route_by_spark

    def _source_topic(self, plan: RoutePlan) -> SourceTopic:
        return SourceTopic(
            self._planner.kafka(plan.source.cluster),
            plan.source.topic,
            self._stream.config.source.on_data_loss,
        )

    def _member(self, plan: RoutePlan, name: str) -> Member:
        config = self._stream.config
        begins = {output.name: output.starting_offsets for output in config.outputs}
        cluster = self._workspace.cluster(plan.source.cluster)
        return Member(
            config.name,
            name,
            plan.source,
            begins.get(name) or config.source.starting_offsets,
            LedgerFile(self._state.ledger(name)),
            GroupPlace(cluster, f"headrace.{config.name}.{name}"),
        )

    def _queries(self) -> int:
        if self._stream.config.isolation == "stream":
            return 1
        return len(self._only) + (1 if len(self._only) > 1 else 0)

    def _tasks(self) -> int:
        queries = self._queries()
        return max(1, min(cores(), MOST_TASKS // queries) if queries <= cores() else 1)


def is_alone(outlet: Outlet, plan: RoutePlan) -> bool:
    """Whether Spark has to evaluate an output, in a query of its own."""
    return isinstance(compile_outlet(outlet, plan.source.schema), NotCompiled)


def chosen(stream: Effective, only: Sequence[str]) -> list[str]:
    """Return the names of the outputs that were asked for; all where none was named."""
    known = [output.name for output in stream.config.outputs]
    unknown = [name for name in only if name not in known]
    if unknown:
        raise UsageError(
            f"stream {stream.config.name} has no output {unknown[0]}",
            f"it has {', '.join(known)}",
        )
    return list(only) or known
