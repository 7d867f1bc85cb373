"""Filters, and what filters and projections have in common: from a text to its tree, or to problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.expressions.columns import Columns
from headrace.expressions.guard import bad_calls, no_dates, numbers_beyond_their_type, unreadable
from headrace.expressions.tokens import ExpressionProblem, tokens_of

if TYPE_CHECKING:
    from sqlglot import exp

    from headrace.schema.model import Record


def check_filter(text: str, schema: Record | None) -> list[ExpressionProblem]:
    """Return what is wrong with a filter. A schema of None allows any column."""
    columns = Columns(schema)
    parsed, problems = analyse(text, columns)
    if parsed is None:
        return problems
    from headrace.expressions.tree_rules import not_boolean, problems_of  # noqa: PLC0415 - as in analyse

    problems = problems_of(parsed, columns, problems)
    wrong = None if problems else not_boolean(parsed, columns)
    return problems if wrong is None else [wrong]


def analyse(text: str, columns: Columns) -> tuple[exp.Expr | None, list[ExpressionProblem]]:
    """Return the tree and the problems of the text; no tree where it cannot be trusted."""
    tokens = tokens_of(text)
    problems = unreadable(text, tokens)
    if problems:
        return None, problems
    from headrace.expressions.parsing import lambdas, parse, same_quotes  # noqa: PLC0415 - sqlglot takes a fifth of a second to import, and plain columns need none

    unclear = same_quotes(text, tokens)
    if unclear is not None:
        return None, [unclear]
    problems = [
        *bad_calls(tokens, columns),
        *numbers_beyond_their_type(tokens),
        *no_dates(tokens),
    ]
    parsed = parse(text)
    if isinstance(parsed, ExpressionProblem):
        # A refused call often reads oddly to the parser too: one mistake, reported once.
        return None, problems or [parsed]
    arrows = [token for token in tokens if token.text == "->"]
    if len(arrows) != lambdas(parsed):
        message = "-> is allowed only within a function, as in transform(items, x -> x + 1)"
        problems.append(ExpressionProblem(message, None, arrows[0].start if arrows else 0))
    return parsed, problems
