"""A stream's queries, from its file to their end."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import structlog

from headrace.errors import Terminal, UsageError
from headrace.expressions.compiled.compiler import NotCompiled
from headrace.expressions.session_settings import ALWAYS_SET, other_meaning
from headrace.kafka.groups import GroupOffsets
from headrace.kafka.source_topic import SourceTopic
from headrace.line.line import PROGRESS_KEPT, Line, run_lines
from headrace.locks import AlreadyRunning, hold
from headrace.spark import EXTENSIONS, EXTENSIONS_KEY, SCHEDULER_JVM, cores
from router.ledger.file import LedgerFile
from router.ledger.state import stream_state
from router.plan.model import QUARANTINE, ToTable
from router.plan.planner import Planner
from router.run.groups import grouped
from router.run.job import JobSettings, RouterJob
from router.run.member import Member
from router.tasks.compile import compile_outlet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from headrace.line.line import RunWorks
    from headrace.signals import Drain
    from router.ledger.entries import Counts
    from router.plan.model import Outlet, RoutePlan
    from router.run.groups import Group

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
        conf = {**PROGRESS_KEPT, **self._stream.spark_conf}
        master = conf.get("spark.master", self._workspace.spark.master)
        if master == "local[*]":
            conf["spark.master"] = f"local[{self._tasks() * self._queries()}]"
        if not any(is_alone(outlet, plan) for outlet in plan.outlets):
            conf = {**SCHEDULER_JVM, **conf}
        return conf

    def run(self, spark: SparkSession, drain: Drain, *, once: bool) -> Mapping[str, Counts]:
        """Run until everything there is now is routed, or until asked to drain."""
        plan = self._planned()
        if not all(is_alone(outlet, plan) for outlet in plan.outlets):
            require_same_meaning(spark, self._stream.spark_conf)
        with ExitStack() as locks:
            names = self._held(plan, locks)
            members = {name: self._member(plan, name) for name in names}
            source = self._source_topic(plan)
            for member in members.values():
                # Who is new has its position before queries are shared out by positions.
                if member.ledger.header is None:
                    member.begin(source)
            groups = self._groups(plan, members)
            lines = [self._line(plan, group, members, once=once) for group in groups]
            run_lines(lines, spark, drain)
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
        except AlreadyRunning:
            log.info("another router of this stream writes its quarantine")
            return list(self._only)
        return [*self._only, QUARANTINE]

    def _groups(self, plan: RoutePlan, members: Mapping[str, Member]) -> list[Group]:
        alone = [outlet.name for outlet in plan.outlets if is_alone(outlet, plan)]
        direct = [name for name in members if name not in alone]
        positions = {name: member.positions for name, member in members.items()}
        mine = [name for name in alone if name in members]
        return grouped(direct, mine, self._stream.config.isolation, positions)

    def _line(
        self, plan: RoutePlan, group: Group, members: Mapping[str, Member], *, once: bool
    ) -> Line:
        settings = JobSettings(
            self._planner,
            plan,
            self._source_topic(plan),
            self._tasks(),
            self._stream.config.trigger,
            once,
        )
        job = RouterJob(group.name, settings, [members[name] for name in group.members])
        checkpoint = self._state.checkpoint(group.name)
        outlet = next((one for one in plan.outlets if one.name == group.name), None)
        if outlet is None or not is_alone(outlet, plan):
            return Line(group.name, [job], checkpoint, once=once)
        return Line(group.name, [job], checkpoint, self._run_by_spark(plan, outlet), once=once)

    def _run_by_spark(self, plan: RoutePlan, outlet: Outlet) -> RunWorks:
        if isinstance(outlet.target, ToTable):
            from router.tasks.table_output import TableOutput  # noqa: PLC0415 - few streams need it

            writer = f"{plan.stream}.{outlet.name}"
            return TableOutput(self._workspace, outlet.target.sink, writer, plan.source.topic)
        from router.tasks.spark_output import route_by_spark  # noqa: PLC0415 - as above

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
            GroupOffsets(cluster, f"headrace.{config.name}.{name}"),
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


def require_same_meaning(spark: SparkSession, known: Mapping[str, str]) -> None:
    """Refuse a session that gives expressions a meaning of which the workspace's files say nothing.

    Spark has settings from spark-defaults.conf and from the environment, too, and what is compiled
    would not follow them.
    """
    if other_meaning(known) is not None:
        return
    conf = {**{name: str(spark.conf.get(name)) for name in ALWAYS_SET}, **spark.conf.getAll}
    if conf.get(EXTENSIONS_KEY) == EXTENSIONS:
        del conf[EXTENSIONS_KEY]
    name = other_meaning(conf)
    if name is not None:
        raise Terminal(
            f"{name} is {conf[name]} in Spark's session, which changes what expressions mean, but "
            "headrace.yaml does not set it",
            "set it under spark.conf there, or remove it from spark-defaults.conf and the "
            "environment",
        )


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
