"""From a YAML file to a document: values, their positions, and what is wrong with the YAML itself."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from headrace.config.yaml.characters import source_index
from headrace.config.yaml.document import Document, Position
from headrace.config.yaml.expansion import expand
from headrace.config.yaml.nodes import NotReadable, compose, read_text
from headrace.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from headrace.config.yaml.document import KeyPath
    from headrace.config.yaml.nodes import Node
    from headrace.config.yaml.placeholders import Placeholders

_PREFIX = "tag:yaml.org,2002:"
_STR = f"{_PREFIX}str"
_MERGE = f"{_PREFIX}merge"
_TAGS = {
    f"{_PREFIX}{name}"
    for name in ("str", "int", "float", "bool", "null", "timestamp", "map", "seq", "value", "merge")
}
_INT = re.compile(r"[-+]?(?:0o[0-7]+|0x[0-9a-fA-F]+|[0-9]+(?:_[0-9]+)*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
# The key that makes a file one for many topics.
FOR_EACH = "for_each"
_MOST_NODES = 100_000
_DEEPEST = 60


class WrittenInt(int):
    """A whole number that keeps the text that it was written as."""

    text: str


class WrittenFloat(float):
    """A number that keeps the text that it was written as."""

    text: str


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


def read_document(path: Path, folders: Sequence[Path] = ()) -> Document:
    """Read a file; `folders` are where `${file:…}` looks, after the file's own folder."""
    return ParsedFile(path, folders).read()


class ParsedFile:
    """A file whose YAML is read once, and filled in as often as it is for another topic."""

    def __init__(self, path: Path, folders: Sequence[Path] = ()) -> None:
        self.path = path
        self._folders = (path.parent, *folders)
        self._source = ""
        self._root: Node | None = None
        self._problem: Problem | None = None
        try:
            self._source = read_text(path)
            self._root = compose(self._source)
        except NotReadable as why:
            self._problem = Problem(path, *why.place, why.message, why.suggestion)

    def has(self, key: str) -> bool:
        """Whether the file has a key at its top."""
        return self._node(key) is not None

    def read(self, placeholders: Placeholders | None = None) -> Document:
        """Return the file's values; with placeholders, as they are for one topic."""
        document = Document(self.path, self._source, placeholders=placeholders)
        if self._root is None:
            document.problems += [self._problem] if self._problem else []
        else:
            _Reader(document, os.environ, self._folders).fill(self._root)
        return document

    def read_part(self, key: str) -> Document:
        """Return what one key of the file holds."""
        document, node = Document(self.path, self._source), self._node(key)
        if node is not None:
            _Reader(document, os.environ, self._folders).fill(node, (key,))
        return document

    def _node(self, key: str) -> Node | None:
        root = self._root
        pairs = root.value if root is not None and root.id == "mapping" else []
        return next((value for name, value in pairs if str(name.value) == key), None)


class _Reader:
    """Turns nodes into values, noting positions and problems in the document."""

    def __init__(
        self, document: Document, environment: Mapping[str, str], folders: Sequence[Path]
    ) -> None:
        self._document = document
        self._environment = environment
        self._folders = folders
        self._open: list[Node] = []
        self._count = 0

    def fill(self, root: Node, path: KeyPath = ()) -> None:
        value = self._value(root, path)
        self._document.data = {str(path[0]): value} if path else value

    def _value(self, node: Node, path: KeyPath) -> object:
        index = node.start_mark.index
        self._document.values[path] = Position(index)
        self._count += 1
        if any(node is one for one in self._open):
            # An alias is the node itself, which begins elsewhere: only its key has a position here.
            self._refuse(path, "this alias refers to itself", "write it out", key=True)
            return None
        if self._count > _MOST_NODES or len(path) > _DEEPEST:
            if self._count <= _MOST_NODES + 1:
                self._refuse(
                    path,
                    "the aliases in this file expand to too much",
                    "use fewer aliases and levels",
                )
                self._count = _MOST_NODES + 1
            return None
        if str(node.tag) not in _TAGS:
            tag = str(node.tag).replace(_PREFIX, "!!")
            self._refuse(path, f"the tag {tag} is not allowed here", "remove it")
            return None
        if node.id == "scalar":
            return self._scalar(node, path)
        self._open.append(node)
        try:
            if node.id == "mapping":
                return self._mapping(node, path)
            items = node.value if node.id == "sequence" else []
            return [self._value(item, (*path, number)) for number, item in enumerate(items)]
        finally:
            self._open.pop()

    def _refuse(self, path: KeyPath, message: str, suggestion: str, *, key: bool = False) -> None:
        self._document.report(path, message, suggestion, key=key)
        self._document.unusable.add(path)

    def _mapping(self, node: Node, path: KeyPath) -> dict[str, object]:
        result: dict[str, object] = {}
        merged: list[Node] = []
        for key_node, value_node in node.value:
            if str(key_node.tag) == _MERGE:
                merged.append(value_node)
                continue
            key = self._key(key_node)
            if key is None:
                continue
            if key in result:
                line, _ = self._document.at(self._document.keys[(*path, key)].index)
                self._report_node(key_node, f'duplicate key "{key}"', f"it is also on line {line}")
                continue
            self._document.keys[(*path, key)] = Position(key_node.start_mark.index)
            result[key] = self._value(value_node, (*path, key))
        for value_node in merged:
            self._merge(value_node, path, result)
        return result

    def _key(self, node: Node) -> str | None:
        if node.id != "scalar":
            self._report_node(node, "a key must be a plain text", "write key: value")
            return None
        key = str(node.value)
        if "${" in key:
            self._report_node(node, "${…} is not filled in in a key", "write the key out")
        return key

    def _merge(self, node: Node, path: KeyPath, into: dict[str, object]) -> None:
        """Add what `<<:` brings; the mapping's own keys win, and earlier merges over later."""
        if any(node is one for one in self._open):
            self._report_node(node, "this alias refers to itself", "write the value out")
            return
        self._open.append(node)
        if node.id == "sequence":
            for item in node.value:
                self._merge(item, path, into)
        elif node.id == "mapping":
            for key_node, value_node in node.value:
                if str(key_node.tag) == _MERGE:
                    self._merge(value_node, path, into)
                    continue
                key = self._key(key_node)
                if key is None or key in into:
                    continue
                self._document.keys[(*path, key)] = Position(key_node.start_mark.index)
                into[key] = self._value(value_node, (*path, key))
        else:
            self._report_node(
                node, "<<: merges mappings, and this is not a mapping", "write <<: *anchor"
            )
        self._open.pop()

    def _scalar(self, node: Node, path: KeyPath) -> object:
        raw = str(node.value)
        # Which placeholders there are is what for_each says, so it has none.
        placeholders = None if path[:1] == (FOR_EACH,) else self._document.placeholders
        expanded = expand(raw, self._environment, self._folders, placeholders)
        filled = "${" in raw
        self._document.values[path] = Position(
            node.start_mark.index, raw, expanded.secret, filled, expanded.varies
        )
        for offset, fault in expanded.faults:
            index = source_index(self._document.source, node.start_mark.index, raw, offset)
            self._document.report_at(index, fault.message, fault.suggestion)
        if expanded.faults:
            self._document.unusable.add(path)
            return raw
        if expanded.varies:
            # A topic with the name 2026 is no number.
            return expanded.text
        is_plain = not node.style
        if not is_plain or (str(node.tag) == _STR and not filled):
            return expanded.text
        return plain_value(expanded.text, filled=filled)

    def _report_node(self, node: Node, message: str, suggestion: str) -> None:
        self._document.report_at(node.start_mark.index, message, suggestion)
