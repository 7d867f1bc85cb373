"""What the parsed tree of an expression may hold: known columns, and nothing that queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headrace.expressions.columns import ITEM, Missing
from headrace.expressions.problem import ExpressionProblem
from headrace.schema.model import Primitive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.expressions.columns import Columns

_QUERIES = (
    exp.Query,
    exp.Table,
    exp.Values,
    exp.From,
    exp.Lateral,
    exp.TableSample,
    exp.DDL,
    exp.DML,
    exp.Command,
    exp.Semicolon,
)
_WINDOWS = (exp.Window, exp.WithinGroup, exp.Filter, exp.Order)
_PLACEHOLDERS = (exp.Parameter, exp.SessionParameter, exp.Placeholder)
_NOT_BOOLEAN = (
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.Div,
    exp.Mod,
    exp.IntDiv,
    exp.Neg,
    exp.DPipe,
    exp.Concat,
    exp.Literal,
    exp.Array,
    exp.Struct,
    exp.Tuple,
    exp.Map,
    exp.Interval,
    exp.HexString,
    exp.RawString,
)


def offset_of(node: exp.Expr) -> int:
    """Return the offset of the first identifier at or below a node, 0 where none has one."""
    starts = [
        int(one.meta["start"]) for one in node.find_all(exp.Identifier) if "start" in one.meta
    ]
    return min(starts, default=0)


def forbidden(tree: exp.Expr) -> Iterator[ExpressionProblem]:
    """Give what makes more of a tree than one scalar expression."""
    for node in tree.walk():
        if isinstance(node, _QUERIES):
            message = "a query inside an expression, which sees one record at a time"
            advice = "join and select in an application (kind: app)"
        elif isinstance(node, _WINDOWS):
            message = "a window needs several records, and an expression sees one at a time"
            advice = "use an application (kind: app)"
        elif isinstance(node, _PLACEHOLDERS):
            message, advice = "a placeholder has no value here", "write the value itself"
        elif isinstance(node, exp.Star):
            message, advice = "* stands only as a whole item of project", "name the columns"
        elif isinstance(node, exp.Aliases | exp.Hint | exp.Distinct):
            message, advice = "this part of SQL belongs to queries", "write one expression"
        elif isinstance(node, exp.Alias) and not isinstance(node.parent, exp.Func):
            message, advice = "a name for a part of the expression", "name the whole with AS"
        else:
            continue
        yield ExpressionProblem(message, advice, offset_of(node))
        return


def unknown_columns(tree: exp.Expr, columns: Columns) -> Iterator[ExpressionProblem]:
    """Give each column of the tree that does not exist."""
    for node in tree.find_all(exp.Column):
        top: exp.Expr = node
        while isinstance(top.parent, exp.Dot | exp.Bracket) and top.parent.this is top:
            top = top.parent
        steps = _steps(top)
        if steps is None or not steps or _is_lambda_variable(node, steps[0][0]):
            continue
        found = columns.find([name for name, _ in steps])
        if isinstance(found, Missing):
            offset = steps[found.part][1]
            yield ExpressionProblem(found.message, found.suggestion or None, offset)


def _steps(node: exp.Expr) -> list[tuple[str, int]] | None:
    """Return names and offsets of `a.b[0].c`, None where it is no way to a column."""
    after: list[tuple[str, int]] = []
    here = node
    while isinstance(here, exp.Dot | exp.Bracket):
        if isinstance(here, exp.Bracket):
            after.append((ITEM, offset_of(here)))
        elif isinstance(here.expression, exp.Identifier):
            after.append(_step(here.expression))
        else:
            after.clear()  # what follows belongs to a value that is no column
        here = here.this
    if not isinstance(here, exp.Column) or isinstance(here.this, exp.Star):
        return None
    return [*(_step(part) for part in here.parts), *reversed(after)]


def _step(identifier: exp.Expr) -> tuple[str, int]:
    return identifier.name, int(identifier.meta.get("start", 0))


def _is_lambda_variable(node: exp.Expr, name: str) -> bool:
    above = node.parent
    while above is not None:
        if isinstance(above, exp.Lambda):
            names = {one.name.casefold() for one in above.expressions}
            if name.casefold() in names:
                return True
        above = above.parent
    return False


def not_boolean(tree: exp.Expr, columns: Columns) -> ExpressionProblem | None:
    """Return a problem where the tree can be seen to be no condition."""
    left: list[exp.Expr] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, exp.Paren | exp.Not):
            left.append(node.this)
        elif isinstance(node, exp.And | exp.Or):
            left.extend((node.right, node.left))
        elif isinstance(node, _NOT_BOOLEAN) or _is_other_column(node, columns):
            message = "a filter needs a condition, true or false, and this is a value"
            advice = "compare it: = '…', > 0, IS NOT NULL"
            return ExpressionProblem(message, advice, offset_of(node))
    return None


def _is_other_column(node: exp.Expr, columns: Columns) -> bool:
    steps = _steps(node)
    if not steps:
        return False
    found = columns.find([name for name, _ in steps])
    kind = None if isinstance(found, Missing) else found.type
    return kind is not None and kind is not Primitive.BOOLEAN
