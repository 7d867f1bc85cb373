"""`headrace up`: everything that a workspace declares, at work together, and following its files."""

from __future__ import annotations

import gc
import threading
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from fleet.line_unit import LineUnit, Opened
from fleet.lineage import UnitRuns
from fleet.process_unit import ProcessUnit
from fleet.run_state import write_problems
from fleet.settings import is_live
from fleet.status import clusters_of
from headrace.config.load import LoadedLakeTable
from headrace.config.stream.effective import effective
from headrace.errors import HeadraceError
from headrace.jvm.tasks import TaskSlots
from headrace.kafka.shared import SharedClusters
from headrace.line.background import Askers
from headrace.line.line import Line
from headrace.lineage.runs import Lineage
from headrace.problems import counted, shown_path
from lake_writer.writer import LakeWriter
from router.run.jobs import StreamRouter
from router.run.session import session_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import ExitStack
    from pathlib import Path

    from pyspark.sql import SparkSession

    from fleet.follow import Follower, Key, Seen, Wanted
    from fleet.run_state import JobProblem
    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from headrace.problems import Problem
    from headrace.signals import Drain

CHECK_EVERY_S: Final = 0.2
# How often the files are looked at, and what is at work: thousands less often, as a look at them takes.
ALL_EVERY_S: Final = 1.0
SELDOMEST_S: Final = 2.0
REST_AS_LONG: Final = 40.0
# Threads that ask for what needs the same clusters: where one is away, they keep nobody else waiting.
ASKERS_EACH: Final = 48
CLOSERS: Final = 32
log = structlog.get_logger(__name__)


class Fleet:
    """The units at work, by kind and name."""

    def __init__(
        self,
        workspace: Workspace,
        spark: SparkSession,
        region: str | None,
        folder: Path,
        outputs: Sequence[str] = (),
    ) -> None:
        self._workspace = workspace
        self._spark = spark
        # Hundreds of streams ask for them.
        self._session = session_settings(spark)
        self._region = region
        self._folder = folder
        self._outputs = outputs
        self._runs = UnitRuns(Lineage(), region)
        self._askers: dict[frozenset[str], Askers] = {}
        self._clusters = SharedClusters()
        self._lock = threading.Lock()
        self._wanted: dict[Key, Wanted] = {}
        self._units: dict[Key, tuple[str, LineUnit | ProcessUnit]] = {}
        self._leaving: dict[Key, LineUnit | ProcessUnit] = {}
        self._named: set[Problem] = set()
        self._empty: set[Path] = set()
        self._needs_restart = False
        self._closers = Askers("closes", CLOSERS)
        self._slots = TaskSlots(spark)
        self._checkpoint = folder / "checkpoint"
        self._line = Line("up", [], self._checkpoint, once=False)
        self._said: list[JobProblem] | None = None
        self._has_started = False
        # Those that open, rest or leave.
        self._restless: list[LineUnit | ProcessUnit] = []

    def take(self, seen: Seen | None) -> None:
        """Take over what is to run now, and name what is wrong with files; None: all is as before."""
        if seen is None:
            return
        broken = set(seen.problems)
        good = {one.origin for one in seen.wanted.values()}
        files = {path for path, _ in good}
        for problem in sorted(broken - self._named):
            topic = seen.of_topics.get(problem)
            is_good = problem.path in files if topic is None else (problem.path, topic) in good
            so = "goes on" if is_good else "there is none"
            what = "a file is broken" if topic is None else "a file is broken for a topic"
            log.warning(what, problem=str(problem), last_good_form=so)
        for path in sorted(set(seen.empty) - self._empty):
            log.info("no topic matches yet", file=shown_path(path))
        for path in {one.path for one in self._named} - {one.path for one in broken}:
            if path.exists():
                log.info("a file is good again", file=shown_path(path))
        if seen.needs_restart and not self._needs_restart:
            log.warning(
                "headrace.yaml has other catalogs, Spark settings, places of state, links, prices or "
                "lineage: they take effect when headrace up is started again"
            )
        self._named, self._needs_restart = broken, seen.needs_restart
        self._empty = set(seen.empty)
        self._wanted = {key: one for key, one in seen.wanted.items() if is_live(one)}

    def units(self) -> list[tuple[Wanted, LineUnit | ProcessUnit | None]]:
        """Return what is to run, and what runs it, if that has begun; any thread may ask."""
        units = self._units.copy()
        return [
            (wanted, units[key][1] if key in units else None)
            for key, wanted in self._wanted.items()
        ]

    def problems(self) -> set[Problem]:
        """Return what is wrong with files; any thread may ask."""
        return self._named

    def as_text(self, who: str) -> str:
        """Return what is to run."""
        kinds = Counter(kind for kind, _ in self._wanted)
        counts = [counted(many, kind.replace("_", " ")) for kind, many in sorted(kinds.items())]
        return f"{who} runs {', '.join(counts) or 'nothing yet'}; Ctrl-C stops all"

    def run(self, follower: Follower, drain: Drain, lineage: Lineage) -> None:
        """Keep all at work until asked to drain, then let what is at hand be finished."""
        self._runs = UnitRuns(lineage, self._region)
        is_first, all_at_s = True, 0.0
        try:
            with self._line:
                while not drain.wait(0 if is_first else CHECK_EVERY_S):
                    began_s = time.monotonic()
                    if began_s < all_at_s:
                        self._look(self._restless)
                        continue
                    # What was read at the start is not looked at twice.
                    seen = None if is_first else follower.look()
                    self.take(seen)
                    if is_first or seen is not None:
                        self._match()
                    self._look(self._all())
                    took_s = time.monotonic() - began_s
                    all_at_s = began_s + min(max(ALL_EVERY_S, REST_AS_LONG * took_s), SELDOMEST_S)
                    is_first = False
                self._wanted = {}
                while self._units or self._leaving:
                    self._match()
                    self._look(self._all())
                    time.sleep(CHECK_EVERY_S / 4)
                self._line.drain()
        except BaseException as problem:
            self._runs.fail(problem)
            for unit in self._all():
                if isinstance(unit, ProcessUnit):
                    unit.kill()
            raise

    def _match(self) -> None:
        """Let units come and go as they are wanted."""
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
                unit = self._unit(wanted)
                self._units[key] = wanted.fingerprint, unit
                self._runs.begin(wanted, unit)

    def _look(self, units: Sequence[LineUnit | ProcessUnit]) -> None:
        """Move units on; those that are at work are not looked at so often."""
        if not units:
            return
        for unit in units:
            unit.look(self._spark)
        self._line.look(self._spark)
        self._restless = [one for one in units if not one.is_at_work]
        left = {key for key, one in self._leaving.items() if one.has_left}
        if left:
            for key in left:
                self._runs.end(key)
            self._leaving = {key: one for key, one in self._leaving.items() if key not in left}
            # What had to wait for them begins.
            self._match()
            self._restless = self._all()
        self._say()

    def _say(self) -> None:
        problems = [problem for unit in self._all() for problem in unit.problems]
        if problems != self._said:
            write_problems(self._folder, problems)
            self._said = problems
        if not self._has_started:
            units = self._all()
            at_work = sum(one.is_at_work for one in units)
            # What has a problem is named with it, and may stay so for long.
            if all(one.is_at_work or one.problems for one in units):
                log.info("all files are at work", files=at_work, failing=len(units) - at_work)
                self._has_started = True
                # What lasts as long as the process is looked through for garbage once.
                gc.collect()
                gc.freeze()

    def _all(self) -> list[LineUnit | ProcessUnit]:
        return [*(unit for _, unit in self._units.values()), *self._leaving.values()]

    def _unit(self, wanted: Wanted) -> LineUnit | ProcessUnit:
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
            outputs = [word for one in self._outputs for word in ("--output", one)]
            return self._process(wanted, "router", "start", *region, *outputs, "--format")
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
        router = StreamRouter(wanted.workspace, stream, self._outputs, shared=self._clusters)
        router.prepare()
        router.check_session(self._session)
        return [
            Opened(
                f"{stream.config.name}/{one.name}",
                one.job,
                one.checkpoint,
                self._askers_of(one.clusters),
                tuple(one.job.members),
                one.run,
            )
            for one in held.enter_context(router.queries(self._slots, once=False, at_once=True))
        ]

    def _open_table(self, wanted: Wanted, table: LoadedLakeTable, held: ExitStack) -> list[Opened]:
        cluster = wanted.workspace.cluster(table.config.source.cluster)
        writer = LakeWriter(wanted.workspace, table, self._clusters.of(cluster).kafka)
        job = held.enter_context(writer.held(self._slots, once=False))
        askers = self._askers_of({table.config.source.cluster})
        return [Opened(job.name, job, self._checkpoint, askers, prepare=job.prepare)]

    def _process(self, wanted: Wanted, *words: str) -> ProcessUnit:
        kind, name = wanted.key
        output = self._folder / f"{kind}-{name}.json"
        topic = () if wanted.topic is None else ("--topic", wanted.topic)
        file = ("-c", str(wanted.path), *topic, "--workspace", str(wanted.workspace.root))
        return ProcessUnit(wanted.key, (*words, "json", *file), output)


def _refuse(problem: HeadraceError, _held: ExitStack) -> list[Opened]:
    raise problem
