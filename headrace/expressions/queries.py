"""The query of an application, as far as it can be checked and read without its sources."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.expressions.tokens import ExpressionProblem

if TYPE_CHECKING:
    from sqlglot import exp

# `window(ts, '1 minute')` and `window.start` are Spark's windows of time; sqlglot knows `window`
# as a keyword alone.
_WINDOW = re.compile(r"(?<![\w`.'\"])window(?=\s*[.(])", re.IGNORECASE)


def check_query(text: str) -> list[ExpressionProblem]:
    """Return why a text is not one query of Spark SQL."""
    from sqlglot import exp  # noqa: PLC0415 - loaded by the files that need it

    if not text.strip():
        return [ExpressionProblem("there is no query", None, 0)]
    parsed, _ = _parse(text)
    if isinstance(parsed, ExpressionProblem):
        return [parsed]
    if isinstance(parsed, exp.Query):
        return []
    offset = len(text) - len(text.lstrip())
    return [ExpressionProblem("this is not a query", "begin with SELECT or WITH", offset)]


def mentioned_columns(query: str) -> frozenset[str] | None:
    """Return every name in a query, in lower case; None where it may use columns unnamed.

    More than the columns it uses, never less: the names of its tables, aliases and fields are
    among them. A `*` stands for names that are not there, except in `count(*)`; so do a pivot,
    which groups by all the columns that are left, a natural join, and `identifier('name')`.
    """
    from sqlglot import exp  # noqa: PLC0415 - as above

    parsed, also = _parse(query)
    if isinstance(parsed, ExpressionProblem) or not isinstance(parsed, exp.Query):
        return None
    if any(_uses_unnamed(node) for node in parsed.walk()):
        return None
    return also.union(one.name.lower() for one in parsed.find_all(exp.Identifier))


def _parse(query: str) -> tuple[exp.Expr | ExpressionProblem, frozenset[str]]:
    """Return the tree, and the names in the query that it does not have."""
    from headrace.expressions.parsing import parse  # noqa: PLC0415 - as above

    parsed = parse(query)
    if isinstance(parsed, ExpressionProblem):
        again = parse(_WINDOW.sub("window_", query))
        if not isinstance(again, ExpressionProblem):
            return again, frozenset({"window"})
    return parsed, frozenset()


def _uses_unnamed(node: exp.Expr) -> bool:
    from sqlglot import exp  # noqa: PLC0415 - as above

    match node:
        case exp.Star():
            return not isinstance(node.parent, exp.Count)
        case exp.Join():
            return node.method.upper() == "NATURAL"
        case exp.Select():
            return not node.expressions
        case exp.Func():
            return node.name.lower() == "identifier" or node.sql_name().lower() == "identifier"
        case _:
            return isinstance(node, (exp.Pivot, exp.Command, exp.QueryTransform))
