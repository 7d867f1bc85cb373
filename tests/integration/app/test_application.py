"""One application, by one file: live from Kafka, and again over the past from the lake."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from backfill.apps.replay import AppRun, replay_app
from backfill.plan.period import parse_period
from backfill.run.options import tables_of
from backfill.run.request import ReplayRequest, new_run_id, state_of
from backfill.streams import Replay
from headrace.application.select import of_the_past, smallest_threshold
from headrace.config.load import load_app
from headrace.errors import Terminal, UsageError
from headrace.iceberg.catalog import load_table
from headrace.signals import Drain
from stream_app.live import live_sources, run_live
from stream_app.sources import open_source
from tests.integration.lag import GroupLag
from tests.integration.pipelines import Pipelines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from backfill.run.certificate import Certificate
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace

MINUTE_MS = 60_000
START_MS = 1_772_323_200_000
MICROSECONDS_PER_S = 1_000_000
BY_MINUTE = """
SELECT window.start AS minute, kind, count(*) AS events, max(__metadata__.offset) AS newest
FROM events GROUP BY window(at, '1 minute'), kind
"""


def events(count: int) -> list[bytes]:
    """Make events over an hour, some late; the last closes every window of the others."""
    chance = random.Random(5)
    made = []
    for number in range(count):
        late = chance.randrange(4 * MINUTE_MS) if number % 10 == 0 else 0
        at = START_MS + number * 60 * MINUTE_MS // count - late
        made.append({"id": number, "kind": chance.choice("abc"), "at": at})
    made.append({"id": count, "kind": "closer", "at": START_MS + 600 * MINUTE_MS})
    return [json.dumps(event).encode() for event in made]


def expected(made: list[bytes]) -> Counter[tuple[int, str, int]]:
    """Count by minute and kind, as the application should; the closer's window stays open."""
    counts: Counter[tuple[int, str]] = Counter()
    for event in map(json.loads, made[:-1]):
        counts[event["at"] // MINUTE_MS, event["kind"]] += 1
    return Counter((minute, kind, count) for (minute, kind), count in counts.items())


class Stage:
    """A topic with events, landed, and an application over both."""

    def __init__(self, spark: SparkSession, workspace: Workspace, name: str) -> None:
        self.spark, self.workspace, self.name = spark, workspace, name
        self.pipelines = Pipelines(workspace)
        self.made = events(400)
        self.pipelines.make_topic(name)
        self.pipelines.send(name, self.made)
        self.pipelines.land(spark, self.pipelines.table(name, name))

    def app(
        self, transform: dict[str, Any], hygiene: dict[str, str] | None = None, **more: object
    ) -> LoadedApp:
        live = {"type": "kafka", "cluster": "fronting", "topics": self.name, "format": "json"}
        past = {"type": "iceberg", "catalog": "lake", "database": "tv", "table": self.name}
        path = self.pipelines.write(
            f"apps/{self.name}.yaml",
            {
                "kind": "app",
                "name": self.name,
                "sources": {
                    "events": {
                        "type": "dynamic",
                        "selected": "live",
                        "candidates": ["live", "past"],
                    },
                    "live": {
                        **live,
                        "schema": f"schemas/{self.name}.avsc",
                        "hygiene": hygiene or {},
                    },
                    "past": {**past, "max_misalignment_threshold": "2min"},
                },
                "transform": transform,
                "watermarks": {"events": {"column": "at", "delay": "5min"}},
                "sink": {
                    "type": "iceberg",
                    "catalog": "lake",
                    "database": "tv",
                    "table": f"{self.name}_out",
                },
                **more,
            },
        )
        return load_app(path, self.workspace)

    def run_live(self, app: LoadedApp) -> int:
        live = live_sources(app, {})
        return run_live(app, self.workspace, self.spark, live, Drain(), once=True).rows

    def replay(self, app: LoadedApp) -> Certificate:
        request = ReplayRequest(
            tuple(tables_of(app).values()),
            parse_period("2020-01-01", "2100-01-01"),
            (),
            "bounded",
            int(
                smallest_threshold(of_the_past(app.config).values()).total_seconds()
                * MICROSECONDS_PER_S
            ),
        )
        run = AppRun(app, self.workspace, new_run_id())
        return replay_app(run, request, self.spark, Drain())

    def results(self) -> Counter[tuple[int, str, int]]:
        # Spark may know an older state of a table that it has not written itself.
        self.spark.sql(f"REFRESH TABLE lake.tv.{self.name}_out")
        rows = self.spark.sql(
            f"SELECT unix_seconds(minute) DIV 60 AS m, kind, events FROM lake.tv.{self.name}_out"
        ).collect()
        return Counter((row["m"], row["kind"], row["events"]) for row in rows)


@pytest.fixture
def stage(spark: SparkSession, workspace: Workspace, unique: Callable[[str], str]) -> Stage:
    return Stage(spark, workspace, unique("app"))


def test_the_same_file_gives_the_same_live_and_over_the_past(stage: Stage) -> None:
    app = stage.app({"sql": BY_MINUTE})
    assert stage.run_live(app) == len(stage.made)
    wanted = expected(stage.made)
    assert stage.results() == wanted
    certificate = stage.replay(app)
    assert stage.results() == Counter({row: 2 * count for row, count in wanted.items()})
    assert certificate.complete
    assert certificate.rows == len(stage.made)
    assert certificate.dropped_late == 0
    assert certificate.bound_held


def test_python_is_given_the_same_columns_live_and_over_the_past(
    stage: Stage, tmp_path: Path
) -> None:
    module = f"module_{stage.name}"
    seen = tmp_path / "schemas.jsonl"
    (stage.workspace.root / f"{module}.py").write_text(
        "from pathlib import Path\n"
        "def build(sources):\n"
        "    events = sources['events']\n"
        f"    with Path({str(seen)!r}).open('a') as file:\n"
        "        file.write(events.schema.simpleString() + '\\n')\n"
        "    return events.selectExpr('id', 'kind', 'at')\n"
    )
    app = stage.app({"python": f"{module}:build"})
    stage.run_live(app)
    stage.replay(app)
    # Over the past it is built once more, to see what it uses.
    live, *past = seen.read_text().splitlines()
    assert past == [live, live]
    stage.spark.sql(f"REFRESH TABLE lake.tv.{stage.name}_out")
    ids = stage.spark.sql(f"SELECT id FROM lake.tv.{stage.name}_out").collect()
    assert Counter(row["id"] for row in ids) == dict.fromkeys(range(len(stage.made)), 2)


@pytest.mark.parametrize(
    ("transform", "more", "sentence"),
    [
        ({"sql": "SELECT nothing FROM events"}, {}, "nothing"),
        ({"python": "no_such_module:build"}, {}, "no_such_module"),
    ],
)
def test_a_transform_that_fails_is_told_in_a_sentence(
    stage: Stage, transform: dict[str, str], more: dict[str, Any], sentence: str
) -> None:
    app = stage.app(transform, **more)
    with pytest.raises(Terminal, match=sentence):
        stage.run_live(app)


def test_a_bad_record_goes_to_the_quarantine_and_ends_nothing(stage: Stage) -> None:
    stage.pipelines.send(stage.name, [b"not json"])
    app = stage.app({"sql": "SELECT id, kind, at FROM events"})
    ran = run_live(app, stage.workspace, stage.spark, live_sources(app, {}), Drain(), once=True)
    assert (ran.rows, ran.rejected) == (len(stage.made), {"quarantined": 1})
    (bad,) = stage.pipelines.seen(f"{stage.name}.quarantine", "fronting")
    assert bad.value == b"not json"
    assert stage.run_live(app) == 0


def test_the_group_knows_of_the_last_batch(stage: Stage) -> None:
    """Where no other batch follows, nobody would be told later."""
    app = stage.app({"sql": "SELECT id, kind, at FROM events"})
    cluster, group = stage.workspace.cluster("fronting"), f"headrace.{stage.name}.live"
    with GroupLag(cluster, stage.name, group) as seen:
        assert seen.lag() == len(stage.made)
        stage.run_live(app)
        assert seen.lag() == 0
        stage.pipelines.send(stage.name, stage.made[:2])
        assert seen.lag() == 2
        stage.run_live(app)
        assert seen.lag() == 0


def test_a_bad_record_ends_the_run_where_that_is_asked_for(stage: Stage) -> None:
    stage.pipelines.send(stage.name, [b"not json"])
    app = stage.app({"sql": "SELECT id FROM events"}, hygiene={"on_bad_record": "fail"})
    with pytest.raises(Terminal, match=rf"stops at a rejected record: {stage.name}-0 @ 401: "):
        stage.run_live(app)


def test_a_table_is_not_read_live_and_a_topic_alone_cannot_be_replayed(stage: Stage) -> None:
    app = stage.app({"sql": BY_MINUTE})
    with pytest.raises(UsageError, match="is set to the table"):
        live_sources(app, {"events": "past"})
    with pytest.raises(UsageError, match="not a candidate of events"):
        live_sources(app, {"events": "nobody"})
    with pytest.raises(UsageError, match="no dynamic source"):
        live_sources(app, {"live": "past"})
    sources = {"events": app.config.sources["live"].model_dump(by_alias=True, exclude_none=True)}
    only_live = stage.app({"sql": BY_MINUTE}, sources=sources)
    with pytest.raises(UsageError, match="events has no candidate of type iceberg"):
        tables_of(only_live)


def shape(frame: DataFrame) -> list[tuple[str, str, bool]]:
    return [(one.name, one.dataType.simpleString(), one.nullable) for one in frame.schema.fields]


def test_a_program_of_its_own_opens_the_same_sources(stage: Stage) -> None:
    app = stage.app({"sql": BY_MINUTE})
    live = open_source(stage.spark, app.path, once=True)
    period = ("2020-01-01", "2100-01-01")
    past = open_source(stage.spark, str(app.path), "events", select="past", period=period)
    # The watermarks' delays differ, as they should, and stand in the column's metadata.
    assert shape(live) == shape(past)
    counts: list[Counter[int]] = []
    for frame in (live, past):
        name = f"{stage.name}_{len(counts)}"
        query = frame.select("id").writeStream.format("memory").queryName(name).start()
        query.processAllAvailable()
        query.stop()
        counts.append(Counter(row["id"] for row in stage.spark.table(name).collect()))
    assert counts == [dict.fromkeys(range(len(stage.made)), 1)] * 2
    with pytest.raises(UsageError, match="and a table is read over a period"):
        open_source(stage.spark, app.path, select="past")
    with pytest.raises(UsageError, match="it has no source event"):
        open_source(stage.spark, app.path, "event")


def test_sources_that_are_opened_for_one_run_are_aligned(stage: Stage) -> None:
    table, period = f"lake.tv.{stage.name}", ("2020-01-01", "2100-01-01")
    stage.spark.sql(f"CREATE TABLE {table}_more USING iceberg AS SELECT * FROM {table}")
    past = {"type": "iceberg", "catalog": "lake", "database": "tv", "table": stage.name}
    narrow = {"max_misalignment_threshold": "1min"}
    sources = {"events": past, "more": {**past, **narrow, "table": f"{stage.name}_more"}}
    path = stage.app({"sql": BY_MINUTE}, sources=sources).path
    with pytest.raises(UsageError, match=f"{stage.name} also reads more, besides events"):
        open_source(stage.spark, path, "events", period=period)
    run_id = f"run-{stage.name}"
    for name in ("events", "more"):
        assert open_source(stage.spark, path, name, period=period, run_id=run_id).isStreaming
    plan = state_of(stage.workspace, run_id).plan()
    # One plan for both, by the smaller threshold; both are held while it is gone by.
    assert [one.name for one in plan.sources] == [table, f"{table}_more"]
    assert plan.threshold_us == 60_000_000
    for one in plan.sources:
        refs = load_table(stage.workspace, one.name).metadata.refs
        assert refs[f"headrace-replay-{run_id}"].snapshot_id == one.snapshot_id
    with pytest.raises(UsageError, match=f"run {run_id} was started over"):
        open_source(stage.spark, path, "more", period=("2020-01-01", "2099-01-01"), run_id=run_id)
    Replay.by(stage.workspace, plan).release(run_id)
    assert set(load_table(stage.workspace, table).metadata.refs) == {"main"}


UDFS = """
import pandas as pd
from pyspark.sql.functions import pandas_udf


def doubled(number: int) -> int:
    return helper(number)


def helper(number: int) -> int:
    return 2 * number


@pandas_udf("string")
def shouted(texts: pd.Series) -> pd.Series:
    return texts.str.upper() + "!"
"""


def test_a_query_calls_functions_of_a_module_beside_it(stage: Stage) -> None:
    module = f"functions_{stage.name}"
    (stage.workspace.root / f"{module}.py").write_text(UDFS)
    query = "SELECT id, doubled(id) AS twice, shouted(kind) AS kind FROM events"
    app = stage.app({"sql": query, "udfs": [f"{module}:doubled", f"{module}:shouted"]})
    stage.run_live(app)
    stage.spark.sql(f"REFRESH TABLE lake.tv.{stage.name}_out")
    rows = stage.spark.sql(f"SELECT * FROM lake.tv.{stage.name}_out").collect()
    assert len(rows) == len(stage.made)
    assert all(row["twice"] == 2 * row["id"] for row in rows)
    assert {row["kind"] for row in rows} == {"A!", "B!", "C!", "CLOSER!"}


STATE = """
import pandas as pd
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupStateTimeout


def count(key, frames, state):
    if state.hasTimedOut:
        (events,) = state.get
        state.remove()
        yield pd.DataFrame({"minute": [key[0]], "kind": [key[1]], "events": [events]})
        return
    before = state.get[0] if state.exists else 0
    state.update((before + sum(map(len, frames)),))
    state.setTimeoutTimestamp(pd.Timestamp(key[0]).value // 1_000_000 + 60_000)


def build(sources):
    events = sources["events"].withColumn("minute", F.date_trunc("minute", "at"))
    return events.groupBy("minute", "kind").applyInPandasWithState(
        count,
        "minute timestamp, kind string, events long",
        "events long",
        "append",
        GroupStateTimeout.EventTimeTimeout,
    )
"""


def test_state_that_pandas_keeps_is_the_same_live_and_over_the_past(stage: Stage) -> None:
    module = f"state_{stage.name}"
    (stage.workspace.root / f"{module}.py").write_text(STATE)
    app = stage.app({"python": f"{module}:build"})
    stage.run_live(app)
    wanted = expected(stage.made)
    assert stage.results() == wanted
    assert stage.replay(app).dropped_late == 0
    assert stage.results() == Counter({row: 2 * count for row, count in wanted.items()})
