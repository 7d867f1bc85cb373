"""What going back means for the results that later batches have written, by kind of sink."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from headrace import state_files
from headrace.application.sinks import files_after, prefix_of
from headrace.application.table_sink import writer_of
from headrace.config.app.sinks import IcebergSink, JsonlSink
from headrace.errors import TableMissing
from headrace.iceberg.catalog import load_table, table_loader
from headrace.landing.taking_out import Back, NothingSince, Tied, commits_since, take_out, tied
from headrace.problems import counted
from headrace.queries.checkpoint import query_id

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.app.sinks import AppSink
    from headrace.config.workspace.workspace import Workspace


class TableRollback(msgspec.Struct, frozen=True, tag="table"):
    """A table from which the writer's later commits are taken, or left where that is allowed."""

    table: str
    writer: str
    leave: bool


class FilesMove(msgspec.Struct, frozen=True, tag="files"):
    """Files of later batches that are put with the old checkpoint."""

    folder: str
    prefix: str


class NoChange(msgspec.Struct, frozen=True, tag="left"):
    """Results that stay where they are."""


Change = TableRollback | FilesMove | NoChange


def change_of(
    workspace: Workspace, sink: AppSink, name: str, checkpoint: Path, *, leave: bool
) -> Change:
    """Return what is to be done with the results of later batches."""
    query = query_id(checkpoint)
    if isinstance(sink, IcebergSink) and sink.mode != "upsert":
        return TableRollback(sink.identifier, writer_of(name, query), leave)
    if isinstance(sink, JsonlSink):
        return FilesMove(str(workspace.root / sink.path), prefix_of(name, query))
    return NoChange()


def describe(workspace: Workspace, sink: AppSink, change: Change, batch: int) -> str:
    """Say what that means for a reader of the results; refuse where it cannot be done."""
    match change:
        case TableRollback(table, writer, leave):
            return _describe_table(workspace, table, writer, batch, leave=leave)
        case FilesMove(folder, prefix):
            many = counted(len(files_after(workspace.root / folder, prefix, batch)), "file")
            return f"{many} of later batches will be removed from {folder}"
        case NoChange():
            pass
    if isinstance(sink, IcebergSink):
        newer = f" whose {sink.version} is not smaller" if sink.version else ""
        return (
            f"later batches are merged into {sink.identifier} again: a row{newer} replaces the "
            "row with its key; a key that does not come again keeps its row"
        )
    return "records of later batches stay in the topic, and are sent there once more"


def apply(workspace: Workspace, change: Change, batch: int, aside: Path) -> None:
    """Do it; done again it changes nothing."""
    match change:
        case TableRollback(table, writer, leave):
            take_out(table_loader(workspace, table), table, writer, batch + 1, leave=leave)
        case FilesMove(folder, prefix):
            kept = aside / "results"
            for path in files_after(workspace.root / folder, prefix, batch):
                state_files.bring(path, kept / path.name)
        case NoChange():
            pass


def _describe_table(
    workspace: Workspace, table: str, writer: str, batch: int, *, leave: bool
) -> str:
    try:
        found = load_table(workspace, table)
        taken = commits_since(found, writer, batch + 1)
    except TableMissing:
        return f"{table} does not exist"
    match taken:
        case NothingSince():
            return f"{table} has no rows of later batches"
        case Back(snapshot, commits):
            head = found.metadata.current_snapshot_id
            place = "no rows" if snapshot is None else f"snapshot {snapshot}"
            return (
                f"{table} is rolled back over {counted(commits, 'commit')} of later batches, to {place}; the present "
                f"rows stay in snapshot {head} until it expires"
            )
        case Tied() if leave:
            return f"the rows of later batches stay in {table}, and are added there once more"
        case Tied():
            raise tied(table, taken)
