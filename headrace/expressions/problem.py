"""What is wrong with an expression, and at which of its characters."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExpressionProblem:
    """One mistake. `offset` counts characters of the expression's text from 0."""

    message: str
    suggestion: str | None
    offset: int
