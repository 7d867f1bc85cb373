"""What the control room tells of one file: what it declares, and what it runs with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fleet.declared import declared, sources_of, targets_of
from headrace.config.app.file import App
from headrace.config.lake_table.file import LakeTable
from headrace.config.load import stream_of
from headrace.config.origins import settings_of
from headrace.config.stream.effective import effective
from headrace.config.stream.file import Stream
from headrace.errors import UsageError
from headrace.http.detail_rows import DeclaredRow, SettingRow
from headrace.problems import counted, shown_path
from router.explain.explanation import explain
from router.explain.given_records import given_in
from router.explain.report import as_dict
from router.plan.planner import Planner

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.kind_files import CheckedFile
    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace

# A page shows what becomes of a few.
MOST_RECORDS: Final = 20


def declared_row(
    config: Stream | LakeTable | App, path: Path, problem: str | None = None
) -> DeclaredRow:
    """Return what a file declares."""
    bad = None if isinstance(config, App) else config.quarantine
    return DeclaredRow(
        config.kind,
        config.name,
        shown_path(path),
        list(sources_of(config)),
        list(targets_of(config)),
        [one.name for one in config.outputs] if isinstance(config, Stream) else (),
        None if bad is None else f"kafka:{bad.cluster}/{bad.topic}",
        problem,
    )


def declared_in(checked: CheckedFile) -> DeclaredRow:
    """Return what a file declares, as far as it can be read."""
    config, document = checked.config, checked.document
    problem = str(min(document.problems)) if document.problems else None
    if isinstance(config, Stream | LakeTable | App):
        return declared_row(config, document.path, problem)
    if checked.template is not None:
        template = checked.template
        pattern = f"kafka:{template.for_each.cluster}/{template.for_each.topics.text}"
        return DeclaredRow(template.kind, template.name, shown_path(document.path), [pattern])
    broken = declared(checked)
    path = shown_path(broken.path)
    return DeclaredRow(broken.kind or "?", broken.name or path, path, problem=problem)


def effective_of(checked: CheckedFile, workspace: Workspace, region: str | None) -> Effective:
    """Return a stream as a deployment runs it."""
    return effective(stream_of(checked), workspace, region)


def explained(stream: Effective, workspace: Workspace, records: str) -> dict[str, object]:
    """Return what a stream makes of records, a line each, as `router explain` does."""
    plan = Planner(workspace, stream).plan()
    is_wrapped = plan.source.format == "avro"
    whole = records.encode(errors="replace")
    given = list(given_in(whole, "record", plan.source, envelope=is_wrapped))
    if len(given) > MOST_RECORDS:
        raise UsageError(
            f"these are {counted(len(given), 'record')}",
            f"give {MOST_RECORDS} at most; router explain takes a file",
        )
    return as_dict(explain(plan, given, None))


def setting_rows(stream: Effective, workspace: Workspace) -> list[SettingRow]:
    """Return every setting that a stream runs with."""
    found = settings_of(stream, workspace)
    return [SettingRow(one.key, one.value, one.origin) for one in found]
