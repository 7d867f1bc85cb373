"""What patterns mean and cost: LIKE by its definition, and whether a regular expression is linear.

The work of a regular expression is in C, where nobody can count it. The rules are stricter than need be, and easy to keep: what cannot be seen to be linear is written
with a possessive repeat (`*+`) or an atomic group.
"""

from __future__ import annotations

import re
from types import BuiltinMethodType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

# What stands beside a code in a parsed pattern: of another type for each of them.
_Argument: TypeAlias = Any

# A repeat that is bounded by less is a constant.
MOST_REPEATS: Final = 100
SEARCHES: Final = frozenset({"findall", "finditer", "search", "split", "sub", "subn"})
_BACKTRACKING: Final = ("MAX_REPEAT", "MIN_REPEAT")
_REPEATS: Final = (*_BACKTRACKING, "POSSESSIVE_REPEAT")


def problems_of(pattern: str, flags: int = 0, *, searches: bool) -> list[str]:
    """Return why a pattern may take more than linear time; `searches`: from each place in a text."""
    parsed = re._parser.parse(pattern, flags)  # type: ignore[attr-defined]  # noqa: SLF001 - it has no other name
    found = list(_of_sequence(list(parsed), then=[]))
    if searches and _unbounded_before_more(list(parsed)):
        found.append("it is searched for, and more follows an unbounded repeat")
    return found


def patterns_of(module: ModuleType, source: str) -> Iterator[tuple[str, re.Pattern[Any], bool]]:
    """Yield the names of a module's patterns, each with whether it is searched for."""
    for name, value in vars(module).items():
        if isinstance(value, re.Pattern):
            used = {str(one) for one in re.findall(rf"\b{name}\.(\w+)\(", source)}
            yield name, value, bool(used & SEARCHES)
        elif isinstance(value, BuiltinMethodType) and isinstance(value.__self__, re.Pattern):
            yield name, value.__self__, value.__name__ in SEARCHES


def _of_sequence(items: Sequence[Any], then: Sequence[Any]) -> Iterator[str]:
    """Yield the problems of items in sequence, after which come those of `then`."""
    for at, (code, argument) in enumerate(items):
        rest = [*items[at + 1 :], *then]
        inside = _inside(code, argument)
        for one in inside:
            yield from _of_sequence(one, rest)
        if _is_unbounded(code, argument):
            if any(_any_inside(one, _is_unbounded) for one in inside):
                yield "an unbounded repeat is within another"
            if str(code) in _BACKTRACKING:
                if any(_any_inside(one, _has_choices) for one in inside):
                    yield "an unbounded repeat, not possessive, repeats what may match in two ways"
                if _any_inside(rest, _is_unbounded):
                    yield "an unbounded repeat, not possessive, is followed by another"


def _inside(code: object, argument: _Argument) -> list[list[Any]]:
    """Return the sequences within one item."""
    match str(code):
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return [list(argument[2])]
        case "SUBPATTERN":
            return [list(argument[3])]
        case "BRANCH":
            return [list(one) for one in argument[1]]
        case "ATOMIC_GROUP":
            return [list(argument)]
        case "ASSERT" | "ASSERT_NOT":
            return [list(argument[1])]
        case "GROUPREF_EXISTS":
            return [list(one) for one in argument[1:] if one is not None]
    return []


def _any_inside(items: Sequence[Any], test: Callable[[object, _Argument], bool]) -> bool:
    return any(
        test(code, argument) or any(_any_inside(one, test) for one in _inside(code, argument))
        for code, argument in items
    )


def _is_unbounded(code: object, argument: _Argument) -> bool:
    # What refers back may be as long as what it refers to.
    return str(code) == "GROUPREF" or (str(code) in _REPEATS and argument[1] > MOST_REPEATS)


def _has_choices(code: object, argument: _Argument) -> bool:
    return str(code) == "BRANCH" or (str(code) in _BACKTRACKING and argument[0] != argument[1])


def _unbounded_before_more(items: Sequence[Any]) -> bool:
    return any(
        (_any_inside([one], _is_unbounded) and at + 1 < len(items))
        or any(_unbounded_before_more(inner) for inner in _inside(*one))
        for at, one in enumerate(items)
    )


def like(text: str, pattern: str) -> bool:
    """Answer as the definition of LIKE does, place by place."""
    ends = {0}
    for sign in pattern:
        if sign == "%":
            ends = set(range(min(ends), len(text) + 1)) if ends else ends
        else:
            ends = {at + 1 for at in ends if at < len(text) and sign in {"_", text[at]}}
    return len(text) in ends
