"""From files to values: a workspace, and the streams, lake tables and applications in it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from headrace import proposed_files
from headrace.config.app.file import App
from headrace.config.common.model import Model
from headrace.config.common.section import KnownNames, addresses_of
from headrace.config.kind_files import check_file, check_workspace_file
from headrace.config.lake_table.file import LakeTable
from headrace.config.many_topics import one_of
from headrace.config.stream.checks import SINK_SCHEMA
from headrace.config.stream.file import Stream
from headrace.config.workspace.workspace import FILE_NAME, Workspace
from headrace.errors import BadConfig, UsageError
from headrace.problems import absolute, in_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.config.kind_files import CheckedFile
    from headrace.config.stream.sinks import StreamSink
    from headrace.config.yaml.document import Document
    from headrace.schema.model import Record

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class LoadedStream:
    """A stream without mistakes. `schema` is None for format raw and for a registry.

    `sink_schemas` has the schemas that outputs name in files; `document` the positions of all that
    is written in the stream's file, and none of the values.
    """

    config: Stream
    schema: Record | None
    path: Path
    sink_schemas: Mapping[str, Record]
    document: Document = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class LoadedLakeTable:
    """A lake table without mistakes. `schema` is None for format raw and for a registry.

    `schema_file` is the file of the schema, if it is in one: it may change while a job runs.
    """

    config: LakeTable
    schema: Record | None
    path: Path
    schema_file: Path | None = None


@dataclass(frozen=True, slots=True)
class LoadedApp:
    """An application without mistakes.

    `schemas` has the sources with a schema file, `query` the text of `sql` or `sql_file`.
    """

    config: App
    schemas: Mapping[str, Record]
    query: str | None
    path: Path


def find_workspace(directory: Path | None) -> Path:
    """Return the folder with headrace.yaml: the one given, else the nearest parent's."""
    if directory is not None:
        root = absolute(directory)
        if not (root / FILE_NAME).is_file():
            message = f"{directory} has no {FILE_NAME}"
            raise UsageError(message, f"make a workspace there: headrace init {directory}")
        return root
    root_of_here = nearest_workspace(Path.cwd())
    if root_of_here is None:
        message = f"no {FILE_NAME} in this folder or in any above it"
        raise UsageError(
            message, "make a workspace with headrace init DIR, or name one: --workspace"
        )
    return root_of_here


def nearest_workspace(folder: Path) -> Path | None:
    """Return the folder, or the nearest above it, that has headrace.yaml."""
    here = absolute(folder)
    return next((one for one in (here, *here.parents) if (one / FILE_NAME).is_file()), None)


def load_workspace(directory: Path | None = None) -> Workspace:
    """Read headrace.yaml; BadConfig has all its problems."""
    root = find_workspace(directory)
    document, workspace = check_workspace_file(root / FILE_NAME)
    if workspace is None:
        raise BadConfig(in_order(document.problems))
    return workspace


def known_names(workspace: Workspace) -> KnownNames:
    """Return what the files of a workspace may name."""
    addresses = {
        name: addresses_of(one.bootstrap_servers) for name, one in workspace.clusters.items()
    }
    clusters, catalogs = frozenset(workspace.clusters), frozenset(workspace.catalogs)
    return KnownNames(workspace.root, clusters, catalogs, addresses)


def load_stream(path: Path, workspace: Workspace, topic: str | None = None) -> LoadedStream:
    """Read a stream, of a file for many topics one topic's; BadConfig has all its problems."""
    return stream_of(one_of(check_file(path, known_names(workspace), "stream"), topic))


def stream_of(checked: CheckedFile) -> LoadedStream:
    """Return the stream of a file that was checked; BadConfig has all its problems."""
    config = _sound(checked, Stream)
    written = {
        output.name: schema
        for output in config.outputs
        if (schema := checked.schemas.get(f"{SINK_SCHEMA}{output.name}")) is not None
    }
    without_values = replace(checked.document, data=None)
    schema = checked.schemas.get("source")
    return LoadedStream(config, schema, checked.document.path, written, without_values)


def load_target(stream: LoadedStream, sink: StreamSink, workspace: Workspace) -> LoadedStream:
    """Read the stream that a sink of another one writes to; BadConfig has all its problems."""
    return load_stream(file_of(stream, sink.stream, workspace), workspace)


def file_of(stream: LoadedStream, name: str, workspace: Workspace) -> Path:
    """Return a file that a stream's output names: beside the stream's own, or in the workspace."""
    for folder in (stream.path.parent, workspace.root):
        if proposed_files.is_file(folder / name):
            return folder / name
    raise UsageError(
        f"stream {stream.config.name} names {name}, but that file is gone",
        "restore the file, or remove the output",
    )


def load_lake_table(path: Path, workspace: Workspace, topic: str | None = None) -> LoadedLakeTable:
    """Read a lake table, of a file for many one topic's; BadConfig has all its problems."""
    return lake_table_of(one_of(check_file(path, known_names(workspace), "lake_table"), topic))


def lake_table_of(checked: CheckedFile) -> LoadedLakeTable:
    """Return the lake table of a file that was checked; BadConfig has all its problems."""
    config = _sound(checked, LakeTable)
    is_file = isinstance(config.source.schema_ref, str)
    return LoadedLakeTable(
        config,
        checked.schemas.get("source"),
        checked.document.path,
        checked.file.at("source", "schema").find_file() if is_file else None,
    )


def load_app(path: Path, workspace: Workspace) -> LoadedApp:
    """Read an application; BadConfig has all its problems."""
    checked = check_file(path, known_names(workspace), "app")
    config = _sound(checked, App)
    query = config.transform.sql
    if config.transform.sql_file is not None:
        path_of_query = checked.file.at("transform", "sql_file").find_file()
        query = proposed_files.read_text(path_of_query) if path_of_query else None
    return LoadedApp(config, checked.schemas, query, checked.document.path)


def _sound(checked: CheckedFile, model: type[M]) -> M:
    # Beside another file, a file may have a mistake that it has not by itself.
    if not isinstance(checked.config, model) or checked.document.problems:
        raise BadConfig(in_order(checked.document.problems))
    return checked.config
