"""An expression as Spark's grammar reads it: nothing renamed, nothing simplified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import decimal

    from headrace.schema.model import Decimal, Primitive


class Refused(Exception):
    """What cannot be compiled, as a phrase for users."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a text, true, false or null, which has no type."""

    value: bool | int | float | str | decimal.Decimal | None
    type: Primitive | Decimal | None


@dataclass(frozen=True, slots=True)
class Name:
    """The first name of a column."""

    name: str


@dataclass(frozen=True, slots=True)
class Part:
    """`of.name`."""

    of: Node
    name: str


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator between two values, `and` and `or` among them."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A function, named in lower case; what else has a syntax of its own is a call too."""

    name: str
    arguments: tuple[Node, ...]


Node: TypeAlias = Literal | Name | Part | Binary | Call
