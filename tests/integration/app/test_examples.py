"""The playback example, live through Kafka and again from the lake, held against each other.

Live at accelerated time: the records of hours are sent in pieces, and each piece is run to its
end before the next, so that the watermark moves as it would.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from backfill.apps.replay import AppRun, replay_app
from backfill.plan.period import Period, parse_period
from backfill.plan.steps import STEP_LIMITS, Limits
from backfill.results.compare import CompareOptions, compare
from backfill.run.options import tables_of
from backfill.run.request import ReplayRequest, state_of
from examples.playback.generate import Wanted, generate
from headrace.application.select import of_the_past, smallest_threshold
from headrace.config.load import load_app
from headrace.embedded.process import wait_until
from headrace.signals import Drain
from headrace.times import format_time_us
from stream_app.live import live_sources, run_live
from tests.integration.app.copied import compact, copy_example, record_of
from tests.integration.pipelines import Pipelines
from tests.limits import LONG_LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from backfill.plan.plan import Order
    from backfill.results.comparison import Comparison
    from backfill.run.state import RunState
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace

KEYS = {
    "sessions": ("user_id", "started"),
    "session_timers": ("user_id", "started"),
    "rmi": ("impression_id", "play_id"),
}
TIMES = {"sessions": "started", "session_timers": "started", "rmi": "played_at"}
MICROSECONDS_PER_S = 1_000_000
HOUR_US = 3_600 * MICROSECONDS_PER_S
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@dataclass
class Playback:
    """The example in the tests' workspace, its topics and tables under a name of its own."""

    spark: SparkSession
    workspace: Workspace
    name: str
    hours: float
    sent: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root = copy_example("playback", "playback", self.workspace, self.name)

    def app(self, name: str) -> LoadedApp:
        return load_app(self.root / "apps" / f"{name}.yaml", self.workspace)

    def lake_table(self, topic: str) -> Path:
        return self.root / "tables" / f"{topic}.yaml"

    def result(self, name: str) -> str:
        return f"lake.{self.name}.{name}"

    def live(self, wanted: Wanted, pieces: int, apps: list[str]) -> None:
        pipelines = Pipelines(self.workspace)
        self.sent = generate(wanted)
        for topic in self.sent:
            pipelines.make_topic(f"{self.name}_{topic}", 2, "consumer")
        for piece in range(pieces):
            for topic, records in self.sent.items():
                share = records[
                    len(records) * piece // pieces : len(records) * (piece + 1) // pieces
                ]
                pipelines.send(
                    f"{self.name}_{topic}", [record_of(one) for one in share], "consumer"
                )
                pipelines.land(self.spark, self.lake_table(topic))
            for name in apps:
                app = self.app(name)
                sources = live_sources(app, {})
                run_live(app, self.workspace, self.spark, sources, Drain(), once=True)

    @property
    def period(self) -> Period:
        """An hour in the middle: before it and after it there is more."""
        start = parse_period("2026-03-01T00:30", "2026-03-02").start_us
        return Period(start, start + round((self.hours - 1) * HOUR_US))

    def again(
        self, name: str, run_id: str, order: Order = "bounded", threshold_s: float | None = None
    ) -> str:
        """Replay an application over the period; returns the table that holds its result."""
        app, run_id = self.app(name), f"{self.name}-{run_id}"
        asked = self.period
        request = ReplayRequest(
            tuple(tables_of(app).values()),
            Period(asked.start_us - 2 * HOUR_US, asked.end_us_exclusive + 6 * HOUR_US),
            (),
            order,
            round(
                (
                    threshold_s
                    or smallest_threshold(of_the_past(app.config).values()).total_seconds()
                )
                * MICROSECONDS_PER_S
            ),
            emitted=asked,
            stage=True,
        )
        run = AppRun(app, self.workspace, run_id)
        certificate = replay_app(run, request, self.spark, Drain())
        assert certificate.complete
        assert order == "any" or certificate.differences() == []
        record = state_of(self.workspace, run_id).record()
        assert record is not None
        assert record.staged is not None
        return record.staged

    def compared(self, name: str, left: str, right: str) -> Comparison:
        for table in (left, right):
            self.spark.catalog.refreshTable(table)
        wish = CompareOptions(KEYS[name], (), TIMES[name], self.period, HOUR_US // 4)
        return compare((left, self.spark.table(left)), (right, self.spark.table(right)), wish)


@pytest.fixture
def rocksdb(spark: SparkSession) -> Iterator[None]:
    """State in RocksDB, which timers ask for."""
    spark.conf.set(PROVIDER, ROCKSDB)
    yield
    spark.conf.unset(PROVIDER)


@pytest.mark.usefixtures("rocksdb")
@pytest.mark.parametrize(
    ("plays_per_hour", "pieces", "threshold_s"),
    # The short form has some six steps, and the other more than thirty.
    [(40, 2, 1_200), pytest.param(150, 3, None, marks=pytest.mark.long)],
)
def test_live_and_backfill_give_the_same(
    spark: SparkSession,
    workspace: Workspace,
    unique: Callable[[str], str],
    plays_per_hour: int,
    pieces: int,
    threshold_s: float | None,
) -> None:
    """Sessions by a window and by timers, and a join of two topics."""
    example = Playback(spark, workspace, unique("playback"), hours=2)
    names = ["sessions", "session_timers", "rmi"]
    example.live(Wanted(hours=2, plays_per_hour=plays_per_hour), pieces, names)
    for name in names:
        staged = example.again(name, f"again-{name}", threshold_s=threshold_s)
        found = example.compared(name, example.result(name), staged)
        say(name, "fresh files", found)
        assert found.match_percent == 100, found.to_text(100)
        assert found.matched > plays_per_hour / 10


@pytest.mark.long
@pytest.mark.usefixtures("rocksdb")
def test_the_same_from_compacted_files_after_kills_and_by_timers(
    spark: SparkSession,
    workspace: Workspace,
    unique: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Reports the strawman's percentage: files as they come, in no order at all."""
    example = Playback(spark, workspace, unique("playback"), hours=4)
    names = ["sessions", "session_timers", "rmi"]
    example.live(Wanted(hours=4, plays_per_hour=1_000, seed=11), 6, names)
    for name in names:
        staged = example.again(name, f"fresh-{name}")
        found = example.compared(name, example.result(name), staged)
        say(name, "fresh files", found)
        assert found.match_percent == 100, found.to_text(100)
    strawmen = []
    for name in ("sessions", "rmi"):
        # All of it is less than one step may hold, and in one step there is no order. A day
        # of a real stream has hundreds of steps: here one holds a file.
        with monkeypatch.context() as narrow:
            narrow.setattr("backfill.run.request.STEP_LIMITS", Limits(1, STEP_LIMITS.max_bytes))
            staged = example.again(name, f"any-{name}", "any")
        strawman = example.compared(name, example.result(name), staged)
        say(name, "fresh files, order any", strawman)
        strawmen.append(strawman.match_percent)
    # By chance the files of one may lie in the order of time; hardly those of both.
    assert min(strawmen) < 100
    compact(spark, workspace, [example.lake_table(topic) for topic in example.sent])
    for name in ("sessions", "rmi"):
        staged = example.again(name, f"compact-{name}")
        found = example.compared(name, example.result(name), staged)
        say(name, "compacted files", found)
        assert found.match_percent == 100, found.to_text(100)
    found = example.compared("rmi", example.result("rmi"), killed(example, "rmi", kills=2))
    say("rmi", "compacted files, killed twice", found)
    assert found.match_percent == 100, found.to_text(100)


def say(name: str, what: str, found: Comparison) -> None:
    counted = f"{found.matched:,} of {found.counted:,}"
    print(f"{name}, {what}: {found.match_percent:.2f} % match, {counted}")  # noqa: T201 - the figure is what it is for


def killed(example: Playback, name: str, kills: int) -> str:
    """Replay by the command, killed with SIGKILL as often as that; returns the staging table."""
    run_id, period = f"{example.name}-killed-{name}", example.period
    path = example.root / "apps" / f"{name}.yaml"
    place = ["--workspace", str(example.workspace.root)]
    ends = [format_time_us(one) for one in (period.start_us, period.end_us_exclusive)]
    begin = ["-c", str(path), "--start-ts", ends[0], "--end-ts", ends[1], "--warmup", "2h"]
    begin += ["--cooldown", "6h", "--stage", "--run-id", run_id]
    state = state_of(example.workspace, run_id)
    command = str(Path(sys.executable).with_name("backfill"))
    for kill in range(kills):
        words = ["--resume", "--run-id", run_id] if kill else begin
        wanted = state.committed()[0] + 2
        said = example.root / f"said-{kill}"
        with said.open("w") as file:
            running = subprocess.Popen(
                [command, "replay", *words, *place], stdout=subprocess.DEVNULL, stderr=file
            )
        reached = partial(_reached, state, wanted, running)
        assert wait_until(reached, LONG_LIMIT_S), said.read_text()
        assert running.poll() is None, said.read_text()
        running.kill()
        running.wait()
    done = subprocess.run(
        [command, "replay", "--resume", "--run-id", run_id, *place],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    record = state.record()
    assert record is not None
    assert record.staged is not None
    return record.staged


def _reached(state: RunState, wanted: int, running: subprocess.Popen[bytes]) -> bool:
    return state.committed()[0] >= wanted or running.poll() is not None
