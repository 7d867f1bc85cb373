"""sqlglot, with every failure of it as a located problem."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError
from sqlglot.tokenizer_core import TokenType

from headrace.expressions.tokens import ExpressionProblem, Token

if TYPE_CHECKING:
    from collections.abc import Sequence

_QUOTED = {
    TokenType.STRING,
    TokenType.RAW_STRING,
    TokenType.NATIONAL_STRING,
    TokenType.UNICODE_STRING,
    TokenType.HEREDOC_STRING,
    TokenType.HEX_STRING,
    TokenType.BIT_STRING,
    TokenType.BYTE_STRING,
    TokenType.IDENTIFIER,
}


def parse(text: str) -> exp.Expr | ExpressionProblem:
    """Return the tree of one expression or query in Spark's SQL."""
    logger = logging.getLogger("sqlglot")
    was_disabled, logger.disabled = logger.disabled, True
    try:
        trees = sqlglot.parse(text, dialect="spark", error_level=ErrorLevel.IMMEDIATE)
    except ParseError as problem:
        return _located(text, problem)
    except RecursionError:
        return ExpressionProblem("nested too deep", "split it up", 0)
    except Exception:  # noqa: BLE001 - a text may break the parser in any way
        return ExpressionProblem("this cannot be parsed as Spark SQL", None, 0)
    finally:
        logger.disabled = was_disabled
    found = [tree for tree in trees if tree is not None]
    if len(found) != 1:
        message = "several statements" if found else "there is no expression"
        return ExpressionProblem(message, "write one", 0)
    return found[0]


def same_quotes(text: str, tokens: Sequence[Token]) -> ExpressionProblem | None:
    """Return a problem where the parser ends a quoted part elsewhere than Spark would."""
    try:
        theirs = [
            token.end + 1
            for token in sqlglot.tokenize(text, dialect="spark")
            if token.token_type in _QUOTED
        ]
    except Exception:  # noqa: BLE001 - as in parse
        return ExpressionProblem("this cannot be read as Spark SQL", None, 0)
    ours = [token for token in tokens if token.kind in {"text", "quoted"}]
    for number, token in enumerate(ours):
        if number >= len(theirs) or theirs[number] != token.end:
            advice = "within quotes write a quote as \\' and a backslash as \\\\"
            return ExpressionProblem("it is not clear where this text ends", advice, token.start)
    if len(theirs) > len(ours):
        return ExpressionProblem("it is not clear where texts end here", "use '…' quotes", 0)
    return None


def _located(text: str, problem: ParseError) -> ExpressionProblem:
    first = problem.errors[0] if problem.errors else {}
    line, column = int(first.get("line") or 1), int(first.get("col") or 1)
    highlight = str(first.get("highlight") or "")
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    offset = starts[min(line, len(starts)) - 1] + column - max(len(highlight), 1)
    offset = max(0, min(offset, len(text)))
    said = str(first.get("description") or "")
    if "Unexpected token" in said:
        shown = highlight if len(highlight) < 40 else f"{highlight[:37]}…"
        return ExpressionProblem(f"does not parse: {shown} does not fit here", None, offset)
    expected = re.match(r"Expect(?:ed|ing) ([^<]{1,40})$", said)
    if expected:
        return ExpressionProblem(f"does not parse: {expected[1]} is missing here", None, offset)
    return ExpressionProblem("does not parse: something is missing here", None, offset)


def lambdas(tree: exp.Expr) -> int:
    """Return how many lambda functions a tree has."""
    return sum(1 for _ in tree.find_all(exp.Lambda))
