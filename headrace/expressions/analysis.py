"""From an expression's text to its tree, or to the reasons why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.expressions.guard import bad_calls, unreadable
from headrace.expressions.numbers import beyond_their_type, no_dates
from headrace.expressions.problem import ExpressionProblem
from headrace.expressions.tokens import tokens_of

if TYPE_CHECKING:
    from sqlglot import exp

    from headrace.expressions.columns import Columns


def analyse(text: str, columns: Columns) -> tuple[exp.Expr | None, list[ExpressionProblem]]:
    """Return the tree and the problems of the text; no tree where it cannot be trusted."""
    tokens = tokens_of(text)
    problems = unreadable(text, tokens)
    if problems:
        return None, problems
    from headrace.expressions.parse import lambdas, parse, same_quotes  # noqa: PLC0415 - as in check

    unclear = same_quotes(text, tokens)
    if unclear is not None:
        return None, [unclear]
    problems = [
        *bad_calls(tokens, columns),
        *beyond_their_type(text, tokens),
        *no_dates(tokens),
    ]
    parsed = parse(text)
    if isinstance(parsed, ExpressionProblem):
        # A refused call often reads oddly to the parser too: one mistake, told once.
        return None, problems or [parsed]
    arrows = [token for token in tokens if token.text == "->"]
    if len(arrows) != lambdas(parsed):
        message = "-> stands only within a function, as in transform(items, x -> x + 1)"
        problems.append(ExpressionProblem(message, None, arrows[0].start if arrows else 0))
    return parsed, problems
