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
    return not (
        _is_left_deep(node, node.operator) and _stay_in_order(node.operator, operands, constants)
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


def _is_left_deep(node: Node, operator: str) -> bool:
    """Whether the operands are put together from the left, none of them by a `try_` function."""
    while isinstance(node, Binary) and node.operator == operator:
        if len(_operands(node.right, operator)) > 1:
            return False
        node = node.left
    return not (isinstance(node, Call) and node.name == _TRIED[operator])


def _stay_in_order(operator: str, operands: list[Node], constants: list[Node]) -> bool:
    """Whether the constants are last, and the further one only makes the result larger."""
    if operands[-len(constants) :] != constants:
        return False
    least = 0 if operator == "+" else 1
    return len(constants) == 1 or all(
        isinstance(one, Literal) and isinstance(one.value, int) and one.value >= least
        for one in constants
    )


def _has_column(part: object) -> bool:
    if isinstance(part, Name):
        return True
    if isinstance(part, tuple):
        return any(map(_has_column, part))
    return is_dataclass(part) and any(_has_column(getattr(part, one.name)) for one in fields(part))
