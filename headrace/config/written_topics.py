"""The topics that the jobs of a file for many topics write, also for source topics that are gone.

If they were read again, there would be topics with longer and longer names without an end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from headrace.config.common.section import Section
from headrace.config.yaml.placeholders import TOPIC, Placeholders
from headrace.config.yaml.reader import FOR_EACH, read_document
from headrace.problems import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.config.kind_files import CheckedFile, Template

# Private characters of Unicode, which no file has: a placeholder's name stands between them.
_OPEN, _CLOSE = "\ue000", "\ue001"
MOST_PARTS: Final = 3
ROUNDS: Final = 3
MOST_STEPS: Final = 2_000
_MARK: Final = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")


def written_by(checked: CheckedFile, cluster: str) -> Iterator[str]:
    """Give the topics that a file's jobs write on that cluster, also with mistakes in it."""
    for place in _places(checked.file):
        if _is_on(place, cluster) and (topic := place.text("topic")):
            yield topic
    if not checked.file.mapping("hygiene", "quarantine"):
        yield f"{checked.topic}.quarantine"


def _is_on(place: Section, cluster: str) -> bool:
    named, known = place.text("cluster"), place.known
    return named is not None and known.main_name(named) == known.main_name(cluster)


def _places(file: Section) -> Iterator[Section]:
    """Give what names the topics that a file writes; of another stream, that is its source."""
    yield file.at("hygiene", "quarantine")
    for output in file.each("outputs"):
        sink = output.at("sink")
        named = _source_of(sink.at("stream")) if sink.text("type") == "stream" else None
        yield named or sink


def _source_of(named: Section) -> Section | None:
    path, root = named.find_file(), named.known.root
    if path is None:
        return None
    return Section(read_document(path, [root] if root else []), named.known).at("source")


@dataclass(slots=True)
class Writes:
    """The topics that a file's jobs write by its words, also for topics that are gone."""

    template: Template
    cluster: str
    _shapes: list[tuple[str, re.Pattern[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        example = self.template.match(self.template.sample.topic)
        for text in dict.fromkeys(self._texts()):
            marks = _MARK.findall(text)
            shape = re.compile("".join(_parts(text)))
            # A shape that the sources have, too, says nothing about a topic.
            is_told = TOPIC in marks or example is None or not shape.fullmatch(example.topic)
            if is_told:
                self._shapes.append((text, shape))

    def has(self, topic: str) -> bool:
        """Whether a topic that matches may be what the file's jobs write."""
        return any(self._is(topic, text, shape) for text, shape in self._shapes)

    def _is(self, topic: str, text: str, shape: re.Pattern[str]) -> bool:
        found = shape.fullmatch(topic)
        if found is None:
            return False
        if TOPIC not in shape.groupindex:
            return True
        source = self.template.match(found[TOPIC])
        if source is None:
            return False
        return _MARK.sub(lambda mark: source.values.get(mark[1]) or "", text) == topic

    def _texts(self) -> Iterator[str]:
        """Give the names of the topics that it writes on the cluster, placeholders marked."""
        names = {name: f"{_OPEN}{name}{_CLOSE}" for name in self.template.sample.values}
        marked = Placeholders(names[TOPIC], names, self.template.for_each.cluster)
        document = self.template.parsed.read(marked)
        file = Section(document, self.template.known)
        if not file.mapping("hygiene", "quarantine"):
            yield f"{names[TOPIC]}.quarantine"
        for place in _places(file):
            topic = place.text("topic") or ""
            # Two clusters with no address in common may be one: what has the whole name and more in
            # it is told by that, because it would be read, and written with more, without an end.
            is_longer = names[TOPIC] in topic and topic != names[TOPIC]
            if topic and (is_longer or _is_on(place, self.cluster)):
                yield topic


def _parts(text: str) -> Iterator[str]:
    """Give a regular expression for all texts that a text with marks may become."""
    end, is_first = 0, True
    for number, mark in enumerate(_MARK.finditer(text)):
        is_topic = mark[1] == TOPIC and is_first
        # Each further part of any length multiplies the ways through a name.
        if number < MOST_PARTS or is_topic:
            yield re.escape(text[end : mark.start()])
            yield f"(?P<{TOPIC}>.+)" if is_topic else ".+"
        is_first = is_first and not is_topic
        end = mark.end()
    yield re.escape(text[end:])


def check_circles(files: Sequence[CheckedFile]) -> None:
    """Report files for many topics that read what they write by way of each other, by examples."""
    found = [_Reader(one, one.template) for one in files if one.template is not None]
    for one in found if len(found) > 1 else ():
        way = _Search(found).way([one], [one.template.sample.topic])
        if way is not None:
            readers, names = way
            end = readers.index(one, 1)
            message = f"files for many topics read what they write: {' → '.join(names[: end + 1])}"
            others = dict.fromkeys(
                shown_path(other.checked.document.path) for other in readers[1:end]
            )
            advice = f"leave that out of the pattern, as with (?!…); see {', '.join(others)}"
            one.checked.document.report((FOR_EACH, "topics"), message, advice)


@dataclass(slots=True, eq=False)
class _Reader:
    """A file that reads a topic where its pattern matches."""

    checked: CheckedFile
    template: Template
    writes: Writes = field(init=False)
    _known: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.writes = Writes(self.template, self.template.for_each.cluster)

    def outputs(self, topic: str) -> list[str]:
        """Return what it writes on its own cluster for a topic; nothing where it does not read it."""
        if topic not in self._known:
            placeholders = self.template.match(topic)
            is_read = placeholders is not None and not self.writes.has(topic)
            cluster = self.template.for_each.cluster
            self._known[topic] = (
                list(written_by(self.template.check(placeholders), cluster))
                if placeholders is not None and is_read
                else []
            )
        return self._known[topic]


@dataclass(slots=True)
class _Search:
    """The way of a topic through files for many topics, in a number of steps that is bounded."""

    readers: Sequence[_Reader]
    steps: int = MOST_STEPS

    def way(self, path: list[_Reader], names: list[str]) -> tuple[list[_Reader], list[str]] | None:
        """Return a way on which the first file reads for the third time, None if there is none.

        Twice may be by chance: what comes then is left out as its own output. Three times is
        without an end.
        """
        if path.count(path[0]) == ROUNDS:
            return path, names
        for topic in path[-1].outputs(names[-1]):
            # The short way back first.
            for other in (path[0], *self.readers):
                self.steps -= 1
                is_possible = other is not path[-1] and path.count(other) < ROUNDS
                if self.steps < 0 or not is_possible or not _is_same(path[-1], other):
                    continue
                if other.outputs(topic):
                    found = self.way([*path, other], [*names, topic])
                    if found is not None:
                        return found
        return None


def _is_same(one: _Reader, other: _Reader) -> bool:
    known = one.template.known
    names = (one.template.for_each.cluster, other.template.for_each.cluster)
    return known.main_name(names[0]) == known.main_name(names[1])
