"""Generated source that skips what a stream does not read, without making values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.records.avro.source import (
    Body,
    each_branch,
    pass_over,
    pass_over_counted,
    read_long,
    read_unsigned,
)
from headrace.records.avro.writer_schema import Fields, Leaf, Many, Symbols, Union, smallest

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.records.avro.writer_schema import Node
    from headrace.records.codegen import Names

_WIDTHS = {"boolean": 1, "float": 4, "double": 8}


class Skipper:
    """Makes the functions that skip the types of one writer's schema."""

    def __init__(self, names: Names) -> None:
        self._names = names
        # A type may be within itself: a function is called by the list that will hold it.
        self._functions: dict[int, str] = {}

    def skip(self, body: Body, node: Node, path: str) -> None:
        """Add the lines that skip a value."""
        match node:
            case Symbols() | Leaf(kind="int" | "long"):
                read_unsigned(body)
            case Leaf(kind="string" | "bytes"):
                pass_over_counted(body, path)
            case Leaf():
                if size := node.size or _WIDTHS.get(node.kind, 0):
                    pass_over(body, str(size), path)
            case Union():
                for one in each_branch(body, node, path):
                    body.line("pass")
                    self.skip(body, one, path)
            case Fields() | Many():
                if smallest(node):
                    body.line(f"pos = {self._function(node, path)}[0](buf, pos, end)")

    def _function(self, node: Fields | Many, path: str) -> str:
        if id(node) in self._functions:
            return self._functions[id(node)]
        held: list[Callable[..., Any]] = []
        self._functions[id(node)] = name = self._names.name(held)
        body = Body(self._names)
        if isinstance(node, Many):
            self._many(body, node, path)
        else:
            for field, kind in node.fields:
                self.skip(body, kind, f"{path}.{field}")
        body.line("return pos")
        held.append(body.function("skip"))
        return name

    def _many(self, body: Body, node: Many, path: str) -> None:
        with body.block("while True:"):
            count = body.variable()
            read_long(body, count)
            with body.block(f"if {count} == 0:"):
                body.line("return pos")
            with body.block(f"if {count} < 0:"):
                # A block that says its length in bytes.
                pass_over_counted(body, path)
                body.line("continue")
            least = smallest(node.item) + node.keyed
            if least:
                body.refuse_if(f"{count} * {least} > end - pos", f"{path} has too many items")
                with body.block(f"for _ in range({count}):"):
                    if node.keyed:
                        pass_over_counted(body, path)
                    self.skip(body, node.item, path)
