"""Any Avro schema that a producer may have written with, also with wide unions and recursion.

The model in `headrace.schema` is what a stream can hold; this is what its records may come in.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.schema.avro_words import (
    LOGICAL_ON,
    REFUSED_LOGICAL,
    full_name,
    is_integer,
    is_object,
    is_texts,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

PLAIN: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
# Each is a branch of one statement, and the compiler goes only so deep.
MOST_BRANCHES: Final = 500
# How few bytes each takes.
_SMALLEST: Final = {"null": 0, "float": 4, "double": 8}


class SchemaUnreadable(Exception):
    """A text that is no Avro schema; the reason in a sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A value without parts. `logical` is Avro's annotation; a `size` is a fixed's."""

    kind: str
    logical: str | None = None
    scale: int = 0
    name: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Symbols:
    """An enum."""

    name: str
    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Many:
    """An array, or a map by text."""

    item: Node
    keyed: bool


@dataclass(frozen=True, slots=True, eq=False)
class Union:
    """One of several."""

    branches: tuple[Node, ...]


@dataclass(slots=True, eq=False)
class Fields:
    """A record: its fields are filled in after its name is known, for it may hold itself."""

    name: str
    fields: tuple[tuple[str, Node], ...] = field(default=())
    # What `smallest` found. One that holds itself is never written in no bytes.
    least: int | None = None


Node: TypeAlias = Leaf | Symbols | Many | Union | Fields


def parse(text: str) -> Node:
    """Return the schema in that text."""
    try:
        return _Parser().node(json.loads(text), "")
    except (ValueError, RecursionError) as error:
        raise SchemaUnreadable(f"its text is no schema ({error})") from None


def kind_of(node: Node) -> str:
    """Return what a node is called in a message."""
    match node:
        case Leaf():
            return node.logical or node.kind
        case Symbols():
            return f"enum {node.name}"
        case Fields():
            return f"record {node.name}"
        case Many():
            return "map" if node.keyed else "array"
    return "union of " + " and ".join(kind_of(branch) for branch in node.branches)


def smallest(node: Node) -> int:
    """Return how few bytes a value takes; none at all where every value takes none."""
    match node:
        case Leaf():
            return node.size if node.kind == "fixed" else _SMALLEST.get(node.kind, 1)
        case Fields():
            if node.least is None:
                # While its fields are looked at, and where they come back to it.
                node.least = 1
                # More than one byte tells no more: a wide tree is not walked to its end.
                node.least = next((1 for _, one in node.fields if smallest(one)), 0)
            return node.least
    return 1


class _Parser:
    def __init__(self) -> None:
        self._named: dict[str, Node] = {}

    def node(self, obj: object, namespace: str) -> Node:
        if isinstance(obj, str):
            return Leaf(obj) if obj in PLAIN else self._reference(obj, namespace)
        if isinstance(obj, list) and obj:
            return self._union(obj, namespace)
        if not is_object(obj):
            raise SchemaUnreadable(f"its text is no schema (a type is not {obj!r})")
        kind = obj.get("type")
        if not isinstance(kind, str):
            return self.node(kind, namespace)
        if kind in {"array", "map"}:
            content = obj.get("items" if kind == "array" else "values")
            return Many(self.node(content, namespace), keyed=kind == "map")
        if kind in {"record", "error", "enum", "fixed"}:
            return self._definition(kind, obj, namespace)
        return (
            Leaf(kind, *_logical(kind, obj)) if kind in PLAIN else self._reference(kind, namespace)
        )

    def _union(self, branches: list[object], namespace: str) -> Node:
        if len(branches) > MOST_BRANCHES:
            raise SchemaUnreadable(f"it has a union of more than {MOST_BRANCHES} types")
        nodes = tuple(self.node(branch, namespace) for branch in branches)
        if any(isinstance(node, Union) for node in nodes):
            raise SchemaUnreadable("it has a union in a union")
        return Union(nodes)

    def _reference(self, name: str, namespace: str) -> Node:
        for known in (full_name(name, namespace), name):
            if known in self._named:
                return self._named[known]
        raise SchemaUnreadable(f"it has no type {name}")

    def _definition(self, kind: str, obj: Mapping[str, object], namespace: str) -> Node:
        name, own = obj.get("name"), obj.get("namespace")
        if not isinstance(name, str):
            raise SchemaUnreadable(f"it has {kind} without a name")
        full = full_name(name, own if isinstance(own, str) else namespace)
        if kind == "fixed":
            size = obj.get("size")
            if not is_integer(size) or size < 0:
                raise SchemaUnreadable(f"its fixed {full} has no size")
            self._named[full] = Leaf("fixed", *_logical(kind, obj), name=full, size=size)
        elif kind == "enum":
            symbols = obj.get("symbols")
            if not is_texts(symbols):
                raise SchemaUnreadable(f"its enum {full} has no symbols")
            self._named[full] = Symbols(full, tuple(symbols))
        else:
            self._named[full] = record = Fields(full)
            record.fields = tuple(self._fields(full, obj.get("fields")))
        return self._named[full]

    def _fields(self, full: str, fields: object) -> list[tuple[str, Node]]:
        if not isinstance(fields, list):
            raise SchemaUnreadable(f"its record {full} has no fields")
        found: list[tuple[str, Node]] = []
        for one in fields:
            name = one.get("name") if is_object(one) else None
            if not is_object(one) or not isinstance(name, str):
                raise SchemaUnreadable(f"its record {full} has a field without a name")
            found.append((name, self.node(one.get("type"), full.rpartition(".")[0])))
        return found


def _logical(kind: str, obj: Mapping[str, object]) -> tuple[str | None, int]:
    """Return the annotation and a decimal's scale; Avro says to ignore one on a foreign type."""
    logical, scale = obj.get("logicalType"), obj.get("scale", 0)
    if not isinstance(logical, str):
        return None, 0
    if logical == "decimal" and kind in {"bytes", "fixed"}:
        return logical, scale if is_integer(scale) else 0
    known = (kind, logical) in LOGICAL_ON or (kind, logical) in REFUSED_LOGICAL
    return (logical if known else None), 0
