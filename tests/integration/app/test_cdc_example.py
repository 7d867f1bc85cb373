"""The CDC example: the last change of each account, live and replayed in the order of offsets.

The clocks that its records are stamped with run backwards, so times would tell another order.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from backfill.apps.replay import AppRun, replay_app
from backfill.plan.period import parse_period
from backfill.run.options import tables_of
from backfill.run.request import ReplayRequest
from examples.cdc.generate import Wanted, accounts_after, generate
from headrace.application.select import of_the_past, smallest_threshold
from headrace.config.load import load_app
from headrace.signals import Drain
from stream_app.live import live_sources, run_live
from tests.integration.app.copied import compact, copy_example, record_of
from tests.integration.pipelines import Pipelines
from tests.limits import LONG_LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from backfill.plan.plan import Order
    from backfill.run.certificate import Certificate
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace

MICROSECONDS_PER_S = 1_000_000
PARTITIONS = 3
SHUFFLE = "spark.sql.shuffle.partitions"
ALL_TIMES = ("2026-02-01", "2026-04-01")


@dataclass
class Billing:
    """The example, its changes sent in pieces, each landed and run live to its end."""

    spark: SparkSession
    workspace: Workspace
    name: str
    sent: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.root = copy_example("cdc", "billing", self.workspace, self.name)
        self.lake_table = self.root / "tables" / "account_changes.yaml"

    @property
    def app(self) -> LoadedApp:
        return load_app(self.root / "apps" / "accounts.yaml", self.workspace)

    def live(self, wanted: Wanted, pieces: int) -> None:
        pipelines, topic = Pipelines(self.workspace), f"{self.name}_account_changes"
        pipelines.make_topic(topic, PARTITIONS, "consumer")
        self.sent = generate(wanted)
        for piece in range(pieces):
            first, end = (len(self.sent) * one // pieces for one in (piece, piece + 1))
            pipelines.send(topic, [record_of(one) for one in self.sent[first:end]], "consumer")
            pipelines.land(self.spark, self.lake_table)
            app = self.app
            sources = live_sources(app, {})
            run_live(app, self.workspace, self.spark, sources, Drain(), once=True)

    def again(self, run_id: str, order: Order = "strict") -> Certificate:
        app = self.app
        request = ReplayRequest(
            tuple(tables_of(app).values()),
            parse_period(*ALL_TIMES),
            (),
            order,
            round(
                smallest_threshold(of_the_past(app.config).values()).total_seconds()
                * MICROSECONDS_PER_S
            ),
        )
        run = AppRun(app, self.workspace, f"{self.name}-{run_id}")
        return replay_app(run, request, self.spark, Drain())

    def by_command(self, run_id: str, master: str) -> None:
        """Replay in a session of its own, over so many cores."""
        start, end = ALL_TIMES
        command = [str(Path(sys.executable).with_name("backfill")), "replay", "--order", "strict"]
        command += ["-c", str(self.app.path), "--start-ts", start, "--end-ts", end]
        file = self.workspace.root / "headrace.yaml"
        text = file.read_text()
        file.write_text(text.replace("local[2]", master))
        try:
            done = subprocess.run(
                [*command, "--run-id", f"{self.name}-{run_id}"],
                cwd=self.workspace.root,
                capture_output=True,
                text=True,
                timeout=LONG_LIMIT_S,
                check=False,
            )
        finally:
            file.write_text(text)
        assert done.returncode == 0, done.stderr

    def compact(self) -> None:
        compact(self.spark, self.workspace, [self.lake_table])

    def shuffle(self, partitions: int) -> None:
        self.spark.conf.set(SHUFFLE, partitions)

    def accounts(self, run_id: str = "") -> dict[str, tuple[Any, ...]]:
        """Return what a table of accounts holds: the live one, or the one of a replay."""
        table = f"lake.{self.name}.accounts"
        if run_id:
            table += f"__{self.name}_{run_id}".replace("-", "_")
        self.spark.catalog.refreshTable(table)
        rows = self.spark.table(table).drop("place", "changed_at").collect()
        assert len({row["account_id"] for row in rows}) == len(rows)
        return {row["account_id"]: tuple(row.asDict().values())[1:] for row in rows}

    def wanted(self) -> dict[str, tuple[Any, ...]]:
        columns = ("plan", "country", "balance_cents", "version")
        return {
            key: tuple(value[name] for name in columns)
            for key, value in accounts_after(self.sent).items()
        }


@pytest.fixture
def billing(
    spark: SparkSession, workspace: Workspace, unique: Callable[[str], str]
) -> Iterator[Billing]:
    before = str(spark.conf.get(SHUFFLE))
    yield Billing(spark, workspace, unique("billing"))
    spark.conf.set(SHUFFLE, before)


@pytest.mark.long
def test_strict_order_gives_the_live_table_from_compacted_files(billing: Billing) -> None:
    billing.live(Wanted(hours=0.5, changes_per_hour=1_200, accounts=60), 2)
    assert billing.accounts() == billing.wanted()
    billing.compact()
    billing.shuffle(5)
    certificate = billing.again("strict")
    assert certificate.offset_order_held
    assert certificate.rows == len(billing.sent)
    assert billing.accounts("strict") == billing.wanted()


@pytest.mark.long
def test_at_any_parallelism_and_only_in_strict_order(billing: Billing) -> None:
    billing.live(Wanted(hours=2, changes_per_hour=5_000, restarts=12), 4)
    wanted = billing.wanted()
    assert len(wanted) > 100
    assert billing.accounts() == wanted
    for files in ("fresh", "compacted"):
        if files == "compacted":
            billing.compact()
        for count in (1, 4):
            billing.shuffle(count)
            billing.again(f"{files}-shuffled-{count}")
            assert billing.accounts(f"{files}-shuffled-{count}") == wanted
        for cores in (1, 4):
            billing.by_command(f"{files}-cores-{cores}", f"local[{cores}]")
            assert billing.accounts(f"{files}-cores-{cores}") == wanted
    # By time a deletion comes before changes that it came after, and they bring the account back.
    billing.again("bounded", "bounded")
    assert billing.accounts("bounded") != wanted
