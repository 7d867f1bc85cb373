"""Generated source that reads Avro, or skips it: its lines, the objects they name, and shared steps.

The functions work on `buf`, `pos` and `end`. An IndexError or a struct.error in them means that
the bytes end too early; whatever else is wrong they raise as BadRecord.
"""

from __future__ import annotations

import contextlib
import decimal
import struct
from typing import TYPE_CHECKING, Any, Final

from headrace.floats import single
from headrace.records.avro.writer_schema import Fields, Leaf, Many, Symbols, Union, smallest
from headrace.records.codegen import function
from headrace.records.rows import BadRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.records.avro.writer_schema import Node
    from headrace.records.codegen import Names

ARGUMENTS: Final = ("buf", "pos", "end")
# Of a record. Items that take no bytes have no natural bound: three bytes could ask for a gigabyte
# of them.
MOST_EMPTY_ITEMS: Final = 65_536
EXACT: Final = decimal.Context(prec=60)

# Of each further byte of a number: where its bits go, and the sum of the top bits before it.
_STEPS: Final = tuple((7 * n, sum(128 << 7 * before for before in range(n))) for n in range(1, 10))
_END_OF_LONG: Final = 1 << 64
_FLOAT: Final = struct.Struct("<f")
_WIDTHS: Final = {"boolean": 1, "float": 4, "double": 8}


def varint(buf: bytes, pos: int, number: int) -> tuple[int, int]:
    """Return a number of several bytes, the first of which was read, and where it ends."""
    for shift, marks in _STEPS:
        byte = buf[pos]
        pos += 1
        number += byte << shift
        if byte < 128:
            number -= marks
            if number >= _END_OF_LONG:
                break
            return number, pos
    raise BadRecord("a number in it is longer than 64 bits")


GIVEN: Final[dict[str, object]] = {
    "varint": varint,
    "single": single,
    "unpack_float": _FLOAT.unpack_from,
    "unpack_double": struct.Struct("<d").unpack_from,
    "from_bytes": int.from_bytes,
    "Decimal": decimal.Decimal,
    "EXACT": EXACT,
    "BadRecord": BadRecord,
}


class Body:
    """The lines of one function."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.lines: list[str] = []
        self._depth = 0
        self._variables = 0

    def line(self, text: str) -> None:
        """Add a line."""
        self.lines.append("    " * self._depth + text)

    @contextlib.contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Put the lines that follow below a head."""
        self.line(head)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def variable(self) -> str:
        """Return a local name that is not used yet."""
        self._variables += 1
        return f"v{self._variables}"

    def refuse(self, reason: str) -> None:
        """End the record here."""
        self.line(f"raise BadRecord({self.names.name(reason)})")

    def refuse_if(self, condition: str, reason: str) -> None:
        """End the record where the condition holds."""
        with self.block(f"if {condition}:"):
            self.refuse(reason)

    def function(self, name: str) -> Callable[..., Any]:
        """Return the function with these lines."""
        return function(name, ARGUMENTS, self.lines, self.names.objects)


def read_unsigned(body: Body) -> str:
    """Read a number as it stands, its sign in the lowest bit; return its variable."""
    number = body.variable()
    body.line(f"{number} = buf[pos]")
    body.line("pos += 1")
    with body.block(f"if {number} > 127:"):
        body.line(f"{number}, pos = varint(buf, pos, {number})")
    return number


def each_branch(body: Body, union: Union, path: str) -> Iterator[Node]:
    """Read which branch of a union follows; the lines added for each stand in a block of its own."""
    branch = read_unsigned(body)
    for number, one in enumerate(union.branches):
        with body.block(f"{'elif' if number else 'if'} {branch} == {2 * number}:"):
            yield one
    with body.block("else:"):
        body.refuse(f"{path} has a type that is not in its union")


def read_long(body: Body, target: str) -> None:
    """Read a number into the target."""
    number = read_unsigned(body)
    body.line(f"{target} = ({number} >> 1) ^ -({number} & 1)")


def pass_over(body: Body, size: str, path: str) -> None:
    """Skip so many bytes, if there are so many."""
    body.line(f"pos += {size}")
    body.refuse_if("pos > end", f"{path} is longer than the value it is in")


def pass_over_counted(body: Body, path: str) -> str:
    """Skip bytes with their length before them; return the variable of their start."""
    number, start = read_unsigned(body), body.variable()
    body.refuse_if(f"{number} & 1", f"{path} has a length below zero")
    body.line(f"{start} = pos")
    pass_over(body, f"{number} >> 1", path)
    return start


class Skipper:
    """Makes the functions that skip the types of one writer's schema, without making values."""

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
