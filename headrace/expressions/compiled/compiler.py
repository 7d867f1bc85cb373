"""From an expression to Python that means the same, or to the reason why not."""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType, MappingProxyType
from typing import TYPE_CHECKING, Final

from headrace.contract import METADATA, METADATA_RECORD
from headrace.expressions.compiled.fragment import NULL, Fragment, Scope, literal_of
from headrace.expressions.compiled.functions.dispatch import OPERATORS, call
from headrace.expressions.compiled.operators import containers
from headrace.expressions.compiled.operators.coercion import BOOLEAN, WHOLE
from headrace.expressions.compiled.parser import parse
from headrace.expressions.compiled.reordering import is_reordered
from headrace.expressions.compiled.runtime.errors import Undefined
from headrace.expressions.compiled.syntax import Binary, Call, Literal, Name, Node, Part, Refused
from headrace.records.rows import attribute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headrace.schema.model import Record, Type

__all__ = ["Compiled", "NotCompiled", "Undefined", "compile_expression", "compile_filter"]

_BUILTINS: Final = MappingProxyType(
    {"abs": abs, "float": float, "format": format, "int": int, "len": len, "str": str}
)


_AROUND: Final = "not " * 400 + "[" * 40, "]" * 40


@dataclass(frozen=True, slots=True)
class Compiled:
    """An expression as Python source over the record `r`.

    `constants` are the global names that the source uses; one name means the same in every
    expression. `metadata` are the fields of `__metadata__` that it reads, as `m_` and their name.
    """

    source: str
    type: Type
    nullable: bool
    constants: Mapping[str, object]
    metadata: frozenset[str]

    @property
    def reads(self) -> frozenset[str]:
        """Every attribute that it asks for, of the record or of anything else."""
        return frozenset(_names(compile(self.source, "<expression>", "eval")))


@dataclass(frozen=True, slots=True)
class NotCompiled:
    """An expression that Spark has to evaluate, and why, as a phrase for users."""

    reason: str


def compile_expression(text: str, schema: Record) -> Compiled | NotCompiled:
    """Compile a column of a projection."""
    return _compiled(text, schema, lambda value: value.source)


def compile_filter(text: str, schema: Record) -> Compiled | NotCompiled:
    """Compile a filter: its source is truthy exactly where the filter is true."""
    return _compiled(text, schema, _condition)


def _condition(value: Fragment) -> str:
    if value.kind is not BOOLEAN:
        raise Refused(f"a filter of {value.kind_name}")
    return value.where_true


def _compiled(
    text: str, schema: Record, source_of: Callable[[Fragment], str]
) -> Compiled | NotCompiled:
    try:
        generator = _Generator(schema)
        value = generator.value(parse(text))
        if value.type is None:
            return NotCompiled("a NULL of no type")
        source = source_of(value)
        code = compile(source, "<expression>", "eval")
        # Python's parser takes so many parentheses, and so deep a tree, and no more: there has to
        # be room for what stands around the expression in the function of a route.
        compile(f"{_AROUND[0]}{source}{_AROUND[1]}", "<expression>", "eval")
    except Refused as refused:
        return NotCompiled(refused.reason)
    except (RecursionError, MemoryError, SyntaxError):
        return NotCompiled("it is nested too deep")
    names = tuple(_names(code))
    known = {**_BUILTINS, **generator.scope.constants}
    return Compiled(
        source,
        value.type,
        value.is_optional,
        constants=MappingProxyType({name: known[name] for name in names if name in known}),
        metadata=frozenset(name[2:] for name in names if name.startswith("m_")),
    )


class _Generator:
    """The compilation of one expression over records of one schema."""

    def __init__(self, schema: Record) -> None:
        self.scope = Scope()
        self._schema = schema
        if schema.field(METADATA) is not None:
            raise Refused(f'a column "{METADATA}" of the stream itself')

    def value(self, node: Node) -> Fragment:
        match node:
            case Literal():
                return NULL if node.type is None else literal_of(self.scope, node.value, node.type)
            case Name():
                return self._column(node.name)
            case Part():
                return self._part(node)
            case Binary():
                join = OPERATORS[node.operator]
                found = join(self.scope, self.value(node.left), self.value(node.right))
                if found.kind in WHOLE and is_reordered(node):
                    raise Refused(f"{node.operator} of constants that Spark puts together")
                return found
            case Call():
                return call(node.name, self.scope, *map(self.value, node.arguments))

    def _column(self, name: str) -> Fragment:
        if name.lower() == METADATA:
            raise Refused(f"{METADATA} as a whole")
        number = containers.number_of(self._schema, name)
        field = self._schema.fields[number]
        return Fragment(f"r.{attribute(number)}", field.type, field.nullable)

    def _part(self, node: Part) -> Fragment:
        if not isinstance(node.of, Name) or node.of.name.lower() != METADATA:
            return containers.field(self.scope, self.value(node.of), node.name)
        field = METADATA_RECORD.fields[containers.number_of(METADATA_RECORD, node.name)]
        return Fragment(f"m_{field.name}", field.type, field.nullable)


def _names(code: CodeType) -> Iterator[str]:
    """Give every name that code looks up, in its lambdas too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
