"""The query of an application, as far as it can be checked without its sources."""

from __future__ import annotations

import re

from headrace.expressions.problem import ExpressionProblem

_WINDOW = re.compile(r"(?<![\w`.'\"])window(?=\s*[.(])", re.IGNORECASE)


def check_query(text: str) -> list[ExpressionProblem]:
    """Return why a text is not one query of Spark SQL."""
    if not text.strip():
        return [ExpressionProblem("there is no query", None, 0)]
    from sqlglot import exp  # noqa: PLC0415 - loaded by the files that need it

    from headrace.expressions.parse import parse  # noqa: PLC0415 - as above

    parsed = parse(text)
    if isinstance(parsed, ExpressionProblem):
        # `window(ts, '1 minute')` and `window.start` are Spark's windows of time; sqlglot knows
        # `window` as a keyword alone.
        again = parse(_WINDOW.sub("window_", text))
        if isinstance(again, ExpressionProblem):
            return [parsed]
        parsed = again
    if isinstance(parsed, exp.Query) and not isinstance(parsed, exp.Table):
        return []
    offset = len(text) - len(text.lstrip())
    return [ExpressionProblem("this is not a query", "begin with SELECT or WITH", offset)]
