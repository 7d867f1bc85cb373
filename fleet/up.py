"""`headrace up`: everything that a workspace declares, at work together, and following its files."""

from __future__ import annotations

import threading
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import structlog

from fleet.follow import Follower
from fleet.line_unit import LineUnit, Opened
from fleet.process_unit import ProcessUnit
from fleet.run_state import FOLDER, lock_of, write_problems
from fleet.status import clusters_of
from headrace.application.select import selected
from headrace.config.app.file import App, IcebergSource
from headrace.config.load import LoadedLakeTable, LoadedStream
from headrace.config.stream.effective import effective
from headrace.errors import HeadraceError
from headrace.line.background import Askers
from headrace.line.line import Line
from headrace.line.settings import PROGRESS_KEPT, line_settings
from headrace.locks import hold
from headrace.problems import counted, shown_path
from headrace.spark import SCHEDULER_JVM, session
from lake_writer.writer import LakeWriter
from router.run.jobs import StreamRouter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import ExitStack

    from pyspark.sql import SparkSession

    from fleet.follow import Key, Seen, Wanted
    from fleet.run_state import JobProblem
    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from headrace.problems import Problem
    from headrace.signals import Drain

CHECK_EVERY_S: Final = 0.2
FILES_EVERY_S: Final = 1.0
# Threads that ask for what needs the same clusters: where one is away, they keep nobody else waiting.
ASKERS_EACH: Final = 16
CLOSERS: Final = 32
log = structlog.get_logger(__name__)


class Unit(Protocol):
    """What runs one file."""

    @property
    def problems(self) -> list[JobProblem]:
        """What is wrong with it now."""

    @property
    def has_left(self) -> bool:
        """Whether nothing of it runs any more."""

    def leave(self) -> None:
        """Finish what is at hand, and go."""

    def look(self, spark: SparkSession) -> None:
        """Move it on, without waiting."""


def run_fleet(
    workspace: Workspace, region: str | None, drain: Drain, say: Callable[[str], object]
) -> None:
    """Run all that is declared until asked to drain; `say` is told when it is at work."""
    follower = Follower(workspace.root)
    with hold(lock_of(workspace), "headrace up of this workspace", "stop that one first"):
        seen = follower.look()
        settings = _settings(seen, region)
        with session(workspace, "up", settings, lasting=True) as spark:
            fleet = Fleet(workspace, spark, region)
            fleet.take(seen)
            say(fleet.as_text())
            fleet.run(follower, drain)


class Fleet:
    """The units at work, by kind and name."""

    def __init__(self, workspace: Workspace, spark: SparkSession, region: str | None) -> None:
        self._workspace = workspace
        self._spark = spark
        self._region = region
        self._askers: dict[frozenset[str], Askers] = {}
        self._lock = threading.Lock()
        self._wanted: dict[Key, Wanted] = {}
        self._units: dict[Key, tuple[str, Unit]] = {}
        self._leaving: dict[Key, Unit] = {}
        self._named: set[Problem] = set()
        self._needs_restart = False
        self._closers = Askers("closes", CLOSERS)
        self._cores: int = spark.sparkContext.defaultParallelism
        self._checkpoint = workspace.state_dir / FOLDER / "checkpoint"
        self._line = Line("up", [], self._checkpoint, once=False)
        self._said: list[JobProblem] | None = None

    def take(self, seen: Seen | None) -> None:
        """Take over what is to run now, and name what is wrong with files; None: all is as before."""
        if seen is None:
            return
        broken = set(seen.problems)
        good = {one.path for one in seen.wanted.values()}
        for problem in sorted(broken - self._named):
            so = "goes on" if problem.path in good else "there is none"
            log.warning("a file is broken", problem=str(problem), last_good_form=so)
        for path in {one.path for one in self._named} - {one.path for one in broken}:
            if path.exists():
                log.info("a file is good again", file=shown_path(path))
        if seen.needs_restart and not self._needs_restart:
            log.warning(
                "headrace.yaml has other catalogs, Spark settings or another state_dir: they take "
                "effect when headrace up is started again"
            )
        self._named, self._needs_restart = broken, seen.needs_restart
        self._wanted = {key: one for key, one in seen.wanted.items() if is_live(one)}

    def as_text(self) -> str:
        """Return what is to run."""
        kinds = Counter(kind for kind, _ in self._wanted)
        counts = [counted(many, kind.replace("_", " ")) for kind, many in sorted(kinds.items())]
        return f"headrace up runs {', '.join(counts) or 'nothing yet'}; Ctrl-C stops all"

    def run(self, follower: Follower, drain: Drain) -> None:
        """Keep all at work until asked to drain, then let what is at hand be finished."""
        looked_at_s = time.monotonic()
        try:
            with self._line:
                self._look()
                while not drain.wait(CHECK_EVERY_S):
                    if time.monotonic() - looked_at_s >= FILES_EVERY_S:
                        self.take(follower.look())
                        looked_at_s = time.monotonic()
                    self._look()
                self._wanted = {}
                while self._units or self._leaving:
                    self._look()
                    time.sleep(CHECK_EVERY_S / 4)
                self._line.drain()
        except BaseException:
            for unit in self._all():
                if isinstance(unit, ProcessUnit):
                    unit.kill()
            raise

    def _look(self) -> None:
        """Let units come and go as they are wanted, and move each of them on."""
        for key, (fingerprint, unit) in list(self._units.items()):
            wanted = self._wanted.get(key)
            if wanted is None or wanted.fingerprint != fingerprint:
                what = "stopping" if wanted is None else "changing"
                log.info(what, kind=key[0], name=key[1])
                unit.leave()
                self._leaving[key] = unit
                del self._units[key]
        for key, wanted in self._wanted.items():
            # Two of one name would take what they write from each other.
            if key not in self._units and key not in self._leaving:
                log.info("starting", kind=key[0], name=key[1])
                self._units[key] = wanted.fingerprint, self._unit(wanted)
        for unit in self._all():
            unit.look(self._spark)
        self._line.look(self._spark)
        self._leaving = {key: one for key, one in self._leaving.items() if not one.has_left}
        self._say()

    def _say(self) -> None:
        problems = [problem for unit in self._all() for problem in unit.problems]
        if problems != self._said:
            write_problems(self._workspace, problems)
            self._said = problems

    def _all(self) -> list[Unit]:
        return [*(unit for _, unit in self._units.values()), *self._leaving.values()]

    def _unit(self, wanted: Wanted) -> Unit:
        loaded = wanted.loaded
        if isinstance(loaded, LoadedLakeTable):
            clusters = {loaded.config.source.cluster}
            return self._in_line(wanted, clusters, partial(self._open_table, wanted, loaded))
        if loaded is None:
            return self._process(wanted, "run", "-o")
        try:
            stream = effective(loaded, wanted.workspace, self._region)
            clusters = clusters_of(wanted.workspace, stream)
        except HeadraceError as problem:
            return self._in_line(wanted, set(), partial(_refuse, problem))
        if dict(stream.spark_conf) != dict(self._workspace.spark.conf):
            region = ("--region", self._region) if self._region else ()
            return self._process(wanted, "router", "start", *region, "--format")
        return self._in_line(wanted, clusters, partial(self._open_stream, wanted, stream))

    def _in_line(
        self,
        wanted: Wanted,
        clusters: Iterable[str],
        open_jobs: Callable[[ExitStack], Sequence[Opened]],
    ) -> LineUnit:
        askers = self._askers_of(clusters)
        return LineUnit(wanted.key, self._line, askers, self._closers, open_jobs)

    def _askers_of(self, clusters: Iterable[str]) -> Askers:
        shared = frozenset(clusters)
        with self._lock:
            if shared not in self._askers:
                self._askers[shared] = Askers(f"asks {', '.join(sorted(shared))}", ASKERS_EACH)
            return self._askers[shared]

    def _open_stream(self, wanted: Wanted, stream: Effective, held: ExitStack) -> list[Opened]:
        router = StreamRouter(wanted.workspace, stream)
        router.prepare()
        router.check_session(self._spark)
        return [
            Opened(
                f"{stream.config.name}/{one.name}",
                one.job,
                one.checkpoint,
                self._askers_of(one.clusters),
                tuple(one.job.members),
                one.run,
            )
            for one in held.enter_context(router.queries(once=False, at_once=True))
        ]

    def _open_table(self, wanted: Wanted, table: LoadedLakeTable, held: ExitStack) -> list[Opened]:
        writer = LakeWriter(wanted.workspace, table)
        job = held.enter_context(writer.held(self._cores, once=False))
        askers = self._askers_of({table.config.source.cluster})
        return [Opened(job.name, job, self._checkpoint, askers, prepare=job.prepare)]

    def _process(self, wanted: Wanted, *words: str) -> ProcessUnit:
        kind, name = wanted.key
        output = self._workspace.state_dir / FOLDER / f"{kind}-{name}.json"
        file = ("-c", str(wanted.path), "--workspace", str(wanted.workspace.root))
        return ProcessUnit(wanted.key, (*words, "json", *file), output)


def is_live(wanted: Wanted) -> bool:
    """Whether it is to run: an application whose file selects a table alone is there for replays."""
    if not isinstance(wanted.config, App):
        return True
    sources = selected(wanted.config, {}).values()
    return not any(isinstance(one, IcebergSource) and one.follow is None for one in sources)


def _refuse(problem: HeadraceError, _held: ExitStack) -> list[Opened]:
    raise problem


def _settings(seen: Seen | None, region: str | None) -> dict[str, str]:
    """Return Spark's settings: for streams that Spark evaluates, or for none of them."""
    wanted = seen.wanted.values() if seen is not None else ()
    if any(_is_by_spark(one, region) for one in wanted):
        return dict(PROGRESS_KEPT)
    return {**SCHEDULER_JVM, **line_settings("router.tasks.task", "lake_writer.task")}


def _is_by_spark(wanted: Wanted, region: str | None) -> bool:
    loaded = wanted.loaded
    if not isinstance(loaded, LoadedStream) or loaded.schema is None:
        # A registry is asked later, when nobody waits for it.
        return False
    try:
        stream = effective(loaded, wanted.workspace, region)
        return StreamRouter(wanted.workspace, stream).is_by_spark
    except HeadraceError:
        return False
