"""The lookups of an application as DataFrames, beside its sources."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from backfill.lookups.resolve import LookupHistory, histories
from headrace.errors import UsageError
from headrace.expressions.queries import mentioned_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from backfill.plan.lookups import PlannedLookup
    from headrace.config.app.file import Lookup
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace

# As Spark's own limit for a broadcast join; it does not know the size of these tables.
BROADCAST_BYTES: Final = 10 * 2**20
TASK_BYTES: Final = 64 * 2**20
SIZE: Final = "total-files-size"
NOWHERE: Final = "nowhere"


@dataclass(frozen=True, slots=True)
class LookupFrames:
    """Opens an application's lookups; `options` of `LookupSource` say which state a batch sees."""

    spark: SparkSession
    app: LoadedApp
    workspace: Workspace

    def of_a_replay(
        self, checkpoint: Path, plan_file: Path, planned: Iterable[PlannedLookup]
    ) -> dict[str, DataFrame]:
        """Return each lookup as it was at the step that a batch is; the plan says which state."""
        by_name = {one.name: one for one in planned}
        if by_name.keys() != self.app.config.lookups.keys():
            raise UsageError(
                f"{self.app.config.name} has the lookups {_listed(self.app.config.lookups)}, but "
                f"this run was started with {_listed(by_name)}",
                "restore the file, or start another run",
            )
        by_step = {"checkpoint": str(checkpoint), "plan": str(plan_file)}

        def state(one: LookupHistory) -> dict[str, str]:
            return by_step if one.is_replayed else _only(by_name[one.name].at_step(0))

        return self._frames(state, by_name)

    def live(self, checkpoint: Path, state: Path) -> dict[str, DataFrame]:
        """Return each lookup as it is at each batch, or as it was at the time that the file fixes."""

        def of_batch(one: LookupHistory) -> dict[str, str]:
            if one.wanted.is_fixed:
                return _only(one.fixed())
            return {"checkpoint": str(checkpoint), "taken": str(state / "lookups" / one.name)}

        return self._frames(of_batch, {})

    def unread(self) -> dict[str, DataFrame]:
        """Return each lookup for a query that is looked at before its replay, and never started.

        One of a single state can be read all the same, as a transform may do while it is built.
        """
        nowhere = {"checkpoint": NOWHERE, "taken": NOWHERE}
        return self._frames(lambda one: nowhere if one.is_replayed else _only(one.fixed()), {})

    def _frames(
        self,
        state: Callable[[LookupHistory], Mapping[str, str]],
        planned: Mapping[str, PlannedLookup],
    ) -> dict[str, DataFrame]:
        """Return each lookup by the options for its state; with the columns that a plan has of it."""
        return {
            one.name: self._frame(one, state(one), planned.get(one.name))
            for one in histories(self.workspace, self.app.config.lookups)
        }

    def _frame(
        self, lookup: LookupHistory, state: Mapping[str, str], planned: PlannedLookup | None
    ) -> DataFrame:
        from backfill.lookups.source import NAME, LookupSource  # noqa: PLC0415 - a plan needs no Spark

        columns = planned.columns if planned else lookup.table.schema().model_dump_json()
        known = [field["name"] for field in json.loads(columns)["fields"]]
        size = _size_bytes(lookup)
        most = self.spark.sparkContext.defaultParallelism
        options = {
            "workspace": str(self.workspace.root),
            "table": lookup.wanted.identifier,
            "name": lookup.name,
            "all_columns": columns,
            "columns": ",".join(_used(self.app, lookup.wanted, known)),
            "tasks": str(max(1, min(most, -(-(size or 0) // TASK_BYTES)))),
            **state,
        }
        self.spark.dataSource.register(LookupSource)
        frame = self.spark.read.format(NAME).options(**options).load()
        # Of a Python source Spark knows no size, and would sort both sides for every join.
        return frame.hint("broadcast") if size is not None and size <= BROADCAST_BYTES else frame


def _only(snapshot_id: int | None) -> dict[str, str]:
    return {"snapshot": str(snapshot_id or "")}


def _used(app: LoadedApp, wanted: Lookup, known: Sequence[str]) -> list[str]:
    """Return the columns to read, none for all: those declared, else those that SQL mentions."""
    if wanted.columns:
        return list(wanted.columns)
    mentioned = None if app.query is None else mentioned_columns(app.query)
    if mentioned is None:
        return []
    # A query that only counts the rows still needs one.
    return [name for name in known if name.lower() in mentioned] or list(known[:1])


def _size_bytes(lookup: LookupHistory) -> int | None:
    head = lookup.table.current_snapshot()
    if head is None:
        return 0
    said = None if head.summary is None else head.summary.additional_properties.get(SIZE)
    return int(said) if said is not None and said.isdecimal() else None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
