"""What the parsed tree of an expression may hold: known columns, and nothing that queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headrace.expressions.allowed_functions import CLOCK, CLOCK_ADVICE, CLOCK_WORDS
from headrace.expressions.columns import ITEM, Columns, KnownColumn, UnknownColumn
from headrace.expressions.tokens import ExpressionProblem
from headrace.schema.model import TIMESTAMPS, Primitive, Type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_QUERIES = (exp.Selectable, exp.From, exp.TableSample, exp.DML, exp.Command, exp.Semicolon)
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
_MAYBE_BOOLEAN = (Primitive.BOOLEAN, None)
# Where a text is compared or passed on as a text.
_AS_TEXT = (
    exp.EQ,
    exp.NEQ,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.In,
    exp.Like,
    exp.ILike,
    exp.RegexpLike,
    exp.Case,
    exp.If,
    exp.Coalesce,
    exp.Concat,
    exp.DPipe,
    exp.Array,
    exp.Bracket,
    exp.Alias,
)
_TIMES = {Primitive.DATE, *TIMESTAMPS}


def offset_of(node: exp.Expr) -> int:
    """Return the offset of the first identifier at or below a node, 0 where none has one."""
    starts = [
        int(one.meta["start"]) for one in node.find_all(exp.Identifier) if "start" in one.meta
    ]
    return min(starts, default=0)


def own_name(node: exp.Expr) -> str:
    """Return the last name of `a.b.c`, nothing for what is computed."""
    if isinstance(node, exp.Column):
        return str(node.name)
    here = node
    while isinstance(here, exp.Dot) and isinstance(here.expression, exp.Identifier):
        here = here.this
    return str(node.expression.name) if isinstance(here, exp.Column) and here is not node else ""


def problems_of(
    tree: exp.Expr, columns: Columns, refused: Sequence[ExpressionProblem]
) -> list[ExpressionProblem]:
    """Return what is wrong with a tree, be it a filter or a column, after the `refused` calls."""
    if refused:
        # A refused call brings its *, its window or its query along: one mistake, reported once.
        return [*refused, *unknown_columns(tree, columns)]
    found = [*forbidden(tree), *unknown_columns(tree, columns)]
    return found or list(clock_words(tree, columns))


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
            message, advice = "* is allowed only as a whole item of project", "name the columns"
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
        if isinstance(found, UnknownColumn):
            offset = steps[found.part][1]
            yield ExpressionProblem(found.message, found.suggestion or None, offset)


def clock_words(tree: exp.Expr, columns: Columns) -> Iterator[ExpressionProblem]:
    """Give each text such as 'now' that Spark would read as a time of its clock."""
    for node in tree.find_all(exp.Literal, exp.RawString):
        word = str(node.this).strip().casefold().split(" ")[0]
        if word not in CLOCK_WORDS or (isinstance(node, exp.Literal) and not node.is_string):
            continue
        parent = node.parent
        others = parent.iter_expressions() if parent is not None else ()
        is_time = any(_type_of(one, columns) in _TIMES for one in others if one is not node)
        if parent is not None and (is_time or not isinstance(parent, _AS_TEXT)):
            message = f"'{word}' is read as a time here: {CLOCK}"
            yield ExpressionProblem(message, CLOCK_ADVICE, offset_of(parent))


def _steps(node: exp.Expr) -> list[tuple[str, int]] | None:
    """Return names and offsets of `a.b[0].c`, None where it leads to no column."""
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
    above = node.find_ancestor(exp.Lambda)
    while above is not None:
        if name.casefold() in {one.name.casefold() for one in above.expressions}:
            return True
        above = above.find_ancestor(exp.Lambda)
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
        elif isinstance(node, _NOT_BOOLEAN) or _type_of(node, columns) not in _MAYBE_BOOLEAN:
            message = "a filter needs a condition (true or false), but this is a value"
            advice = "compare it: = '…', > 0, IS NOT NULL"
            return ExpressionProblem(message, advice, offset_of(node))
    return None


def _type_of(node: exp.Expr, columns: Columns) -> Type | None:
    """Return the type of a column, None where it is no column or of a type that is not known."""
    steps = _steps(node)
    found = columns.find([name for name, _ in steps]) if steps else None
    return found.type if isinstance(found, KnownColumn) else None
