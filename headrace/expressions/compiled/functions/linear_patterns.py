"""Which regular expressions look at a text once, whatever is in it.

Python's engine tries one way after another: after `(a+)+b` that is every way to cut a row of a's.
What is let through is known to give up soon: there are few ways through what is bounded, and a
character that may come any number of times is followed by one that it cannot be.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Final

# Nothing else knows how Python reads a pattern.
c: Final[Any] = re._constants  # type: ignore[attr-defined]  # noqa: SLF001 - it has no other name
parser: Final[Any] = re._parser  # type: ignore[attr-defined]  # noqa: SLF001 - as above
compiler: Final[Any] = re._compiler  # type: ignore[attr-defined]  # noqa: SLF001 - as above
# The steps that take one character.
_CHARACTERS: Final = frozenset([c.LITERAL, c.NOT_LITERAL, c.IN, c.ANY])
_MOST_WAYS: Final = 100
_OPEN: Final = int(c.MAXREPEAT)
# What no class names stands for all others like it.
_OTHER: Final = "\U0010fffd"
_SOME: Final = "".join(map(chr, range(128))) + "\u0085\u2028\u2029" + _OTHER


class _NotLinear(Exception):
    """The pattern may look at a text again and again."""


@dataclass(frozen=True, slots=True)
class _Item:
    """One step of a sequence: how often, what characters it may begin with, how many ways it has."""

    least: int
    is_open: bool
    characters: frozenset[str]
    ways: int


def is_linear(pattern: str, *, whole: bool = False) -> bool:
    """Return whether a search takes time in proportion to the text; `whole`: a match of all of it."""
    tree = list(parser.parse(pattern))
    known = _SOME + "".join(character for character in pattern if not character.isascii())
    try:
        for branch in _branches(tree):
            _check(branch, frozenset(known), whole=whole)
    except _NotLinear:
        return False
    return True


def _branches(tree: list[Any]) -> list[list[Any]]:
    if len(tree) == 1 and tree[0][0] is c.BRANCH:
        return [list(one) for one in tree[0][1][1]]
    return [tree]


def _check(sequence: list[Any], known: frozenset[str], *, whole: bool) -> None:
    nodes = list(_flat(sequence))
    starts_at_the_start = whole or (bool(nodes) and nodes[0] == (c.AT, c.AT_BEGINNING_STRING))
    items = [_item(node, known) for node in nodes if node[0] is not c.AT]
    if math.prod(item.ways for item in items) > _MOST_WAYS:
        raise _NotLinear
    opened = [number for number, item in enumerate(items) if item.is_open]
    for number in opened[:-1]:
        # A character less of these is never followed by what has to follow.
        for following in items[number + 1 :]:
            if following.characters & items[number].characters:
                raise _NotLinear
            if following.least:
                break
    if starts_at_the_start or not opened or opened == [len(items) - 1] == [len(nodes) - 1]:
        return
    # A second start within what was looked through would look through it again.
    first = items[0]
    if first.least == 0 or any(first.characters & items[number].characters for number in opened):
        raise _NotLinear


def _flat(sequence: list[Any]) -> list[Any]:
    """Return the steps with those of groups among them; what only looks ahead or back takes nothing."""
    flat: list[Any] = []
    for kind, value in sequence:
        if kind is c.SUBPATTERN:
            flat += _flat(list(value[3]))
        elif kind in {c.ASSERT, c.ASSERT_NOT}:
            flat.append((c.AT, None))
        else:
            flat.append((kind, value))
    return flat


def _item(node: Any, known: frozenset[str]) -> _Item:  # noqa: ANN401 - a node of Python's own parser
    kind, value = node
    if kind in _CHARACTERS:
        return _Item(1, False, _signs(node, known), 1)
    if kind in {c.MAX_REPEAT, c.MIN_REPEAT}:
        least, most, inner = value
        parts = _flat(list(inner))
        one = _item(parts[0], known) if len(parts) == 1 else _bounded(parts, known)
        if int(most) == _OPEN:
            if len(parts) != 1 or parts[0][0] not in _CHARACTERS:
                raise _NotLinear
            return _Item(int(least), True, one.characters, 1)
        if one.is_open and int(most) > 1:
            raise _NotLinear
        ways = sum(
            min(one.ways, _MOST_WAYS) ** min(n, 11) for n in range(int(least), int(most) + 1)
        )
        return _Item(int(least) * one.least, one.is_open, one.characters, ways)
    if kind is not c.BRANCH:
        raise _NotLinear
    branches = [_bounded(_flat(list(one)), known) for one in value[1]]
    characters = frozenset[str]().union(*(one.characters for one in branches))
    return _Item(
        min(one.least for one in branches), False, characters, sum(one.ways for one in branches)
    )


def _bounded(nodes: list[Any], known: frozenset[str]) -> _Item:
    """Return a sequence as one step; nothing in it may come any number of times."""
    items = [_item(node, known) for node in nodes if node[0] is not c.AT]
    if any(item.is_open for item in items):
        raise _NotLinear
    least = 0
    characters: frozenset[str] = frozenset()
    for item in items:
        characters = characters if least else characters | item.characters
        least += item.least
    return _Item(min(least, 1), False, characters, math.prod(item.ways for item in items))


def _signs(node: Any, known: frozenset[str]) -> frozenset[str]:  # noqa: ANN401 - as above
    """Return the characters that a step of one character may be."""
    step = compiler.compile(parser.SubPattern(parser.State(), [node]))
    return frozenset(filter(step.match, known))
