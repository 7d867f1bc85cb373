"""A table that is followed: each row once and within the bound, whatever is done to its files."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from headrace.config.load import load_app
from headrace.contract import with_metadata
from headrace.embedded.process import wait_until
from headrace.errors import HeadraceError, Terminal
from headrace.landing.completeness import Completeness, completeness_property
from headrace.schema.arrow import to_arrow
from headrace.signals import Drain
from headrace.times import EPOCH
from stream_app.follow.tags import PREFIX
from stream_app.live import live_sources, run_live
from stream_app.rewind.rewinding import RewindOptions, can_go_back_to, rewind
from tests.integration.backfill.lake_tables import DAY, EVENT, Stored, make_table
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

    from headrace.config.load import LoadedApp
    from tests.integration.pipelines import Pipelines

THRESHOLD_S = 60
COMPACT = (
    "CALL lake.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))"
)
EXPIRE = (
    "CALL lake.system.expire_snapshots(table => '{name}', older_than => now(), retain_last => 1)"
)


def second(number: int) -> float:
    """Return when a record arrived: one a second, every tenth of them half a minute early."""
    return number - 30 if number % 10 == 0 else number


def completeness_at(second: float) -> dict[str, str]:
    """Return the property by which a table says that it has everything up to a time."""
    told = Completeness((DAY - EPOCH + timedelta(seconds=second)) // timedelta(microseconds=1))
    return {completeness_property("w"): told.to_json({0: 1})}


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

    def append(self, numbers: Iterable[int], complete: float | None = None) -> None:
        """Commit these records as one file, and with them up to when that makes it complete."""
        rows = [Stored(0, number, second(number)).row() for number in numbers]
        schema = to_arrow(with_metadata(EVENT))
        table = self.catalog.load_table(("replays", self.name))
        with table.transaction() as change:
            change.append(pa.Table.from_pylist(rows, schema))
            if complete is not None:
                change.set_properties(completeness_at(complete))
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
        table = self.catalog.load_table(("replays", self.name))
        with table.transaction() as change:
            change.set_properties(completeness_at(second))

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
    with pytest.raises(Terminal, match=rf"snapshot {snapshot} of {following.table} \("):
        following.run(app)
    following.append(range(50, 60))
    app = following.app(on_overwrite="skip")
    assert following.run(app) == 10
    following.append(range(60, 70))
    following.sql(COMPACT, EXPIRE)
    with pytest.raises(Terminal, match="cannot tell which rows are new"):
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
        (
            {"follow": {"time_column": "att"}},
            "has no column att to order its rows by\n.*follow.time_column",
        ),
        ({"follow": {"time_column": "id"}}, "id of .* is long, not a time"),
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


@pytest.mark.long
def test_gone_back_to_an_earlier_batch_it_reads_on_from_there(following: Following) -> None:
    app, workspace = following.app(), following.pipelines.workspace
    for numbers in (range(50), range(50, 80), range(80, 110), range(110, 140)):
        following.append(numbers)
        following.run(app)
    batches = following.batches()
    oldest, *_ = can_go_back_to(app, workspace).batches[::-1]
    first = oldest.offsets[0]["tables"][following.table]["snapshot"]
    # The last two looks need it no more, and nobody has taken it away yet.
    assert first not in following.tags()
    assert rewind(app, workspace, RewindOptions(str(oldest.number)), lambda _: None) is not None
    following.sql(EXPIRE)
    assert first in following.tags()
    following.run(app)
    assert following.seen() == Counter(range(140))
    assert not beyond_the_bound(following.batches())
    assert following.batches()[0] == batches[0]


@dataclass
class Two:
    """An application that follows two tables and goes on while they are written."""

    one: Following
    other: Following
    drain: Asked = field(default_factory=Asked)
    rows: list[int] = field(default_factory=list)

    @cached_property
    def app(self) -> LoadedApp:
        path = self.one.app().path
        said = json.loads(path.read_text())
        said["sources"]["others"] = {**said["sources"]["events"], "table": self.other.name}
        columns = "id, unix_seconds(__metadata__.kafka_ingestion_ts) AS s FROM"
        sql = f"SELECT {columns} events UNION ALL SELECT -1 - {columns} others"
        said["transform"] = {"sql": sql}
        self.one.pipelines.write(f"apps/{self.one.name}.yaml", said)
        return load_app(path, self.one.pipelines.workspace)

    @property
    def expected(self) -> Counter[int]:
        return Counter(self.one.every) + Counter(-1 - number for number in self.other.every)

    def came(self, numbers: Iterable[int]) -> None:
        """Wait until these records came out."""
        wanted = Counter(numbers)
        assert wait_until(lambda: wanted <= self.one.seen(), LIMIT_S)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Run it; what is cut off at the end, its rows already out, comes again in its place."""
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self.drain.ask()
            thread.join(LIMIT_S)
        assert len(self.rows) == 1
        self.one.run(self.app)

    def _run(self) -> None:
        one, live = self.one, live_sources(self.app, {})
        ended = run_live(self.app, one.pipelines.workspace, one.spark, live, self.drain, once=False)
        self.rows.append(ended.rows)


@pytest.fixture
def two(following: Following, unique: Callable[[str], str]) -> Two:
    name = unique("followed")
    return Two(following, Following(following.spark, following.pipelines, following.catalog, name))


def test_two_tables_go_on_together_while_they_are_written(two: Two) -> None:
    # Each tenth record arrives half a minute early: of the next, the first arrives at 270.
    two.one.append(range(300), complete=269)
    # It is idle, and as complete: it holds nobody up.
    two.other.set_complete(269)
    with two.running():
        two.came(range(300))
        for start in range(300, 420, 40):
            two.one.append(range(start, start + 40), complete=start + 9)
            # As far as the other is complete, and the threshold more, they go ahead of it.
            two.came(range(start, start + 30))
            two.other.append(range(start, start + 40), complete=start + 9)
        for table in (two.one, two.other):
            table.set_complete(500)
        two.came(two.expected)
    assert two.one.seen() == two.expected
    assert not beyond_the_bound(two.one.batches())


@pytest.mark.long
def test_of_tables_that_do_not_say_how_complete_they_are_what_comes_too_late_is_counted(
    two: Two,
) -> None:
    two.one.append(range(300))
    with two.running():
        # The other has no row: it holds nobody up.
        two.came(range(300))
        two.one.append(range(300, 380))
        two.came(range(380))
        # Records 340 and 350 arrived early: at 310, which is too late now, and at 320.
        two.other.append(range(340, 380))
        two.came(two.expected)
    assert two.one.seen() == two.expected
    newest, *_ = can_go_back_to(two.app, two.one.pipelines.workspace).batches
    late = newest.offsets[0]["late_rows"]
    assert beyond_the_bound(two.one.batches()) == late == 1
