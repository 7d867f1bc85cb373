"""What a workspace declares: each file's kind and name, what it reads, where its records go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fleet.text import columns
from headrace.application.select import selected
from headrace.config.app.file import App, DynamicSource, HybridSource, IcebergSource, KafkaTopics
from headrace.config.common.kafka_parts import KafkaSink
from headrace.config.lake_table.file import LakeTable
from headrace.config.stream.file import Stream
from headrace.config.stream.sinks import SearchSink, StreamSink, TableSink
from headrace.config.validate import checked_workspace
from headrace.problems import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from headrace.application.select import Concrete
    from headrace.config.kind_files import CheckedFile
    from headrace.config.stream.sinks import OutputSink
    from headrace.problems import Problem

NOTHING: Final = "the workspace declares nothing yet: add a file with `kind: stream`"


@dataclass(frozen=True, slots=True)
class Declared:
    """One file, or one topic of a file for many.

    Where it has problems, only what could be read of it is there. A file for many topics stands for
    itself where there is no topic, and its `note` says why.
    """

    kind: str
    name: str
    path: Path
    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    topic: str | None = None
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the facts for `-o json`."""
        return {
            "kind": self.kind,
            "name": self.name,
            "file": shown_path(self.path),
            "topic": self.topic,
            "source": list(self.sources),
            "target": list(self.targets),
            "ok": not self.problems,
            "problems": [one.as_dict() for one in self.problems],
            "note": self.note or None,
        }


@dataclass(frozen=True, slots=True)
class Declaration:
    """A whole workspace. `problems` are those of headrace.yaml."""

    root: Path
    files: Sequence[Declared]
    problems: Sequence[Problem]


def declaration(root: Path) -> Declaration:
    """Read all files of a workspace; clusters are asked for topics where a file is about many."""
    report, files = checked_workspace(root)
    found = [declared(one) for one in files if one.template is None]
    if len(found) < len(files):
        found += _of_many(root, files)
        found.sort(key=lambda one: one.path)
    elsewhere = {one.path for one in found}
    others = [one for one in report.problems if one.path not in elsewhere]
    # A problem may stand in a schema file: it is the problem of the file that names it.
    of_files = {problem for one in found for problem in one.problems}
    return Declaration(root, found, [one for one in others if one not in of_files])


def _of_many(root: Path, files: Sequence[CheckedFile]) -> Iterator[Declared]:
    """Give what each topic makes of the files that are about many."""
    # Whoever has no such file need not wait until a client of Kafka is loaded.
    from fleet.topics_now import expanded  # noqa: PLC0415 - as it says

    now = expanded(root, files)
    yield from (declared(one) for one in now.found.files if one.topic is not None)
    for one in now.found.empty:
        yield _alone(one, "no topic matches")
    for one in now.found.unknown:
        yield _alone(one, f"its topics are not known: {now.why(one)}")


def _alone(checked: CheckedFile, note: str) -> Declared:
    template, path = checked.template, checked.document.path
    if template is None:
        return declared(checked)
    pattern = f"kafka:{template.for_each.cluster}/{template.for_each.topics.text}"
    return Declared(template.kind, template.name, path, (pattern,), note=note)


def declared(checked: CheckedFile) -> Declared:
    """Return what a file declares, as far as it can be read."""
    config, document = checked.config, checked.document
    problems = tuple(sorted(set(document.problems)))
    match config:
        case Stream() | LakeTable() | App():
            reads, writes = tuple(sources_of(config)), tuple(targets_of(config))
            known = (config.kind, config.name, document.path, reads, writes)
            return Declared(*known, problems, checked.topic)
        case _:
            name = _written_name(checked)
            return Declared(
                checked.kind or "", name, document.path, (), (), problems, checked.topic
            )


def _written_name(checked: CheckedFile) -> str:
    """Return a broken file's name as it is written: what a variable stands for may be a secret."""
    document = checked.document
    if ("name",) not in document.values:
        return ""
    position, name = document.position(("name",)), document.get("name")
    is_open = position.varies and not position.secret and isinstance(name, str)
    return str(name) if is_open else position.raw or ""


def sources_of(config: Stream | LakeTable | App) -> Iterator[str]:
    """Give where a file reads."""
    if not isinstance(config, App):
        yield f"kafka:{config.source.cluster}/{config.source.topic}"
        return
    for source in selected(config, {}).values():
        yield from _locations(config, source)


def _locations(config: App, source: Concrete) -> Iterator[str]:
    match source:
        case HybridSource():
            parts = config.sources[source.past], config.sources[source.live]
            for part in parts:
                if not isinstance(part, DynamicSource):
                    yield from _locations(config, part)
        case KafkaTopics():
            yield from (f"kafka:{source.cluster}/{topic}" for topic in source.topics)
        case IcebergSource():
            yield f"iceberg:{source.identifier}"


def targets_of(config: Stream | LakeTable | App) -> Iterator[str]:
    """Give where its records go; of a stream, in the order of its outputs."""
    match config:
        case Stream():
            yield from (sink_location(output.sink) for output in config.outputs)
        case LakeTable():
            yield f"iceberg:{config.table.identifier}"
        case App():
            yield config.sink.location


def sink_location(sink: OutputSink) -> str:
    """Return where a person finds the records of an output."""
    match sink:
        case TableSink():
            return f"iceberg:{sink.identifier}"
        case SearchSink():
            return f"search:{sink.index}"
        case StreamSink():
            return f"stream:{sink.stream}"
        case KafkaSink():
            return f"kafka:{sink.cluster}/{sink.topic}"


def as_dict(found: Declaration) -> dict[str, Any]:
    """Return the facts for `-o json`."""
    return {
        "workspace": str(found.root),
        "declared": [one.as_dict() for one in found.files],
        "problems": [one.as_dict() for one in found.problems],
    }


def as_text(found: Declaration) -> str:
    """Return a line for each file, and the first problem of those that are broken."""
    rows = [
        (
            one.kind.replace("_", " ") or "?",
            one.name or "?",
            shown_path(one.path),
            ", ".join(one.sources) if not one.problems else "broken",
            one.note or ", ".join(one.targets),
        )
        for one in found.files
    ]
    broken = [str(one.problems[0]) for one in found.files if one.problems]
    listed = columns(("KIND", "NAME", "FILE", "READS", "WRITES"), rows) if rows else NOTHING
    problems = [*map(str, found.problems), *broken]
    return "\n".join([listed, *(["", *problems] if problems else [])])
