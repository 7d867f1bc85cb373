"""Rules for every schema, wherever it comes from, and the error for a schema that breaks one."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from headrace.errors import Terminal
from headrace.schema.defaults import problem_of
from headrace.schema.model import Array, Decimal, Enumeration, Fixed, Map, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.schema.model import Type

# Columns that headrace adds to a stream's own, in flight and in tables.
METADATA: Final = "__metadata__"
RECORD: Final = "__record__"
RESERVED: Final = (METADATA, RECORD)

MAX_PRECISION = 38
# With a sign, 38 digits take 16 bytes.
BYTES_OF_ANY_DECIMAL = 16
# What Arrow, and with it a column, counts the bytes of a value in.
LARGEST_FIXED = 2**31 - 1
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME_RULE = "a name has letters, digits and _, and no digit first"


class SchemaRefused(Terminal):
    """A schema that one of our systems cannot hold, or that is not valid Avro.

    `problems` has all of them, each as `path: reason`; `where` says whose schema it is.
    """

    def __init__(self, where: str, problems: Iterable[str]) -> None:
        self.where = where
        self.problems = tuple(problems)
        lines = "\n  ".join(self.problems)
        super().__init__(
            f"{where}: {lines}"
            if len(self.problems) == 1
            else f"{where}: {len(self.problems)} problems\n  {lines}"
        )


def refuse_if(where: str, problems: Iterable[str]) -> None:
    """Raise SchemaRefused with all the problems, if there are any."""
    found = tuple(dict.fromkeys(problems))
    if found:
        raise SchemaRefused(where, found)


def problems_of(record: Record) -> list[str]:
    """Return every broken rule as `path: reason`, in the order of the fields."""
    named: dict[str, Type] = {}
    problems: list[str] = []
    for path, node in walk(short_name(record.name), record):
        problems += [f"{path}: {reason}" for reason in (*_of_node(node), *_of_names(node, named))]
        problems += _of_defaults(path, node)
    return problems


def walk(path: str, node: Type) -> Iterator[tuple[str, Type]]:
    """Yield a type and all the types within it, each with its path."""
    yield path, node
    if isinstance(node, Record):
        for field in node.fields:
            yield from walk(f"{path}.{field.name}", field.type)
    elif isinstance(node, Array):
        yield from walk(f"{path}[]", node.item)
    elif isinstance(node, Map):
        yield from walk(f"{path}{{}}", node.item)


def short_name(full_name: str) -> str:
    """Return a full name without its namespace."""
    return full_name.rpartition(".")[2]


def named_type(node: Type) -> tuple[str, tuple[str, ...]] | None:
    """Return the full name and aliases under which a type is defined, None if it has no name."""
    if isinstance(node, Decimal):
        return named_type(node.fixed) if node.fixed else None
    return (node.name, node.aliases) if isinstance(node, Record | Enumeration | Fixed) else None


def largest_precision(size: int) -> int:
    """Return how many decimal digits always fit into `size` bytes with a sign.

    Of more than any decimal has, the exact number is of no use, and takes long to find.
    """
    size = min(size, BYTES_OF_ANY_DECIMAL)
    return len(str(2 ** (8 * size - 1) - 1)) - 1 if size > 0 else 0


def _of_node(node: Type) -> Iterable[str]:
    if isinstance(node, Record):
        return _of_record(node)
    if isinstance(node, Enumeration):
        return _of_enumeration(node)
    if isinstance(node, Decimal):
        return _of_decimal(node)
    if isinstance(node, Fixed):
        return _of_fixed(node)
    return ()


def _of_names(node: Type, named: dict[str, Type]) -> Iterator[str]:
    name_and_aliases = named_type(node)
    if name_and_aliases is None:
        return
    name, aliases = name_and_aliases
    for full_name in (name, *aliases):
        if not all(_NAME.fullmatch(part) for part in full_name.split(".")):
            yield f"{full_name!r} is not a valid name ({_NAME_RULE})"
    if named.setdefault(name, node) != node:
        yield f"the name {name} is used for two different types"


def _of_record(record: Record) -> Iterator[str]:
    if not record.fields:
        yield "a record without fields cannot be a column"
    folded: dict[str, str] = {}
    for field in record.fields:
        for name in (field.name, *field.aliases):
            if not _NAME.fullmatch(name):
                yield f"{name!r} is not a valid field name ({_NAME_RULE})"
        first = folded.get(field.name.casefold())
        if first is None:
            folded[field.name.casefold()] = field.name
        elif first == field.name:
            yield f"there are two fields {first}"
        else:
            yield f"the fields {first} and {field.name} differ only in case, which Spark ignores"


def _of_defaults(path: str, node: Type) -> Iterator[str]:
    for field in node.fields if isinstance(node, Record) else ():
        problem = problem_of(field)
        if problem is not None:
            yield f"{path}.{field.name}: {problem}"


def _of_enumeration(enumeration: Enumeration) -> Iterator[str]:
    symbols = enumeration.symbols
    if not symbols:
        yield "an enum without symbols can have no value"
    for symbol, times in Counter(symbols).items():
        if not _NAME.fullmatch(symbol):
            yield f"{symbol!r} is not a valid enum symbol ({_NAME_RULE})"
        if times > 1:
            yield f"the enum has the symbol {symbol} twice"
    if enumeration.default is not None and enumeration.default not in symbols:
        yield f"the enum's default {enumeration.default} is not one of its symbols"


def _of_decimal(decimal: Decimal) -> Iterator[str]:
    precision, scale = decimal.precision, decimal.scale
    if not 1 <= precision <= MAX_PRECISION:
        yield f"a decimal of precision {precision} is not supported (1 to {MAX_PRECISION})"
    if not 0 <= scale <= precision:
        yield f"a decimal's scale is between 0 and its precision {precision}, not {scale}"
    if decimal.fixed is None:
        return
    yield from _of_fixed(decimal.fixed)
    if precision > largest_precision(decimal.fixed.size):
        yield f"{precision} digits do not fit into a fixed of {decimal.fixed.size} bytes"


def _of_fixed(fixed: Fixed) -> Iterator[str]:
    if fixed.size < 1:
        yield f"a fixed of {fixed.size} bytes cannot hold a value"
    if fixed.size > LARGEST_FIXED:
        yield f"a fixed of {fixed.size} bytes: at most {LARGEST_FIXED:,} are supported"
    if fixed.is_uuid and fixed.size != 16:
        yield f"a uuid has 16 bytes, not {fixed.size}"
