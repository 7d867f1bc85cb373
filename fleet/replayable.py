"""What of a workspace can be replayed: its applications and tables, as its files declare them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.declared import declared
from headrace.application.select import names_for_the_transform, of_the_past, smallest_threshold
from headrace.config.app.file import App, DynamicSource, HybridSource, IcebergSource
from headrace.config.app.sinks import IcebergSink
from headrace.config.common.units import duration_text
from headrace.config.lake_table.file import LakeTable
from headrace.config.stream.file import Stream
from headrace.config.stream.sinks import TableSink
from headrace.config.validate import checked_workspace
from headrace.errors import HeadraceError
from headrace.http.replay_rows import AppChoice, CandidateRow, ReplayChoices, ReplayedSource
from headrace.problems import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from headrace.config.kind_files import CheckedFile
    from headrace.config.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Replayable:
    """What can be replayed, the file of each application, and the topics of all files."""

    choices: ReplayChoices
    paths: Mapping[str, Path]
    configs: Mapping[str, App]
    topics: frozenset[str]


def replayable(workspace: Workspace) -> Replayable:
    """Read what the files of a workspace declare now."""
    _, files = checked_workspace(workspace.root)
    if any(one.template is not None for one in files):
        # The topics of these files are only known to their clusters.
        from fleet.topics_now import expanded  # noqa: PLC0415 - a client of Kafka takes a while

        files = [*files, *expanded(workspace.root, files).found.files]
    apps = {one.config.name: one for one in files if isinstance(one.config, App)}
    regions = {one.region for one in workspace.clusters.values() if one.region}
    kafka = "kafka:"
    return Replayable(
        ReplayChoices(
            [_app(one) for _, one in sorted(apps.items())],
            sorted(set(_tables(files))),
            sorted(workspace.clusters),
            sorted(regions),
        ),
        {name: one.document.path for name, one in apps.items()},
        {name: one.config for name, one in apps.items() if isinstance(one.config, App)},
        frozenset(
            location.removeprefix(kafka)
            for one in files
            for location in (*declared(one).sources, *declared(one).targets)
            if location.startswith(kafka)
        ),
    )


def _tables(files: Sequence[CheckedFile]) -> Iterator[str]:
    for one in files:
        match one.config:
            case LakeTable() as table:
                yield table.table.identifier
            case App() as app:
                yield from (
                    source.identifier
                    for source in app.sources.values()
                    if isinstance(source, IcebergSource)
                )
            case Stream() as stream:
                sinks = (output.sink for output in stream.outputs)
                yield from (sink.identifier for sink in sinks if isinstance(sink, TableSink))
            case _:
                pass


def _app(checked: CheckedFile) -> AppChoice:
    config, file = checked.config, shown_path(checked.document.path)
    if not isinstance(config, App):
        return AppChoice("", file)
    sink = config.sink
    try:
        past = of_the_past(config)
    except HeadraceError as problem:
        return AppChoice(config.name, file, sink.location, problem=problem.message)
    return AppChoice(
        config.name,
        file,
        sink.location,
        isinstance(sink, IcebergSink),
        sink.time_column is not None,
        duration_text(smallest_threshold(past.values())),
        sink.key if isinstance(sink, IcebergSink) else (),
        [
            ReplayedSource(name, past[name].identifier, _candidates(config, name))
            for name in names_for_the_transform(config)
        ],
    )


def _candidates(app: App, name: str) -> list[CandidateRow]:
    source = app.sources[name]
    names = source.candidates if isinstance(source, DynamicSource) else (name,)
    return [CandidateRow(one, _table_of(app, one)) for one in names]


def _table_of(app: App, name: str) -> str | None:
    match app.sources[name]:
        case IcebergSource() as source:
            return source.identifier
        case HybridSource(past=past):
            return _table_of(app, past)
        case _:
            return None
