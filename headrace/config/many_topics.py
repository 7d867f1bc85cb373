"""Makes one file for each topic that matches the pattern of a file for many topics.

It decides which topics those are, and which of them cannot be told apart. Nobody is asked.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.config.lake_table.file import LakeTable
from headrace.config.stream.file import Stream
from headrace.config.stream.sinks import TableSink
from headrace.config.written_topics import Writes, written_by
from headrace.errors import UsageError
from headrace.problems import shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from headrace.config.kind_files import CheckedFile, Template
    from headrace.config.yaml.document import KeyPath
    from headrace.config.yaml.placeholders import Placeholders


@dataclass(frozen=True, slots=True)
class Expansion:
    """All files of a workspace, those for many topics once for each topic.

    `empty` are files that no topic matches; `unknown` those whose cluster has not answered.
    """

    files: Sequence[CheckedFile]
    empty: Sequence[CheckedFile] = ()
    unknown: Sequence[CheckedFile] = ()


def expand(
    files: Sequence[CheckedFile],
    topics: Mapping[str, Collection[str] | None],
    region: str | None = None,
    check: Callable[[Template, Placeholders], CheckedFile] | None = None,
) -> Expansion:
    """Make a file of each topic that matches; `topics` are those of each cluster, None if not known.

    Whoever knows a topic's file from before may say how it is checked.
    """
    found: list[CheckedFile] = []
    empty: list[CheckedFile] = []
    unknown: list[CheckedFile] = []
    for one in files:
        template = one.template
        if template is None or one.document.problems:
            found.append(one)
            continue
        there = topics.get(template.cluster(region))
        if there is None:
            unknown.append(one)
            continue
        own = files_of(template, there, region, check)
        found += own
        if not own:
            empty.append(one)
    report_same(found)
    return Expansion(found, empty, unknown)


def files_of(
    template: Template,
    topics: Collection[str],
    region: str | None = None,
    check: Callable[[Template, Placeholders], CheckedFile] | None = None,
) -> list[CheckedFile]:
    """Return the file as it is for each topic that matches, in the order of their names."""
    cluster = template.cluster(region)
    own = Writes(template, cluster)
    matched = [
        placeholders
        for topic in sorted(topics)
        if (placeholders := template.match(topic)) is not None and not own.has(topic)
    ]
    files = [check(template, one) if check is not None else template.check(one) for one in matched]
    written = {topic for one in files for topic in written_by(one, cluster)}
    return [one for one in files if one.topic not in written]


def one_of(checked: CheckedFile, topic: str | None, region: str | None = None) -> CheckedFile:
    """Return a file as it is for the topic that a user names; for any other file, the file."""
    template, path = checked.template, shown_path(checked.document.path)
    if template is None:
        if topic is not None and not checked.document.problems:
            message = f"{path} is not about many topics: it has no for_each"
            raise UsageError(message, "leave out --topic")
        return checked
    if topic is None:
        raise UsageError(f"{path} is about many topics", "name one of them: --topic TOPIC")
    placeholders = template.match(topic)
    if placeholders is None:
        message = f"for_each in {path} does not match topic {topic}"
        raise UsageError(message, f"it matches names like {template.sample.topic}")
    if Writes(template, template.cluster(region)).has(topic):
        message = f"topic {topic} is written by the streams of {path}, so none of them reads it"
        raise UsageError(message, "name the topic that it comes from")
    return template.check(placeholders)


def clusters_of(files: Iterable[CheckedFile], region: str | None = None) -> set[str]:
    """Return the clusters whose topics have to be known."""
    return {one.template.cluster(region) for one in files if one.template is not None}


def report_same(files: Sequence[CheckedFile]) -> None:
    """Report topics that give the same name or table as another one, or as another file."""
    users: dict[tuple[str, str], list[tuple[CheckedFile, KeyPath]]] = defaultdict(list)
    for one in files:
        for what, name, path in _unique(one):
            users[what, name].append((one, path))
    for (what, name), all_of_it in users.items():
        for one, path in all_of_it:
            others = [other for other, _ in all_of_it if other is not one]
            if one.topic is not None and others:
                message = f"{what} {name} is also that of {_shown(others[0])}"
                one.document.report(path, message, "put more of the topic's name in it")


def _unique(file: CheckedFile) -> Iterator[tuple[str, str, KeyPath]]:
    """Give the names that no other file may have: what it is, the name, where it stands."""
    match file.config:
        case LakeTable() as config:
            yield "the lake table", config.name, ("name",)
            yield "the table", config.table.identifier, ("table", "table")
        case Stream() as config:
            yield "the stream", config.name, ("name",)
            for number, output in enumerate(config.outputs):
                if isinstance(output.sink, TableSink):
                    path = ("outputs", number, "sink", "table")
                    yield "the table", output.sink.identifier, path
        case _:
            pass


def _shown(file: CheckedFile) -> str:
    return f"topic {file.topic}" if file.topic else shown_path(file.document.path)
