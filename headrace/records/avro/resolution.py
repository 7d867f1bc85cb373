"""Avro's schema resolution, done once for a writer's schema: what comes out is a function.

The rules are the specification's. Beyond them, what both schemas call a time is read in the
writer's unit, and times of different kinds are not read as each other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from headrace.records.avro.leaf import Incompatible, names_match, read_leaf, read_plain
from headrace.records.avro.source import (
    GIVEN,
    MOST_EMPTY_ITEMS,
    Body,
    Skipper,
    each_branch,
    read_unsigned,
)
from headrace.records.avro.writer_schema import (
    Fields,
    Leaf,
    Many,
    Symbols,
    Union,
    kind_of,
    smallest,
)
from headrace.records.codegen import Names
from headrace.records.rows import default_source, row_class
from headrace.schema.fit import partners, type_word
from headrace.schema.model import Array, Enumeration, Map, Record
from headrace.schema.rules import short_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.records.avro.writer_schema import Node
    from headrace.schema.model import Type

    # What is read: the type of the stream's value, and whether it may be null.
    _Slot: TypeAlias = tuple[Type, bool]

_NO_WORD = re.compile(r"\W")


class Resolver:
    """Makes the functions that read one writer's schema as one stream's."""

    def __init__(self) -> None:
        self._names = Names(GIVEN)
        self._skipper = Skipper(self._names)
        # How many items that take no bytes a record has had so far: arrays nest, so one count for
        # all of them. Each task reads with functions of its own, one record after the other.
        self._empty_items = [0]
        self._counts_empty_items = False
        # Several branches of a union may hold the same record: it is resolved once at a path.
        self._records: dict[tuple[int, str], Callable[..., Any]] = {}

    def reader(self, writer: Node, reader: Record) -> Callable[..., Any]:
        """Return a function of buf, pos and end that gives a row and its end.

        Incompatible says what keeps every such record from being read.
        """
        if isinstance(writer, Fields):
            read = self._record(writer, reader, "")
        else:
            body = Body(self._names)
            self._slot(body, writer, (reader, False), "row", short_name(reader.name))
            body.line("return row, pos")
            read = body.function("read_union")
        if not self._counts_empty_items:
            return read
        # The count of empty items is set back for each record.
        body = Body(self._names)
        body.line(f"{self._names.name(self._empty_items)}[0] = 0")
        body.line(f"return {self._names.name(read)}(buf, pos, end)")
        return body.function("read_counting")

    def _slot(self, body: Body, writer: Node, slot: _Slot, target: str, path: str) -> None:
        kind, nullable = slot
        if isinstance(writer, Union):
            self._union(body, writer, slot, target, path)
        elif isinstance(writer, Leaf) and writer.kind == "null":
            if not nullable:
                raise Incompatible(f"{path} is null")
            body.line(f"{target} = None")
        else:
            self._value(body, writer, kind, target, path)

    def _union(self, body: Body, writer: Union, slot: _Slot, target: str, path: str) -> None:
        found: list[str] = []
        for one in each_branch(body, writer, path):
            before = len(body.lines)
            try:
                self._slot(body, one, slot, target, path)
            except Incompatible as reason:
                # Only records that have this very type are none of the stream's.
                found.append(str(reason))
                del body.lines[before:]
                body.refuse(str(reason))
        if len(found) == len(writer.branches):
            raise Incompatible(found[0])

    def _value(self, body: Body, writer: Node, reader: Type, target: str, path: str) -> None:
        match writer, reader:
            case Fields(), Record():
                key = id(writer), path
                if key not in self._records:
                    self._records[key] = self._record(writer, reader, path)
                read = self._names.name(self._records[key])
                body.line(f"{target}, pos = {read}(buf, pos, end)")
            case Many(), (Array() | Map()) if writer.keyed == isinstance(reader, Map):
                read = self._names.name(self._many(writer, reader, path))
                # Most of what is empty is one byte, which is worth no call.
                with body.block("if buf[pos]:"):
                    body.line(f"{target}, pos = {read}(buf, pos, end)")
                with body.block("else:"):
                    body.line(f"{target} = {'[]' if isinstance(reader, Array) else '{}'}")
                    body.line("pos += 1")
            case Symbols(), Enumeration():
                self._enumeration(body, writer, reader, target, path)
            case Leaf(), _ if not isinstance(reader, Record | Array | Map | Enumeration):
                read_leaf(body, writer, reader, target, path)
            case _:
                name = f" {reader.name}" if isinstance(reader, Record | Enumeration) else ""
                raise Incompatible(f"{path} is {kind_of(writer)}, not {type_word(reader)}{name}")

    def _record(self, writer: Fields, reader: Record, path: str) -> Callable[..., Any]:
        if not names_match(writer.name, reader.name, reader.aliases):
            called = f"{path} is" if path else "it is"
            advice = "an alias in the stream's schema would let it through"
            raise Incompatible(f"{called} record {writer.name}, not {reader.name} ({advice})")
        body = Body(self._names)
        prefix = f"{path}." if path else ""
        wanted = partners([name for name, _ in writer.fields], reader)
        values: dict[str, str] = {}
        for name, node in writer.fields:
            field = wanted.get(name)
            if field is None:
                self._skipper.skip(body, node, f"{prefix}{name}")
                continue
            values[field.name] = target = body.variable()
            slot = field.type, field.nullable
            self._slot(body, node, slot, target, f"{prefix}{field.name}")
        for field in reader.fields:
            if field.name not in values:
                if field.default is None:
                    missing = "is not in it, and has no default in the stream's schema"
                    raise Incompatible(f"{prefix}{field.name} {missing}")
                values[field.name] = default_source(field, self._names)
        made = ", ".join(values[field.name] for field in reader.fields)
        body.line(f"return {self._names.name(row_class(reader))}({made}), pos")
        return body.function("read_" + _NO_WORD.sub("_", reader.name))

    def _enumeration(
        self, body: Body, writer: Symbols, reader: Enumeration, target: str, path: str
    ) -> None:
        if not names_match(writer.name, reader.name, reader.aliases):
            raise Incompatible(f"{path} is the enum {writer.name}, not {reader.name}")
        known = set(reader.symbols)
        read_as = tuple(one if one in known else reader.default for one in writer.symbols)
        number = read_unsigned(body)
        body.refuse_if(
            f"{number} & 1 or {number} > {2 * len(read_as) - 2}",
            f"{path} has a symbol that is not in its enum",
        )
        body.line(f"{target} = {self._names.name(read_as)}[{number} >> 1]")
        if None in read_as:
            body.refuse_if(
                f"{target} is None", f"{path} has a symbol that the stream's schema does not have"
            )

    def _many(self, writer: Many, reader: Array | Map, path: str) -> Callable[..., Any]:
        """Return what reads an array or a map: blocks of items, each with their count before."""
        body = Body(self._names)
        is_map = isinstance(reader, Map)
        body.line("items = {}" if is_map else "items = []")
        with body.block("while True:"):
            number = read_unsigned(body)
            with body.block(f"if {number} & 1:"):
                body.line(f"count = {number} + 1 >> 1")
                # Below zero: the block's length in bytes follows, for those who pass over it.
                read_unsigned(body)
            with body.block(f"elif {number}:"):
                body.line(f"count = {number} >> 1")
            with body.block("else:"):
                body.line("return items, pos")
            least = smallest(writer.item) + is_map
            size = "count" if least == 1 else f"count * {least}"
            body.refuse_if(
                f"{size} > end - pos" if least else self._too_many_empty(body),
                f"{path} has more items than the value has bytes for",
            )
            with body.block("for _ in range(count):"):
                self._item(body, writer, reader, path)
        return body.function("read_map" if is_map else "read_array")

    def _too_many_empty(self, body: Body) -> str:
        """Add the count of items that take no bytes; return the condition for too many of them."""
        self._counts_empty_items = True
        count = f"{self._names.name(self._empty_items)}[0]"
        body.line(f"{count} += count")
        return f"{count} > {MOST_EMPTY_ITEMS}"

    def _item(self, body: Body, writer: Many, reader: Array | Map, path: str) -> None:
        slot = reader.item, reader.item_nullable
        if isinstance(reader, Map):
            read_plain(body, "string", "key", f"{path}'s key", size=0)
            self._slot(body, writer.item, slot, "item", f"{path}{{}}")
            body.line("items[key] = item")
        else:
            self._slot(body, writer.item, slot, "item", f"{path}[]")
            body.line("items.append(item)")
