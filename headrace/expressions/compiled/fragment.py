"""A compiled part of an expression, and how parts are put together: null stays null."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from headrace.expressions.compiled.syntax import Refused
from headrace.schema.annotations import carried
from headrace.schema.model import Array, Decimal, Fixed, Map, Primitive, Record, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


Kind: TypeAlias = Primitive | Fixed | Decimal | Array | Map | Record | None
NOTHING: Final = object()


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of an expression as Python source.

    `type` is None for a bare NULL. `fails` says that it may raise Undefined. `truth`, of a
    condition, is shorter source that is truthy exactly where the value is true. `literal` is the
    value where it is known. `nullable` is about what can happen; `declared` says that Spark's
    schema calls the value nullable all the same, as it does each quotient.
    """

    source: str
    type: Type | None
    nullable: bool
    fails: bool = False
    truth: str | None = None
    literal: Any = NOTHING
    declared: bool = False

    @property
    def is_optional(self) -> bool:
        """Whether a schema has to say that the value may be null."""
        return self.nullable or self.declared

    @property
    def kind(self) -> Kind:
        """What Spark knows of the type: an enum is a string to it, a fixed is bytes."""
        if self.type is None:
            return None
        bare = carried(self.type)
        return Primitive.BYTES if isinstance(bare, Fixed) else bare

    @property
    def kind_name(self) -> str:
        """What a user calls the kind."""
        return name_of(self.kind)

    @property
    def is_literal(self) -> bool:
        """Whether the value is known, and is no NULL."""
        return self.literal is not NOTHING and self.literal is not None

    @property
    def where_true(self) -> str:
        """Source that is truthy exactly where the condition is true."""
        return self.source if self.truth is None else self.truth


NULL: Final = Fragment("None", None, nullable=True, literal=None)


class Scope:
    """What one expression's source uses: helpers, constants and names of its own."""

    def __init__(self) -> None:
        self.constants: dict[str, object] = {}
        self._temporaries = 0
        # How many texts have been put together so far.
        self.joined = 0

    def temporary(self) -> str:
        """Return a name that the expression has not used."""
        self._temporaries += 1
        return f"t{self._temporaries}"

    def helper(self, function: Callable[..., object]) -> str:
        """Return the name that a function has in the source of every expression."""
        # A route puts the names of all its expressions together, and modules share some names.
        name = f"k_{function.__module__.rpartition('.')[2]}_{function.__name__}"
        if self.constants.setdefault(name, function) is not function:
            raise ValueError(f"two functions of the name {name}")
        return name

    def constant(self, value: object) -> str:
        """Return the name of a value: equal names are equal values in every expression."""
        shown = f"{value.flags} {value.pattern!r}" if isinstance(value, re.Pattern) else repr(value)
        said = f"{type(value).__qualname__} {shown}".encode()
        name = f"c_{hashlib.sha256(said).hexdigest()[:20]}"
        self.constants[name] = value
        return name

    def bound(self, source: str) -> tuple[str, str]:
        """Return source for the first use of a value, and for each use after it."""
        if source.isidentifier():
            return source, source
        name = self.temporary()
        return f"({name} := {source})", name


def literal_of(scope: Scope, value: object, type_: Type) -> Fragment:
    """Return a known value."""
    if isinstance(value, bool | int | str):
        source = f"({value!r})" if isinstance(value, int) and value < 0 else repr(value)
    else:
        source = scope.constant(value)
    return Fragment(source, type_, nullable=False, literal=value)


def lift(  # noqa: PLR0913 - what it may do is said by name
    scope: Scope,
    operands: Sequence[Fragment],
    type_: Type | None,
    build: Callable[..., str],
    *,
    fails: bool = False,
    nullable: bool = False,
    declared: bool = False,
    all_first: bool = False,
) -> Fragment:
    """Return the value that `build` makes of the operands, null where one of them is null.

    Operands are evaluated from the left up to the first null, as Spark does it; with `all_first`
    every one is. `nullable` says that the result may be null where no operand is, `declared`
    that Spark always says so.
    """
    if any(one.source == "None" for one in operands):
        # Spark's plan loses what is null for certain, and with it the errors of its operands.
        return Fragment("None", type_, nullable=True, literal=None)
    checks: list[str] = []
    names: list[str] = []
    for number, one in enumerate(operands):
        is_early = one.fails and (all_first or any(later.nullable for later in operands[number:]))
        if one.nullable or is_early:
            first, again = scope.bound(one.source)
            checks.append(f"{first} is None")
            names.append(again)
        else:
            names.append(one.source)
    made = build(*names)
    is_fallible = fails or any(one.fails for one in operands)
    is_declared = declared or any(one.is_optional for one in operands)
    if not checks:
        return Fragment(f"({made})", type_, nullable, is_fallible, declared=is_declared)
    if all_first and any(one.fails for one in operands):
        check = " | ".join(f"({one})" for one in checks)
    else:
        check = " or ".join(checks)
    is_null = nullable or any(one.nullable for one in operands)
    source = f"(None if {check} else {made})"
    return Fragment(source, type_, is_null, is_fallible, declared=is_declared)


def need(value: Fragment, kinds: Sequence[Kind], what: str) -> Fragment:
    """Return the value where it is of one of the kinds."""
    if value.kind not in kinds or value.kind is None:
        raise Refused(f"{what} of {value.kind_name}")
    return value


def name_of(kind: Kind) -> str:
    """Return what a user calls a kind."""
    if kind is None:
        return "NULL"
    return kind.value if isinstance(kind, Primitive) else type(kind).__name__.lower()
