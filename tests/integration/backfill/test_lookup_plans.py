"""What a plan makes of a lookup's history: where steps end, what is refused, what is held."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from backfill.command.plan_report import as_json, as_text
from backfill.command.planned import PlannedReplay
from backfill.lookups.source import lookup_columns, snapshot_rows
from backfill.plan.period import Period
from backfill.run import tags
from backfill.run.planning import plan_of
from backfill.run.request import ReplayRequest
from headrace.config.app.file import Lookup
from headrace.errors import Terminal, UsageError
from headrace.iceberg.timeline import timeline_of
from tests.integration.backfill.lake_tables import DAY, Stored, make_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

    from backfill.plan.plan import Order, Plan
    from headrace.config.workspace.workspace import Workspace

HOUR_US = 3_600_000_000
TITLES = Schema(
    NestedField(1, "title_id", LongType(), required=False),
    NestedField(2, "category", StringType(), required=False),
)


@dataclass
class Planning:
    """A table of events around the time of a lookup's changes."""

    workspace: Workspace
    catalog: Catalog
    name: str

    def titles(self) -> Table:
        self.catalog.create_namespace_if_not_exists("replays")
        return self.catalog.create_table_if_not_exists(("replays", f"{self.name}_titles"), TITLES)

    def say(self, category: str) -> int:
        """Let there be one title of that category; returns since when, in microseconds."""
        table, given = self.titles(), [{"title_id": 1, "category": category}]
        rows = pa.Table.from_pylist(given, schema=table.schema().as_arrow())
        if table.current_snapshot() is None:
            table.append(rows)
        else:
            table.overwrite(rows)
        return timeline_of(table.refresh().metadata).changes[-1][0]

    def events(self, *times_us: int) -> None:
        day_us = round(DAY.timestamp()) * 1_000_000
        stored = [Stored(0, n, (at - day_us) / 1_000_000) for n, at in enumerate(times_us)]
        make_table(self.catalog, self.name, [stored])

    def plan(self, order: Order = "bounded", **more: Any) -> Plan:  # noqa: ANN401 - a lookup's keys
        table = f"{self.name}_titles"
        said = {"type": "iceberg", "catalog": "lake", "database": "replays", "table": table}
        whole = Period(0, 2 * round(datetime.now(UTC).timestamp()) * 1_000_000)
        lookups = {"titles": Lookup.model_validate({**said, **more})}
        tables = (f"lake.replays.{self.name}",)
        request = ReplayRequest(tables, whole, (), order, 24 * HOUR_US, lookups=lookups)
        return plan_of(self.workspace, request)

    def forget_before(self, time_us: int) -> None:
        table = self.titles()
        gone = [one for one in table.metadata.snapshots if one.timestamp_ms * 1000 < time_us]
        with table.maintenance.expire_snapshots() as change:
            for one in gone:
                change.by_id(one.snapshot_id)


@pytest.fixture
def planning(workspace: Workspace, lake_catalog: Catalog, unique: Callable[[str], str]) -> Planning:
    return Planning(workspace, lake_catalog, unique("planned"))


def test_a_step_ends_where_the_lookup_changes(planning: Planning) -> None:
    first_us, second_us = planning.say("comedy"), planning.say("tragedy")
    planning.events(first_us, second_us - 1, second_us, second_us + HOUR_US)
    plan = planning.plan()
    (lookup,) = plan.lookups
    states = timeline_of(planning.titles().metadata)
    assert [step.frontier_us for step in plan.steps] == [first_us, second_us]
    assert lookup.snapshots == (states.at(first_us), states.at(second_us))
    assert [lookup.at_step(step.number) for step in plan.steps] == list(lookup.snapshots)
    # What is cut in two has its rows once.
    assert plan.rows == 4
    told = f"titles: {lookup.table} as of replayed, 2 snapshots {lookup.snapshots[0]}, "
    assert told in as_text(PlannedReplay(plan), {})
    assert f'"name": "titles",\n      "table": "{lookup.table}"' in as_json(PlannedReplay(plan), {})


@pytest.mark.parametrize("as_of", ["today", "snapshot", "time"])
def test_a_lookup_of_one_state_cuts_nothing(planning: Planning, as_of: str) -> None:
    first_us, second_us = planning.say("comedy"), planning.say("tragedy")
    planning.events(first_us - HOUR_US, second_us + HOUR_US)
    states = timeline_of(planning.titles().metadata)
    at = datetime.fromtimestamp(first_us / 1_000_000, UTC).isoformat()
    said = {"today": "today", "snapshot": str(states.at(first_us)), "time": at}[as_of]
    plan = planning.plan(as_of=said)
    assert len(plan.steps) == 1
    wanted = states.at(second_us if as_of == "today" else first_us)
    assert plan.lookups[0].snapshots == (wanted,)


def test_what_is_expired_is_told_before_anything_runs(planning: Planning) -> None:
    first_us = planning.say("comedy")
    second_us = planning.say("tragedy")
    planning.events(first_us, second_us)
    planning.forget_before(second_us)
    begins = f"{datetime.fromtimestamp(second_us / 1_000_000, UTC):%Y-%m-%dT%H:%M:%S}"
    with pytest.raises(Terminal, match=f"(?s)titles.*begins at {begins}.*as_of: today"):
        planning.plan()
    assert planning.plan(as_of="today").lookups
    with pytest.raises(UsageError, match="has no snapshot 77"):
        planning.plan(as_of="77")


def test_a_table_without_a_snapshot_has_no_past(planning: Planning) -> None:
    planning.titles()
    planning.events(round(DAY.timestamp()) * 1_000_000)
    with pytest.raises(Terminal, match="has no snapshots"):
        planning.plan()
    assert planning.plan(as_of="today").lookups[0].snapshots == ()


@pytest.mark.parametrize(
    ("order", "goes_by"), [("any", "no time"), ("strict", "offsets, whose steps do not end")]
)
def test_an_order_whose_steps_end_at_no_time_has_no_state_of_a_time(
    order: Order, goes_by: str, planning: Planning
) -> None:
    planning.events(planning.say("comedy"))
    with pytest.raises(UsageError, match=f"--order {order} goes by {goes_by}"):
        planning.plan(order)
    assert planning.plan(order, as_of="today").lookups


def test_the_snapshots_of_a_replay_outlive_an_expiry(planning: Planning) -> None:
    times = [planning.say(one) for one in ("comedy", "tragedy", "drama")]
    planning.events(*times)
    plan = planning.plan()
    tags.hold_lookups(planning.workspace, plan.lookups, "again")
    tags.hold_lookups(planning.workspace, plan.lookups, "again")
    held = {ref.snapshot_id for ref in planning.titles().metadata.refs.values()}
    assert held >= set(plan.lookups[0].snapshots)
    # The name of another run may begin with this one's.
    assert not tags.release(planning.titles(), "aga")
    assert tags.release(planning.titles(), "again")
    assert set(planning.titles().metadata.refs) == {"main"}


def test_a_state_is_read_in_the_columns_of_today(planning: Planning) -> None:
    first_us = planning.say("comedy")
    with planning.titles().update_schema() as change:
        change.rename_column("category", "genre")
        change.add_column("notes", StringType())
    table = planning.titles()
    columns = lookup_columns(table.schema().model_dump_json(), "titles", ())
    snapshot_id = timeline_of(table.metadata).at(first_us) or 0
    rows = [
        row
        for number in range(2)
        for batch in snapshot_rows(table, snapshot_id, columns, (number, 2))
        for row in batch.to_pylist()
    ]
    assert rows == [{"title_id": 1, "genre": "comedy", "notes": None}]
    with pytest.raises(Terminal, match="has no column nots"):
        lookup_columns(table.schema().model_dump_json(), "titles", ["nots"])
