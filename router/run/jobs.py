"""A stream's queries, from its file to their end."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from headrace.contract import QUARANTINE
from headrace.errors import UsageError
from headrace.expressions.compiled.compiler import NotCompiled
from headrace.jvm.cluster import is_local
from headrace.jvm.sizes import cores
from headrace.jvm.tasks import TaskSlots
from headrace.kafka.group_commits import SharedGroup
from headrace.kafka.groups import GroupOffsets
from headrace.kafka.source_topic import SourceTopic
from headrace.line.line import Line
from headrace.line.pace import Pace
from headrace.line.run import run_lines
from headrace.line.settings import ONCE_EACH, line_settings
from headrace.locks import AlreadyRunning, hold
from headrace.spark import SCHEDULER_JVM
from router.ledger.places import ReadTopic
from router.plan.model import ToTable
from router.plan.planner import Planner
from router.run.facts import StreamFacts
from router.run.groups import are_apart, grouped, is_one
from router.run.job import RouterJob
from router.run.ledgers import Ledgers
from router.run.member import Member
from router.run.session import require_same_meaning, session_settings
from router.state import stream_state
from router.tasks.compile import compile_outlet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from headrace.http.board import Board
    from headrace.kafka.shared import SharedClusters
    from headrace.line.line import RunWorks
    from headrace.line.standing import JobStanding
    from headrace.signals import Drain
    from router.ledger.entries import Counts
    from router.plan.model import Outlet, RoutePlan

# Tasks at a time: one output's, waiting for its cluster, shall not keep the others' from running.
MOST_TASKS: Final = 32
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StreamQuery:
    """Members of a stream that share a job; with `run`, Spark evaluates them in a query of its own.

    `clusters` are those that it needs.
    """

    name: str
    job: RouterJob
    checkpoint: Path
    run: RunWorks | None
    clusters: frozenset[str]


class StreamRouter:
    """A stream's outputs, all or some of them, and its quarantine."""

    def __init__(
        self,
        workspace: Workspace,
        stream: Effective,
        only: Sequence[str] = (),
        begin_again: Sequence[str] = (),
        shared: SharedClusters | None = None,
    ) -> None:
        conf = stream.spark_conf
        self._workspace = workspace.with_master(conf.get("spark.master", workspace.spark.master))
        self._stream = stream
        self._only = chosen(stream, only)
        named = [name for name in begin_again if name != QUARANTINE]
        self._begin_again = {*begin_again, *(chosen(stream, named) if named else ())}
        self._state = stream_state(workspace, stream.config.name)
        self._planner = Planner(workspace, stream, shared=shared)
        self._plan = plan = self._planner.plan()
        self._ledgers = Ledgers(self._planner, plan, stream.config.on_conflict)
        self._alone = {one.name: one for one in plan.outlets if is_alone(one, plan)}

    @property
    def name(self) -> str:
        """The stream's name."""
        return self._stream.config.name

    def prepare(self) -> None:
        """Check the source; it needs no Spark."""
        source = self._plan.source
        self._planner.kafka(source.cluster).require_topic(source.topic)

    @property
    def is_by_spark(self) -> bool:
        """Whether Spark has to evaluate any of its outputs."""
        return bool(self._alone)

    def settings(self) -> dict[str, str]:
        """Return the Spark settings that the stream's queries want on top of the workspace's."""
        # What Spark evaluates uses Spark's side of Arrow and pandas, too.
        ours = {} if self._alone else line_settings("router.tasks.task")
        conf = {**ours, **self._stream.spark_conf, **ONCE_EACH}
        if self._workspace.spark.master == "local[*]":
            conf["spark.master"] = f"local[{self._tasks() * self._queries()}]"
        return conf if self._alone else {**SCHEDULER_JVM, **conf}

    def run(
        self, spark: SparkSession, drain: Drain, *, once: bool, board: Board | None = None
    ) -> Mapping[str, Counts]:
        """Run until everything there is now is routed, or until asked to drain."""
        self.check_session(session_settings(spark))
        with self.queries(TaskSlots(spark), once=once) as queries:
            lines = [
                Line(one.name, [one.job], one.checkpoint, one.run, once=once) for one in queries
            ]
            if board is not None:
                board.show(StreamFacts(self._plan.stream, partial(_standings, lines)))
            run_lines(lines, spark, drain)
        return {name: member.counts for one in queries for name, member in one.job.members.items()}

    def check_session(self, settings: Mapping[str, str]) -> None:
        """Refuse a session in which compiled expressions would not mean what they mean here."""
        if len(self._alone) < len(self._plan.outlets):
            require_same_meaning(settings, self._stream.spark_conf)

    @contextmanager
    def queries(
        self, slots: Callable[[], int], *, once: bool, at_once: bool = False
    ) -> Iterator[Sequence[StreamQuery]]:
        """Hold the members, and share them out to queries by where they are.

        `slots` is how many tasks Spark runs at a time. With `at_once`, members that are apart in any
        case are not asked where they are: each finds that out when it begins, and one whose cluster
        is away keeps no other from beginning.
        """
        with ExitStack() as locks:
            members = {name: self._member(name) for name in self._held(locks)}
            for member in members.values():
                locks.callback(member.group.close)
            source = self._source_topic()
            locks.callback(self._ledgers.close)
            direct = [name for name in members if name not in self._alone]
            alone = [name for name in members if name in self._alone]
            isolation = self._stream.config.isolation
            is_known = at_once and (
                are_apart(direct, alone, isolation) or is_one(direct, isolation)
            )
            positions = {} if is_known else self._positions(members, source)
            yield [
                self._query(name, {one: members[one] for one in group}, source, slots, once=once)
                for name, group in grouped(direct, alone, isolation, positions).items()
            ]

    def _positions(
        self, members: Mapping[str, Member], source: SourceTopic
    ) -> dict[str, Mapping[int, int]]:
        """Return where members are, and new ones will begin: by that queries are shared out."""
        topic = ReadTopic(self._plan.source.cluster, source.topic, source.identity())
        known = self._ledgers.read(members)
        ends = source.kafka.ends(source.topic)
        found: dict[str, Mapping[int, int]] = {}
        for name, member in members.items():
            member.load(known[name], topic)
            found[name] = member.positions or ends.starting_offsets(member.starting_offsets)
        return found

    def _held(self, locks: ExitStack) -> list[str]:
        """Lock what is to be run; a quarantine that another router of the stream keeps is its."""

        def lock(name: str, member: str) -> None:
            what = f"{member} of stream {self._plan.stream}"
            locks.enter_context(hold(self._state.lock(name), what, "stop that router first"))

        for name in self._only:
            lock(name, f"output {name}")
        if self._plan.quarantine is not None:
            try:
                lock(QUARANTINE, "the quarantine")
            except AlreadyRunning:
                log.info("another router of this stream writes its quarantine")
            else:
                return [*self._only, QUARANTINE]
        return self._only

    def _query(
        self,
        name: str,
        members: Mapping[str, Member],
        source: SourceTopic,
        slots: Callable[[], int],
        *,
        once: bool,
    ) -> StreamQuery:
        trigger = self._stream.config.trigger
        job = RouterJob(
            name,
            members,
            self._planner,
            self._ledgers,
            self._plan,
            source,
            self._tasks if is_local(self._workspace.spark.master) else slots,
            trigger,
            once,
            Pace.of(trigger, once=once),
        )
        alone = [outlet for one, outlet in self._alone.items() if one in members]
        run = self._run_by_spark(alone[0]) if alone else None
        clusters = {self._plan.source.cluster, *self._ledgers.by_cluster(members)}
        if self._plan.quarantine is not None:
            clusters.add(self._plan.quarantine.cluster)
        return StreamQuery(name, job, self._state.checkpoint(name), run, frozenset(clusters))

    def _run_by_spark(self, outlet: Outlet) -> RunWorks:
        if isinstance(outlet.target, ToTable):
            from router.tasks.table_output import TableOutput  # noqa: PLC0415 - few streams need it

            writer = f"{self._plan.stream}.{outlet.name}"
            return TableOutput(self._workspace, outlet.target.sink, writer, self._plan.source.topic)
        from router.tasks.spark_output import route_by_spark  # noqa: PLC0415 - as above

        return route_by_spark

    def _source_topic(self) -> SourceTopic:
        source = self._stream.config.source
        shared = self._planner.shared(source.cluster)
        watch = None if shared is None else shared.watch
        kafka = self._planner.kafka(source.cluster)
        return SourceTopic(kafka, source.topic, source.on_data_loss, watch)

    def _member(self, name: str) -> Member:
        config = self._stream.config
        begins = {output.name: output.starting_offsets for output in config.outputs}
        group = f"headrace.{config.name}.{name}"
        shared = self._planner.shared(config.source.cluster)
        return Member(
            config.name,
            name,
            self._plan.source,
            begins.get(name) or config.source.starting_offsets,
            GroupOffsets(self._workspace.cluster(config.source.cluster), group)
            if shared is None
            else SharedGroup(shared.groups, group),
            name in self._begin_again,
        )

    def _queries(self) -> int:
        if self._stream.config.isolation == "stream":
            return 1
        return len(self._only) + (1 if len(self._only) > 1 else 0)

    def _tasks(self) -> int:
        queries = self._queries()
        return max(1, min(cores(), MOST_TASKS // queries) if queries <= cores() else 1)


def _standings(lines: Sequence[Line]) -> list[JobStanding[RouterJob]]:
    return [one for line in lines for one in line.standings()]


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
