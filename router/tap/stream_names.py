"""From STREAM or STREAM.OUTPUT to the stream's file, by the names in the workspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.config.kind_files import check_file
from headrace.config.load import known_names, stream_of
from headrace.config.stream.effective import effective
from headrace.config.stream.file import Stream
from headrace.config.validate import kind_files
from headrace.errors import UsageError
from headrace.kafka.many_topics import files_now
from headrace.problems import counted, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.config.kind_files import CheckedFile
    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Named:
    """A stream as a deployment runs it, and the output that was named with it."""

    stream: Effective
    output: str | None


def named(workspace: Workspace, words: str, region: str | None) -> Named:
    """Return what STREAM or STREAM.OUTPUT names; neither of them has a dot in its name."""
    name, _, output = words.partition(".")
    checked = _file_of(workspace, name, region)
    stream = effective(stream_of(checked), workspace, region)
    outputs = [one.name for one in stream.config.outputs]
    if output and output not in outputs:
        raise UsageError(f"stream {name} has no output {output}", did_you_mean(output, outputs))
    return Named(stream, output or None)


def _file_of(workspace: Workspace, name: str, region: str | None) -> CheckedFile:
    known = known_names(workspace)
    files = [check_file(path, known) for path in kind_files(workspace.root)]
    streams = _by_name(files)
    if name not in streams:
        # Only now: it is a question to a cluster.
        for one in files:
            if one.template is not None and isinstance(one.example, Stream):
                streams |= _by_name(files_now(one, None, workspace, region))
    if name in streams:
        return streams[name]
    broken = [one for one in files if one.document.problems]
    for one in broken:
        if one.document.get("name") == name:
            # Whoever loads it reports its mistakes.
            return one
    advice = did_you_mean(name, streams) or "write one: headrace init makes an example"
    if broken:
        advice += f"; {counted(len(broken), 'file')} with mistakes: headrace validate names them"
    raise UsageError(f"the workspace has no stream {name}", advice)


def _by_name(files: Iterable[CheckedFile]) -> dict[str, CheckedFile]:
    return {one.config.name: one for one in files if isinstance(one.config, Stream)}
