"""What must hold in a file for many topics, for an example of a topic and for each real one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pydantic_core import PydanticCustomError

from headrace.config.common.topic_pattern import TopicPattern
from headrace.config.yaml.placeholders import AS_NAME, TOPIC, Placeholders
from headrace.config.yaml.reader import FOR_EACH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.config.common.section import Section
    from headrace.config.yaml.document import Document
    from headrace.config.yaml.reader import ParsedFile

_NAME: Final = (re.compile(r"[a-z0-9][a-z0-9_-]{0,99}"), "a name of a-z, 0-9, _ and -")
_TABLE: Final = (re.compile(r"\w+", re.ASCII), "a name of letters, digits and _")


def placeholders_in(parsed: ParsedFile) -> Placeholders | None:
    """Return the placeholders of a file for many topics, by an example; None for any other file."""
    if not parsed.has(FOR_EACH):
        return None
    written = parsed.read_part(FOR_EACH)
    topics, cluster = (written.get(FOR_EACH, key) for key in ("topics", "cluster"))
    try:
        if not written.problems and isinstance(topics, str) and isinstance(cluster, str):
            return TopicPattern.parse(topics).sample(cluster)
    except PydanticCustomError:
        pass  # the model reports it
    return Placeholders(TOPIC, {}, is_sample=True, is_unknown=True)


def fill_source(document: Document) -> None:
    """Fill in cluster and topic of the source where they are left out: they are those of for_each."""
    source, placeholders = document.get("source"), document.placeholders
    if isinstance(source, dict) and placeholders is not None:
        source.setdefault("topic", placeholders.topic)
        if placeholders.cluster:
            source.setdefault("cluster", placeholders.cluster)


def check_for_each(file: Section) -> None:
    """Report what does not fit a file for many topics, and names that cannot be."""
    placeholders = file.document.placeholders
    if placeholders is None or placeholders.is_unknown:
        return
    file.check_cluster(FOR_EACH, "cluster")
    _check_source(file, placeholders)
    for section, (allowed, wanted) in _names(file):
        _check_name(section, allowed, wanted)
    if placeholders.is_sample:
        _check_differences(file, placeholders)


def _check_source(file: Section, placeholders: Placeholders) -> None:
    topic, cluster = file.at("source", "topic"), file.at("source", "cluster")
    if topic.value() != placeholders.topic:
        message = f"a file for many topics reads each of them, and not {topic.shown()}"
        topic.report(message, "write topic: ${topic}, or leave the key out")
    if cluster.value() != placeholders.cluster:
        message = f"for_each is about cluster {placeholders.cluster}, and not {cluster.shown()}"
        cluster.report(message, "name the same cluster, or leave the key out")
    for override in file.entries("overrides"):
        other = override.at("source", "topic")
        if other.value() is not None:
            message = "a deployment of a file for many topics cannot read another topic"
            other.report(message, "remove it; it may name another cluster", key=True)


def _names(file: Section) -> Iterator[tuple[Section, tuple[re.Pattern[str], str]]]:
    yield file.at("name"), _NAME
    for table in (file.at("table"), *(one.at("sink") for one in file.each("outputs"))):
        yield table.at("database"), _TABLE
        yield table.at("table"), _TABLE
    for output in file.each("outputs"):
        yield output.at("name"), _NAME


def _check_name(name: Section, allowed: re.Pattern[str], wanted: str) -> None:
    """Report a name that a topic does not make, and which placeholder would make one."""
    position = name.document.position(name.path)
    value = name.value()
    is_fine = not isinstance(value, str) or allowed.fullmatch(value)
    if is_fine or not position.varies or name.path in name.document.unusable:
        return
    placeholders = name.document.placeholders
    used = placeholders.used_in(position.raw or "") if placeholders else []
    better = [f"${{{one}{AS_NAME}}}" for one in used if not one.endswith(AS_NAME)]
    advice = f"write {' and '.join(better)}: it has _ for all other characters" if better else ""
    name.report(f'expected {wanted}, got "{value}" from {name.shown()}', advice)
    # It is said better here than by the model.
    name.document.unusable.add(name.path)


def _check_differences(file: Section, placeholders: Placeholders) -> None:
    """Report names that are the same for all topics; note those that are so for some."""
    named = [("name", [file.at("name")])]
    tables = [file.at("table"), *(one.at("sink") for one in file.each("outputs"))]
    named += [
        ("table", [table.at(key) for key in ("catalog", "database", "table")])
        for table in tables
        if table.value("table") is not None
    ]
    for what, sections in named:
        last = sections[-1]
        raw = [file.document.position(one.path).raw or "" for one in sections]
        used = [name for text in raw for name in placeholders.used_in(text)]
        if last.value() is None or last.path in file.document.unusable:
            continue
        if not used:
            message = f"all topics would have the {what} {last.shown()}"
            last.report(message, "put ${topic_} in it, or a group of the pattern")
        elif _pattern(file).leaves_out({_plain(one, placeholders) for one in used}):
            message = f"two topics may give the same {what}: {last.shown()} has only a part of them"
            advice = "such topics are not started; ${topic_} has all of the name"
            file.document.note(last.path, message, advice)


def _plain(name: str, placeholders: Placeholders) -> str:
    """Return the placeholder that another one is made of."""
    plain = name.removesuffix(AS_NAME)
    return plain if plain in placeholders.values else name


def _pattern(file: Section) -> TopicPattern:
    return TopicPattern.parse(file.text(FOR_EACH, "topics") or "")
