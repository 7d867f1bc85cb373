"""A YAML file as plain values, with the place of each key and value."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from headrace.config.expansion import expand
from headrace.config.offsets import source_index
from headrace.config.problems import Problem
from headrace.config.yaml_text import Lines, NotReadable, compose, read_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

KeyPath: TypeAlias = tuple[str | int, ...]

_INT = re.compile(r"[-+]?(?:0o[0-7]+|0x[0-9a-fA-F]+|[0-9]+(?:_[0-9]+)*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null")}
_TAGS |= {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}
_TAGS |= {"tag:yaml.org,2002:value", "tag:yaml.org,2002:merge"}
_STR = "tag:yaml.org,2002:str"
_MOST_NODES = 100_000
_DEEPEST = 60


class WrittenInt(int):
    """A whole number that keeps the text that it was written as."""

    text: str


class WrittenFloat(float):
    """A number that keeps the text that it was written as."""

    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a key or value begins. `raw` is a scalar's text before anything was filled in."""

    index: int
    raw: str | None = None
    secret: bool = False
    filled: bool = False


@dataclass(slots=True)
class Document:
    """One file. `data` is None where it could not be read; `problems` says why."""

    path: Path
    source: str = ""
    data: object = None
    values: dict[KeyPath, Place] = field(default_factory=dict)
    keys: dict[KeyPath, Place] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unusable: set[KeyPath] = field(default_factory=set)
    _lines: Lines | None = None

    def at(self, index: int) -> tuple[int, int]:
        """Return line and column of an index into the source."""
        if self._lines is None:
            self._lines = Lines(self.source)
        return self._lines.place(index)

    def report(
        self,
        path: KeyPath,
        message: str,
        suggestion: str = "",
        *,
        key: bool = False,
        offset: int = 0,
    ) -> None:
        """Add a problem at a value (at its key with `key`), or at a character of its text."""
        place = self.place(path, key=key)
        index = place.index
        if offset and place.raw is not None and not place.filled:
            index = source_index(self.source, place.index, place.raw, offset)
        line, column = self.at(index)
        self.problems.append(Problem(self.path, line, column, message, suggestion))

    def place(self, path: KeyPath, *, key: bool = False) -> Place:
        """Return the nearest place that the file has for a path."""
        first, second = (self.keys, self.values) if key else (self.values, self.keys)
        for end in range(len(path), -1, -1):
            found = first.get(path[:end]) or second.get(path[:end])
            if found is not None:
                return found
        return Place(0)

    def get(self, *path: str | int) -> object:
        """Return the value at a path, None where there is none."""
        here: object = self.data
        for part in path:
            if isinstance(here, dict) or (
                isinstance(here, list) and isinstance(part, int) and part < len(here)
            ):
                here = here.get(part) if isinstance(here, dict) else here[int(part)]
            else:
                return None
        return here


def read_document(path: Path, folders: Sequence[Path] = ()) -> Document:
    """Read a file; `folders` are where `${file:…}` looks, after the file's own folder."""
    document = Document(path)
    try:
        document.source = read_text(path)
        root = compose(path, document.source)
    except NotReadable as problem:
        document.problems.append(problem.problem)
        return document
    _Builder(document, os.environ, (path.parent, *folders)).fill(root)
    return document


class _Builder:
    """Turns nodes into values, noting places and problems in the document."""

    def __init__(
        self, document: Document, environment: Mapping[str, str], folders: Sequence[Path]
    ) -> None:
        self._document = document
        self._environment = environment
        self._folders = folders
        self._open: list[Node] = []
        self._count = 0

    def fill(self, root: Node) -> None:
        self._document.data = self._value(root, ())

    def _value(self, node: Node, path: KeyPath) -> object:
        index = node.start_mark.index
        self._document.values[path] = Place(index)
        self._count += 1
        if any(node is one for one in self._open):
            return self._refuse(path, "this alias leads back to itself", "write the value out")
        if self._count > _MOST_NODES or len(path) > _DEEPEST:
            if self._count <= _MOST_NODES + 1:
                self._refuse(path, "more than this file can mean", "use fewer aliases and levels")
                self._count = _MOST_NODES + 1
            return None
        if str(node.tag) not in _TAGS:
            return self._refuse(path, f"the tag {_shown_tag(node)} is not used here", "remove it")
        if isinstance(node, ScalarNode):
            return self._scalar(node, path)
        self._open.append(node)
        try:
            if isinstance(node, MappingNode):
                return self._mapping(node, path)
            items = node.value if isinstance(node, SequenceNode) else []
            return [self._value(item, (*path, number)) for number, item in enumerate(items)]
        finally:
            self._open.pop()

    def _refuse(self, path: KeyPath, message: str, suggestion: str) -> None:
        self._document.report(path, message, suggestion)
        self._document.unusable.add(path)

    def _mapping(self, node: MappingNode, path: KeyPath) -> dict[str, object]:
        result: dict[str, object] = {}
        merged: list[tuple[Node, KeyPath]] = []
        for key_node, value_node in node.value:
            if str(key_node.tag) == "tag:yaml.org,2002:merge":
                merged.append((value_node, path))
                continue
            key = self._key(key_node, path)
            if key is None:
                continue
            if key in result:
                line, _ = self._document.at(self._document.keys[(*path, key)].index)
                self._report_node(key_node, f'duplicate key "{key}"', f"it is also on line {line}")
                continue
            self._document.keys[(*path, key)] = Place(key_node.start_mark.index)
            result[key] = self._value(value_node, (*path, key))
        for value_node, where in merged:
            self._merge(value_node, where, result)
        return result

    def _key(self, node: Node, path: KeyPath) -> str | None:
        if not isinstance(node, ScalarNode):
            self._report_node(node, "a key must be a plain word", "write key: value")
            return None
        key = str(node.value)
        if "${" in key:
            self._report_node(node, "${…} is not filled in in a key", "write the key out")
        return key

    def _merge(self, node: Node, path: KeyPath, into: dict[str, object]) -> None:
        """Add what `<<:` brings; the mapping's own keys win, and earlier merges over later."""
        if any(node is one for one in self._open):
            self._report_node(node, "this alias leads back to itself", "write the value out")
            return
        self._open.append(node)
        if isinstance(node, SequenceNode):
            for item in node.value:
                self._merge(item, path, into)
        elif isinstance(node, MappingNode):
            for key_node, value_node in node.value:
                if str(key_node.tag) == "tag:yaml.org,2002:merge":
                    self._merge(value_node, path, into)
                    continue
                key = self._key(key_node, path)
                if key is None or key in into:
                    continue
                self._document.keys[(*path, key)] = Place(key_node.start_mark.index)
                into[key] = self._value(value_node, (*path, key))
        else:
            self._report_node(node, "<<: merges mappings, and this is none", "write <<: *anchor")
        self._open.pop()

    def _scalar(self, node: ScalarNode, path: KeyPath) -> object:
        raw = str(node.value)
        expanded = expand(raw, self._environment, self._folders)
        filled = "${" in raw
        self._document.values[path] = Place(node.start_mark.index, raw, expanded.secret, filled)
        for fault in expanded.faults:
            index = source_index(self._document.source, node.start_mark.index, raw, fault.offset)
            line, column = self._document.at(index)
            self._document.problems.append(
                Problem(self._document.path, line, column, fault.message, fault.suggestion)
            )
        if expanded.faults:
            self._document.unusable.add(path)
            return raw
        is_plain = node.style is None
        if not is_plain or (str(node.tag) == _STR and not filled):
            return expanded.text
        return plain_value(expanded.text, filled=filled)

    def _report_node(self, node: Node, message: str, suggestion: str) -> None:
        line, column = self._document.at(node.start_mark.index)
        self._document.problems.append(
            Problem(self._document.path, line, column, message, suggestion)
        )


def plain_value(text: str, *, filled: bool) -> object:
    """Return what a plain scalar means: YAML 1.2's numbers, `true`, `false` and nothing else.

    A password that happens to read `null` or `True` must arrive as it is, so a text from outside
    is never null, and only the lower-case words are booleans.
    """
    if text in {"", "~", "null", "Null", "NULL"} and not filled:
        return None
    if text in {"true", "false"}:
        return text == "true"
    if _INT.fullmatch(text) and len(text) < 1000:
        whole = WrittenInt(text, 0 if text.lstrip("+-")[:2] in {"0o", "0x"} else 10)
        whole.text = text
        return whole
    if _FLOAT.fullmatch(text):
        number = WrittenFloat(text)
        number.text = text
        return number
    return text


def _shown_tag(node: Node) -> str:
    return str(node.tag).replace("tag:yaml.org,2002:", "!!")
