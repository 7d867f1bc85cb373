"""Avro schemas as users have them: a file, JSON text, or the objects of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from headrace import proposed_files
from headrace.schema.avro_parse import Parser
from headrace.schema.avro_words import LOGICAL
from headrace.schema.model import (
    Array,
    Decimal,
    Enumeration,
    Field,
    Fixed,
    Many,
    Primitive,
    Record,
    Type,
)
from headrace.schema.rules import RESERVED, SchemaRefused, problems_of, refuse_if, short_name

if TYPE_CHECKING:
    from pathlib import Path


_TOO_DEEP: Final = "is nested too deep"


def load_avro(path: Path) -> Record:
    """Return the schema in that file; SchemaRefused has every problem of it."""
    try:
        text = proposed_files.read_text(path)
    except OSError as error:
        raise SchemaRefused(str(path), [f"cannot be read ({error.strerror})"]) from error
    except UnicodeDecodeError as error:
        raise SchemaRefused(str(path), [f"is not UTF-8 text ({error.reason})"]) from error
    return parse_avro(text, where=str(path))


def parse_avro(text_or_obj: object, where: str = "Avro schema") -> Record:
    """Return a stream's schema; SchemaRefused has every problem of it, as `path: reason`."""
    record, problems = _parse(text_or_obj, where)
    for field in record.fields:
        if field.name.casefold() in RESERVED:
            path = f"{short_name(record.name)}.{field.name}"
            problems.append(
                f"{path}: the name {field.name.casefold()} is reserved for headrace's own struct"
            )
    refuse_if(where, problems)
    return record


def stored_avro(text_or_obj: object, where: str) -> Record:
    """Return a schema that was rendered here, which may have the metadata struct."""
    record, problems = _parse(text_or_obj, where)
    refuse_if(where, problems)
    return record


def to_avro(record: Record) -> dict[str, object]:
    """Return the schema as Avro's JSON, whose parse is equal to `record`."""
    refuse_if(record.name, problems_of(record))
    return cast("dict[str, object]", _Renderer().rendered(record, ""))


def _parse(text_or_obj: object, where: str) -> tuple[Record, list[str]]:
    obj = text_or_obj
    if isinstance(text_or_obj, str | bytes):
        try:
            obj = json.loads(text_or_obj)
        except ValueError as error:
            raise SchemaRefused(where, [f"is not JSON ({error})"]) from error
        except RecursionError:
            raise SchemaRefused(where, [_TOO_DEEP]) from None
    parser = Parser()
    try:
        record = parser.top_level(obj)
        return record, [*parser.problems, *problems_of(record)]
    except RecursionError:
        raise SchemaRefused(where, [_TOO_DEEP]) from None


class _Renderer:
    """Renders one schema: a named type is written once, then referred to."""

    def __init__(self) -> None:
        self._written: set[str] = set()

    def rendered(self, node: Type, namespace: str) -> object:
        """Return a type as it stands within a namespace."""
        if isinstance(node, Primitive):
            underlying = LOGICAL.get(node)
            if underlying is None:
                return node.value
            return {"type": underlying.value, "logicalType": node.value}
        if isinstance(node, Many):
            items = self._slot(node.item, node.item_nullable, node.item_null_last, namespace)
            if isinstance(node, Array):
                return {"type": "array", "items": items}
            return {"type": "map", "values": items}
        return self._named(node, namespace)

    def _slot(self, node: Type, nullable: bool, null_last: bool, namespace: str) -> object:
        inner = self.rendered(node, namespace)
        if not nullable:
            return inner
        return [inner, "null"] if null_last else ["null", inner]

    def _named(self, node: Record | Enumeration | Fixed | Decimal, namespace: str) -> object:
        if isinstance(node, Decimal):
            numbers = {"logicalType": "decimal", "precision": node.precision, "scale": node.scale}
            if node.fixed is None:
                return {"type": "bytes", **numbers}
            definition = self._named(node.fixed, namespace)
            return {**definition, **numbers} if isinstance(definition, dict) else definition
        if node.name in self._written:
            return self._reference(node.name, namespace)
        self._written.add(node.name)
        own, _, short = node.name.rpartition(".")
        names: dict[str, object] = {"name": short}
        if own != namespace:
            names["namespace"] = own
        if node.aliases:
            names["aliases"] = list(node.aliases)
        return self._definition(node, names, own)

    def _definition(
        self, node: Record | Enumeration | Fixed, names: dict[str, object], namespace: str
    ) -> object:
        if isinstance(node, Fixed):
            logical = {"logicalType": "uuid"} if node.is_uuid else {}
            return {"type": "fixed", **names, "size": node.size, **logical}
        doc = {} if node.doc is None else {"doc": node.doc}
        if isinstance(node, Enumeration):
            default = {} if node.default is None else {"default": node.default}
            return {"type": "enum", **names, **doc, "symbols": list(node.symbols), **default}
        fields = [self._field(field, namespace) for field in node.fields]
        return {"type": "record", **names, **doc, "fields": fields}

    def _field(self, field: Field, namespace: str) -> dict[str, object]:
        rendered: dict[str, object] = {
            "name": field.name,
            "type": self._slot(field.type, field.nullable, field.null_last, namespace),
        }
        if field.doc is not None:
            rendered["doc"] = field.doc
        if field.default is not None:
            rendered["default"] = json.loads(field.default)
        if field.aliases:
            rendered["aliases"] = list(field.aliases)
        return rendered

    def _reference(self, name: str, namespace: str) -> str:
        own, _, short = name.rpartition(".")
        if own == namespace:
            return short
        # A name without a namespace means the enclosing one's first.
        if not own and f"{namespace}.{name}" in self._written:
            reason = f"is ambiguous with {namespace}.{name}; give it a namespace"
            raise SchemaRefused("Avro schema", [f"{name}: {reason}"])
        return name
