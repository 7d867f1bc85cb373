"""Which columns a query may use, without knowing its tables: those that it mentions at all."""

from __future__ import annotations

import re

from sqlglot import exp

from headrace.expressions.parse import parse
from headrace.expressions.problem import ExpressionProblem

_WINDOW = re.compile(r"(?<![\w`.'\"])window(?=\s*[.(])", re.IGNORECASE)


def mentioned_columns(query: str) -> frozenset[str] | None:
    """Return every name in a query, in lower case; None where it may use columns unnamed.

    More than the columns it uses, never less: the names of its tables, aliases and fields are
    among them. A `*` stands for names that are not there, except in `count(*)`; so do a pivot,
    which groups by all the columns that are left, a natural join, and `identifier('name')`.
    """
    also: frozenset[str] = frozenset()
    parsed = parse(query)
    if isinstance(parsed, ExpressionProblem):
        # As `check_query` reads it: `window` is a keyword to sqlglot, and a function to Spark.
        parsed, also = parse(_WINDOW.sub("window_", query)), frozenset({"window"})
    if not isinstance(parsed, exp.Query) or isinstance(parsed, exp.Table):
        return None
    if any(_uses_unnamed(node) for node in parsed.walk()):
        return None
    return also.union(one.name.lower() for one in parsed.find_all(exp.Identifier))


def _uses_unnamed(node: exp.Expr) -> bool:
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
