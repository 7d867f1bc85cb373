"""Reading no more columns of a table than an application uses, and what that saves.

Spark pushes no columns into a streaming read. What an application declares is read; else, of a
query, the columns that it mentions. What a function in Python uses only the function knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from backfill.request import sources_of
from headrace.application.select import of_the_past
from headrace.expressions.used_columns import mentioned_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from backfill.plan import Plan
    from backfill.source import LakeSource
    from headrace.config.app import IcebergSource
    from headrace.config.load import LoadedApp
    from headrace.config.workspace import Workspace

FOOTERS_LOOKED_AT = 8


class Narrowed(NamedTuple):
    """A table that is not read as a whole; the share of its bytes is estimated on a few files."""

    table: str
    columns: tuple[str, ...]
    all_columns: int
    size_bytes: int
    whole_bytes: int


def columns_of(app: LoadedApp, tables: Mapping[str, LakeSource]) -> dict[str, tuple[str, ...]]:
    """Return the columns to read of each table that is not needed as a whole.

    Of a table that two sources read, those of both. `__metadata__` and the column of times are
    always read, and need not be among them.
    """
    mentioned = None if app.query is None else mentioned_columns(app.query)
    found: dict[str, set[str] | None] = {}
    for name, source in of_the_past(app.config).items():
        known = tables[source.identifier].all_columns
        used = _used(app, name, source, mentioned)
        before = found.get(source.identifier, set())
        found[source.identifier] = (
            None
            if used is None or before is None
            else before | {one for one in known if one in used or one.lower() in used}
        )
    return {
        # Where rows are only counted, the column of times will do.
        table: tuple(one for one in tables[table].all_columns if one in used)
        or (tables[table].time_column.partition(".")[0],)
        for table, used in found.items()
        if used is not None and len(used) < len(tables[table].all_columns)
    }


def _used(
    app: LoadedApp, name: str, source: IcebergSource, mentioned: frozenset[str] | None
) -> set[str] | None:
    if source.columns:
        return set(source.columns)
    if mentioned is None:
        return None
    watermark = app.config.watermarks.get(name)
    marked = set() if watermark is None else {watermark.column.partition(".")[0].lower()}
    return {*mentioned, *marked}


def narrowed(plan: Plan, app: LoadedApp, workspace: Workspace) -> Iterator[Narrowed]:
    """Yield what a replay reads of each table that it reads in part."""
    tables = sources_of(workspace, plan)
    for table, names in columns_of(app, tables).items():
        source = tables[table]
        read = source.with_those_always_read(names)
        units = [unit for step in plan.steps for unit in step.units if unit.source == table]
        sizes = [source.bytes_by_column(path) for path in _some(unit.path for unit in units)]
        whole = sum(sum(held.values()) for held in sizes)
        part = sum(size for held in sizes for name, size in held.items() if name in read)
        size_bytes = sum(unit.size_bytes for unit in units)
        share = part / whole if whole else 1.0
        shown = tuple(one for one in source.all_columns if one in read)
        yield Narrowed(table, shown, len(source.all_columns), round(size_bytes * share), size_bytes)


def _some(paths: Iterable[str]) -> list[str]:
    known = list(dict.fromkeys(paths))
    return known[:: -(-len(known) // FOOTERS_LOOKED_AT)] if known else []
