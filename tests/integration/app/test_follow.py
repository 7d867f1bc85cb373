"""A table that is followed: each row once and within the bound, whatever is done to its files."""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from backfill.follow.holding import PREFIX
from headrace.config.load import load_app
from headrace.contract import with_metadata
from headrace.embedded.process import wait_until
from headrace.errors import HeadraceError, Terminal
from headrace.landing.completeness import Completeness, completeness_property
from headrace.schema.arrow import to_arrow
from headrace.signals import Drain
from headrace.times import EPOCH
from stream_app.live import live_sources, run_live
from stream_app.rewind.rewinding import Wish, can_go_back_to, rewind
from tests.integration.backfill.lake_tables import DAY, EVENT, Stored, make_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

    from headrace.config.load import LoadedApp
    from tests.integration.pipelines import Pipelines

THRESHOLD_S = 60
LIMIT_S = 120
COMPACT = (
    "CALL lake.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))"
)
EXPIRE = (
    "CALL lake.system.expire_snapshots(table => '{name}', older_than => now(), retain_last => 1)"
)


def second(number: int) -> float:
    """Return when a record arrived: one a second, every tenth of them half a minute early."""
    return number - 30 if number % 10 == 0 else number


@dataclass
class Following:
    """An application that does nothing but follow a table."""

    spark: SparkSession
    pipelines: Pipelines
    catalog: Catalog
    name: str
    table: str = ""
    every: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.table = make_table(self.catalog, self.name, [], group_rows=20)

    def append(self, numbers: Iterable[int]) -> None:
        """Commit these records as one file."""
        rows = [Stored(0, number, second(number)).row() for number in numbers]
        schema = to_arrow(with_metadata(EVENT))
        self.catalog.load_table(("replays", self.name)).append(pa.Table.from_pylist(rows, schema))
        self.every += numbers

    def app(self, **follow: object) -> LoadedApp:
        catalog, database, table = self.table.split(".")
        source = {"type": "iceberg", "catalog": catalog, "database": database, "table": table}
        path = self.pipelines.write(
            f"apps/{self.name}.yaml",
            {
                "kind": "app",
                "name": self.name,
                "sources": {
                    "events": {
                        **source,
                        "max_misalignment_threshold": f"{THRESHOLD_S}s",
                        "follow": {"discovery_interval": "1s", **follow},
                    }
                },
                "transform": {
                    "sql": "SELECT id, unix_seconds(__metadata__.kafka_ingestion_ts) AS s FROM events"
                },
                "sink": {"type": "jsonl", "path": f"out/{self.name}"},
            },
        )
        return load_app(path, self.pipelines.workspace)

    def run(self, app: LoadedApp) -> int:
        """Read what is there now."""
        workspace, live = self.pipelines.workspace, live_sources(app, {})
        return run_live(app, workspace, self.spark, live, Drain(), once=True).rows

    def batches(self) -> list[list[tuple[int, int]]]:
        """Return the time and the name of each row that came out, batch by batch."""
        found: dict[int, list[tuple[int, int]]] = {}
        for path in (self.pipelines.workspace.root / "out" / self.name).glob("*.jsonl"):
            number = int(path.stem.split("-")[-2])
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            found.setdefault(number, []).extend((one["s"], one["id"]) for one in lines)
        return [found[number] for number in sorted(found)]

    def seen(self) -> Counter[int]:
        return Counter(name for batch in self.batches() for _, name in batch)

    def sql(self, *texts: str) -> None:
        for text in (f"REFRESH TABLE {self.table}", *texts):
            self.spark.sql(text.format(table=self.table, name=f"replays.{self.name}"))

    def set_complete(self, second: float) -> None:
        """Let the table say up to when it is complete, as its lake writer does."""
        told = Completeness((DAY - EPOCH + timedelta(seconds=second)) // timedelta(microseconds=1))
        table = self.catalog.load_table(("replays", self.name))
        with table.transaction() as change:
            change.set_properties({completeness_property("w"): told.to_json({0: 1})})

    def tags(self) -> set[int]:
        """Return the snapshots that are held for a follower."""
        refs = self.catalog.load_table(("replays", self.name)).metadata.refs
        return {ref.snapshot_id for name, ref in refs.items() if name.startswith(PREFIX)}


class Asked(Drain):
    """A drain that is asked for by the test."""

    def ask(self) -> None:
        self._asked.set()


@pytest.fixture
def following(
    spark: SparkSession,
    pipelines: Pipelines,
    lake_catalog: Catalog,
    unique: Callable[[str], str],
) -> Following:
    return Following(spark, pipelines, lake_catalog, unique("followed"))


def beyond_the_bound(batches: Iterable[list[tuple[int, int]]]) -> int:
    """Count the rows that came after one that is newer by more than the threshold."""
    newest, found = 0, 0
    for batch in batches:
        found += sum(newest > time + THRESHOLD_S for time, _ in batch)
        newest = max([newest, *(time for time, _ in batch)])
    return found


def test_each_row_once_through_compaction_and_expiry(following: Following) -> None:
    following.append(range(150))
    following.append(range(150, 300))
    app = following.app(max_rows=40)
    assert following.run(app) == 300
    assert max(map(len, following.batches())) <= 2 * 40
    # Some of these are older than what was dispatched, and are rewritten together with it.
    following.append(range(300, 330))
    following.sql(COMPACT)
    following.append(range(330, 360))
    assert following.run(app) == 60
    held = following.tags()
    following.sql(EXPIRE)
    assert following.tags() == held
    following.append(range(360, 390))
    following.sql(EXPIRE)
    following.append(range(390, 420))
    assert following.run(app) == 60
    assert following.seen() == Counter(following.every)
    assert not beyond_the_bound(following.batches())


def test_what_cannot_be_told_or_taken_back_ends_it_with_the_snapshot(following: Following) -> None:
    following.append(range(50))
    app = following.app()
    following.run(app)
    following.sql("DELETE FROM {table} WHERE id = 3")
    snapshot = following.catalog.load_table(
        ("replays", following.name)
    ).metadata.current_snapshot_id
    with pytest.raises(Terminal, match=rf"snapshot {snapshot} of {following.table} is of kind"):
        following.run(app)
    following.append(range(50, 60))
    app = following.app(on_overwrite="skip")
    assert following.run(app) == 10
    following.append(range(60, 70))
    following.sql(COMPACT, EXPIRE)
    with pytest.raises(Terminal, match="which rows are new cannot be told"):
        following.run(app)
    assert following.seen() == Counter(range(60))


def test_no_further_than_the_table_is_complete(following: Following) -> None:
    following.append(range(200))
    following.set_complete(100)
    app = following.app()
    following.run(app)
    newest = max(time for batch in following.batches() for time, _ in batch)
    assert newest - DAY.timestamp() == 100 + THRESHOLD_S
    following.set_complete(500)
    following.run(app)
    assert following.seen() == Counter(following.every)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"follow": {"time_column": "att"}}, "has no column att, .*\n.*follow.time_column"),
        ({"follow": {"time_column": "id"}}, "id of .* is long, no time"),
        ({"columns": ["idd"]}, "has no column idd\n.*it has id"),
        ({"table": "nowhere"}, "there is no table lake.replays.nowhere"),
    ],
)
def test_what_the_table_does_not_have_is_told_before_anything_is_held(
    following: Following, said: dict[str, object], told: str
) -> None:
    following.append(range(5))
    path = following.app().path
    text = json.loads(path.read_text())
    text["sources"]["events"] |= said
    path.write_text(json.dumps(text))
    with pytest.raises(HeadraceError, match=told):
        following.run(load_app(path, following.pipelines.workspace))
    assert following.tags() == set()


def test_from_now_on(following: Following) -> None:
    following.append(range(50))
    app = following.app(start="latest")
    assert following.run(app) == 0
    following.append(range(50, 80))
    assert following.run(app) == 30


def test_gone_back_to_an_earlier_batch_it_reads_on_from_there(following: Following) -> None:
    app, workspace = following.app(), following.pipelines.workspace
    for numbers in (range(50), range(50, 80), range(80, 110), range(110, 140)):
        following.append(numbers)
        following.run(app)
    batches = following.batches()
    oldest, *_ = can_go_back_to(app, workspace).batches[::-1]
    first = oldest.followed[0]["tables"][following.table]["snapshot"]
    # The last two looks need it no more, and nobody has taken it away yet.
    assert first not in following.tags()
    assert rewind(app, workspace, Wish(str(oldest.number)), lambda _: None) is not None
    following.sql(EXPIRE)
    assert first in following.tags()
    following.run(app)
    assert following.seen() == Counter(range(140))
    assert not beyond_the_bound(following.batches())
    assert following.batches()[0] == batches[0]


def test_two_tables_go_on_together_while_they_are_written(
    following: Following, unique: Callable[[str], str]
) -> None:
    spark, pipelines, catalog = following.spark, following.pipelines, following.catalog
    other = Following(spark, pipelines, catalog, unique("followed"))
    path = following.app().path
    said = json.loads(path.read_text())
    source = said["sources"]["events"]
    said["sources"]["others"] = {**source, "table": other.name}
    columns = "id, unix_seconds(__metadata__.kafka_ingestion_ts) AS s FROM"
    said["transform"] = {"sql": f"SELECT {columns} events UNION ALL SELECT -1 - {columns} others"}
    pipelines.write(f"apps/{following.name}.yaml", said)
    app = load_app(path, pipelines.workspace)
    following.append(range(300))
    drain, rows = Asked(), list[int]()

    def run() -> None:
        live = live_sources(app, {})
        rows.append(run_live(app, pipelines.workspace, spark, live, drain, once=False).rows)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        # One table is idle, and holds nobody up; then both grow.
        assert wait_until(lambda: following.seen().total() >= 300, LIMIT_S)
        for start in range(300, 420, 40):
            following.append(range(start, start + 40))
            other.append(range(start, start + 40))
        expected = Counter(following.every) + Counter(-1 - one for one in other.every)
        assert wait_until(lambda: following.seen() == expected, LIMIT_S)
    finally:
        drain.ask()
        thread.join(LIMIT_S)
    assert len(rows) == 1
    # A batch that the end has cut off, its rows already out, comes once more in its own place.
    following.run(app)
    assert following.seen() == expected
    assert not beyond_the_bound(following.batches())
