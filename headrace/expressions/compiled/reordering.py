"""Sums and products of whole numbers whose constants Spark's optimizer puts together, at the end.

`a + 2147483647 + -2147483647` is `a + 0` to it, and does not overflow; `try_add(a, b) + 7` loses
its `try_`. Where the order can change what overflows, the expression is left to Spark.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Final

from headrace.expressions.compiled.syntax import Binary, Call, Literal, Name, Node

_TRIED: Final = {"+": "try_add", "*": "try_multiply"}


def is_reordered(node: Binary) -> bool:
    """Whether another order of the operands might give another value or another error."""
    if node.operator not in _TRIED:
        return False
    operands = _operands(node, node.operator)
    constants = [one for one in operands if not _has_column(one)]
    if len(operands) < 3 or not constants or len(constants) == len(operands):
        return False
    from_the_left = 1
    here: Node = node
    while isinstance(here, Binary) and here.operator == node.operator:
        from_the_left += 1
        here = here.left
    if from_the_left < len(operands) or operands[-len(constants) :] != constants:
        return True
    # Behind the first constant, another one only makes the result larger.
    least = 0 if node.operator == "+" else 1
    return len(constants) > 1 and not all(
        isinstance(one, Literal) and isinstance(one.value, int) and one.value >= least
        for one in constants
    )


def _operands(node: Node, operator: str) -> list[Node]:
    """Return what a chain of one operator puts together, from the left."""
    found: list[Node] = []
    ahead = [node]
    while ahead:
        here = ahead.pop()
        if isinstance(here, Binary) and here.operator == operator:
            ahead += [here.right, here.left]
        elif isinstance(here, Call) and here.name == _TRIED[operator]:
            ahead += reversed(here.arguments)
        else:
            found.append(here)
    return found


def _has_column(part: object) -> bool:
    if isinstance(part, Name):
        return True
    if isinstance(part, tuple):
        return any(map(_has_column, part))
    return is_dataclass(part) and any(_has_column(getattr(part, one.name)) for one in fields(part))
