"""What the control room tells of an application, by the files of its run on this host."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from headrace.application.rejected_counts import counted
from headrace.application.select import selected
from headrace.application.source_rows import source_rows
from headrace.config.app.file import HybridSource, IcebergSource, KafkaTopics
from headrace.errors import HeadraceError
from headrace.http.app_rows import AppDetail, LookupRow, PositionRow, RewindRow
from headrace.times import format_time_us
from stream_app.progress import read_progress
from stream_app.rewind import cut
from stream_app.rewind.batches import committed_batches, describe_offset
from stream_app.rewind.state_files import QueryState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from headrace.config.app.file import App
    from headrace.config.workspace.workspace import Workspace
    from stream_app.rewind.batches import Batch

REWINDS: Final = 8
AHEAD: Final = "ahead"
NEVER_RAN: Final = (
    "this host keeps nothing of its batches: it has not run here, or an older headrace ran it"
)


def app_detail(workspace: Workspace, app: App) -> AppDetail:
    """Return what this host keeps of an application, and what its file says of lookups."""
    folder = workspace.state_dir / "app" / app.name
    unknown: list[str] = []
    progress = read_progress(folder)
    if progress is None:
        unknown.append(NEVER_RAN)
    batches: Sequence[Batch] = ()
    if workspace.checkpoint_dir is not None:
        unknown.append(
            f"its checkpoint is in {workspace.checkpoint_dir}, so positions and batches to rewind "
            "to are not known here"
        )
    else:
        try:
            batches = committed_batches(folder / cut.CHECKPOINT)
        except HeadraceError as problem:
            unknown.append(problem.message)
    begun: Mapping[str, str] = {}
    if batches:
        with contextlib.suppress(HeadraceError):
            begun = cut.sources_begun_with(folder)
    rejected: Counter[str] = sum(map(counted, _folders(folder / "turned_away")), Counter())
    detail = AppDetail(
        ahead=rejected.pop(AHEAD, 0) if progress is not None else None,
        rejected=dict(sorted(rejected.items())),
        positions=list(_positions(app, batches, begun)),
        lookups=[LookupRow(name, one.identifier, one.as_of) for name, one in app.lookups.items()],
        rewinds=_rewinds(folder / cut.CHECKPOINT, batches),
        rewinds_kept=len(batches),
        unknown=unknown,
        is_replayed=any(
            isinstance(one, IcebergSource) and one.follow is None
            for one in selected(app, {}).values()
        ),
    )
    if progress is None:
        return detail
    return replace(
        detail,
        started=progress.started,
        at=progress.at,
        watermark=progress.watermark,
        rows=progress.rows,
        batches=progress.batches[::-1],
        state=progress.state,
        dropped_late=progress.dropped_late,
        is_late_exact=progress.is_late_exact,
    )


def _rewinds(checkpoint: Path, batches: Sequence[Batch]) -> list[RewindRow]:
    """Return the newest batches and the oldest one, with what this host's files have against each."""
    shown = [*batches[:REWINDS], *batches[REWINDS:][-1:]]
    stores = QueryState(checkpoint / "state")
    found = []
    for one in shown:
        obstacle = one.obstacle
        try:
            obstacle = obstacle or stores.missing(one.number)
        except HeadraceError as problem:
            obstacle = problem.message
        where = "; ".join(dict.fromkeys(map(describe_offset, one.offsets)))
        found.append(RewindRow(one.number, format_time_us(one.began_us), where, obstacle))
    return found


def _folders(parent: Path) -> list[Path]:
    try:
        return [one for one in parent.iterdir() if one.is_dir()]
    except OSError:
        return []


def _positions(
    app: App, batches: Sequence[Batch], choices: Mapping[str, str]
) -> Iterator[PositionRow]:
    """Give where each source is after the last batch; a query's sources share an order of Spark's."""
    offsets = batches[0].offsets if batches else ()
    for row in source_rows(app, choices):
        found = [one for one in offsets if _is_of(app, row.selected, one)]
        if found:
            shown = dict.fromkeys(map(describe_offset, found))
            yield PositionRow(row.name, row.selected, "; ".join(shown))


def _is_of(app: App, name: str, offset: Mapping[str, Any]) -> bool:
    """Whether an offset in Spark's log is of a source: by the topics or the table in it."""
    match app.sources.get(name):
        case KafkaTopics(topics=topics):
            return not {"past", "tables"} & offset.keys() and not offset.keys().isdisjoint(topics)
        case IcebergSource() as table:
            return table.identifier in offset.get("tables", ())
        case HybridSource(live=live):
            return "past" in offset and _is_of(app, live, offset["live"])
        case _:
            return False
