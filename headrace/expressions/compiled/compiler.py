"""From an expression to Python that means the same, or to the reason why not."""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType, MappingProxyType
from typing import TYPE_CHECKING, Final

from headrace.expressions.compiled.generator import Generator
from headrace.expressions.compiled.operators.coercion import BOOLEAN
from headrace.expressions.compiled.parser import parse
from headrace.expressions.compiled.runtime.errors import Undefined
from headrace.expressions.compiled.syntax import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headrace.expressions.compiled.fragment import Fragment
    from headrace.schema.model import Record, Type

__all__ = ["Compiled", "NotCompiled", "Undefined", "compile_expression", "compile_filter"]

_BUILTINS: Final = MappingProxyType(
    {"abs": abs, "float": float, "int": int, "len": len, "str": str}
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
        generator = Generator(schema)
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
    return Compiled(
        source,
        value.type,
        value.is_optional,
        _constants(code, generator.scope.constants),
        _metadata(code),
    )


def _constants(code: CodeType, known: Mapping[str, object]) -> Mapping[str, object]:
    there = {**_BUILTINS, **known}
    return MappingProxyType({name: there[name] for name in _names(code) if name in there})


def _metadata(code: CodeType) -> frozenset[str]:
    return frozenset(name[2:] for name in _names(code) if name.startswith("m_"))


def _names(code: CodeType) -> Iterator[str]:
    """Give every name that code looks up, in its lambdas too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
