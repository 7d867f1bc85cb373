"""Filters and projections: the questions that the rest of headrace asks about expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.expressions.analysis import analyse
from headrace.expressions.columns import Columns
from headrace.expressions.problem import ExpressionProblem
from headrace.expressions.projection import Projected, check_projection

if TYPE_CHECKING:
    from headrace.schema.model import Record

__all__ = ["ExpressionProblem", "Projected", "check_filter", "check_projection"]


def check_filter(text: str, schema: Record | None) -> list[ExpressionProblem]:
    """Return what is wrong with a filter. A schema of None allows any column."""
    columns = Columns(schema)
    parsed, problems = analyse(text, columns)
    if parsed is None:
        return problems
    # sqlglot takes a fifth of a second to import, and a projection of plain columns needs none.
    from headrace.expressions.tree import not_boolean, problems_of  # noqa: PLC0415

    problems = problems_of(parsed, columns, problems)
    if not problems:
        value = not_boolean(parsed, columns)
        problems += [value] if value else []
    return problems
