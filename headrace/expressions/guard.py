"""What the text of an expression may hold, whatever a parser makes of it.

Spark parses the original text once more. So names of functions are looked for in the text, where
no rewriting by another parser can hide one.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from headrace.expressions.allowed_functions import (
    ALLOWED,
    CLOCK,
    CLOCK_ADVICE,
    CLOCK_WORDS,
    KEYWORDS,
    REFUSED,
)
from headrace.expressions.columns import Columns, KnownColumn
from headrace.expressions.compiled.runtime.errors import Undefined
from headrace.expressions.compiled.runtime.moments import days_of_text
from headrace.expressions.tokens import BARE_CALLS, LONGEST, ExpressionProblem, Token, number_of
from headrace.problems import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEEPEST = 40

_SYMBOLS = {*"()[],.+-*/%<>=!&|^~", *["->", "::", "<=>", "<>", "!=", "==", "<=", ">=", "||", "<<"]}
_WHY_NOT = {
    ";": ("one expression, not several statements", "remove the ;"),
    **dict.fromkeys("?{}$@:", ("a placeholder has no value here", "write the value itself")),
    **{quote: ("a quote is not closed", f"close it with {quote}") for quote in "'\"`"},
}


def unreadable(text: str, tokens: Sequence[Token]) -> list[ExpressionProblem]:
    """Return why the text should not be given to a parser at all, nothing where it may."""
    if len(text) > LONGEST:
        return [ExpressionProblem(f"longer than {LONGEST} characters", "split it up", 0)]
    if not tokens:
        return [ExpressionProblem("there is no expression", None, 0)]
    # Spark fills in ${…} anywhere in SQL, inside strings too, and after every check.
    if "${" in text:
        return [
            ExpressionProblem(
                "Spark would fill in ${…} here, even within quotes",
                "separate the two characters",
                text.index("${"),
            )
        ]
    return [*_symbols(tokens), *_depth(tokens)]


def _symbols(tokens: Sequence[Token]) -> Iterator[ExpressionProblem]:
    for number, token in enumerate(tokens):
        if token.kind == "comment":
            yield ExpressionProblem(
                "a comment inside the expression", "write it as a YAML comment, # …", token.start
            )
            return
        if token.kind != "symbol" or token.text in _SYMBOLS:
            continue
        # struct<a: int> in a cast
        if token.text == ":" and number and tokens[number - 1].is_name and _in_type(tokens, number):
            continue
        said = (
            f'"{token.text}" is no symbol of SQL'
            if token.text.isprintable()
            else "a strange character"
        )
        message, advice = _WHY_NOT.get(token.text, (said, "put a name with it in `backquotes`"))
        yield ExpressionProblem(message, advice, token.start)
        return


def _in_type(tokens: Sequence[Token], number: int) -> bool:
    before = [token.text.casefold() for token in tokens[:number]]
    return any(pair == ("struct", "<") for pair in pairwise(before))


def _depth(tokens: Sequence[Token]) -> Iterator[ExpressionProblem]:
    depth = 0
    for token in tokens:
        if token.text in {"(", "["} or token.name in {"case", "not"}:
            depth += 1
        elif token.text in {")", "]"} or token.name == "end":
            depth -= 1
        if depth > DEEPEST:
            yield ExpressionProblem("nested too deep", "split it up", token.start)
            return


def bad_calls(tokens: Sequence[Token], columns: Columns) -> Iterator[ExpressionProblem]:
    """Give each call of a function that is not allowed."""
    following: list[Token | None] = [*tokens[1:], None]
    for number, (token, after) in enumerate(zip(tokens, following, strict=True)):
        before = tokens[number - 1] if number else None
        opens = after is not None and after.text == "("
        if opens and token.is_name:
            is_empty = [one.text for one in tokens[number + 2 : number + 3]] == [")"]
            problem = _call(token, before, is_empty=is_empty)
        elif opens and (token.kind in {"text", "number"} or token.text in {")", "]"}):
            problem = ExpressionProblem(
                "this is called like a function, but is not one", None, token.start
            )
        elif token.is_name and (before is None or before.text != "."):
            problem = _bare(token, columns)
        else:
            problem = None
        if problem is not None:
            yield problem


def _call(token: Token, before: Token | None, *, is_empty: bool) -> ExpressionProblem | None:
    name = token.name
    if before is not None and before.text == ".":
        message = f'"{token.text}" is called with a prefix, so it could be any function'
        return ExpressionProblem(message, f"write {name}(…) alone", token.start)
    if token.kind == "word" and name in KEYWORDS:
        return None
    # `like any (…)` asks about a list; any(…) alone is an aggregate
    is_list = before is not None and before.name in {"like", "ilike"}
    # With an argument it reads that, without one the clock.
    is_clock = name == "unix_timestamp" and is_empty
    if not is_clock and (name in ALLOWED or (name in {"any", "all", "some"} and is_list)):
        return None
    if is_clock or name in REFUSED:
        reason, advice = (CLOCK, CLOCK_ADVICE) if is_clock else REFUSED[name]
        return ExpressionProblem(f"{name}() is not allowed: {reason}", advice, token.start)
    if name == "over":
        message = "a window needs several records, and an expression sees one at a time"
        return ExpressionProblem(message, "use an application (kind: app)", token.start)
    message = f"{name}() is not an allowed function"
    near = nearest(name, ALLOWED)
    return ExpressionProblem(message, did_you_mean(name, [near]) if near else None, token.start)


def _bare(token: Token, columns: Columns) -> ExpressionProblem | None:
    name = token.name
    is_column = columns.record is not None and isinstance(columns.find([name]), KnownColumn)
    if is_column:
        return None
    if name in BARE_CALLS:
        reason, advice = REFUSED.get(name, ("it calls a function of Spark", ""))
        return ExpressionProblem(f"{name} is not allowed: {reason}", advice, token.start)
    if token.kind == "word" and name in {"select", "tablesample", "lateral", "using"}:
        message = f"{name.upper()} makes it a query, and only one expression is allowed here"
        return ExpressionProblem(
            message, "join and select in an application (kind: app)", token.start
        )
    return None


def numbers_beyond_their_type(tokens: Sequence[Token]) -> Iterator[ExpressionProblem]:
    """Give the first number that its type has no room for."""
    is_negative = False
    for token in tokens:
        try:
            if token.kind == "number":
                number_of(token.text, is_negative=is_negative)
        except OverflowError as beyond:
            message = f"a number that does not fit the type {beyond}"
            yield ExpressionProblem(message, "write a smaller one", token.start)
            return
        is_negative = token.text == "-"


def no_dates(tokens: Sequence[Token]) -> Iterator[ExpressionProblem]:
    """Give each DATE '…' that is no date; one that is read from the clock is reported elsewhere."""
    for token, after in pairwise(tokens):
        shown = after.text[1:-1]
        if token.kind != "word" or token.name != "date" or after.kind != "text" or "\\" in shown:
            continue
        if shown.strip().lower().split(" ")[0] in {"epoch", *CLOCK_WORDS}:
            continue
        try:
            days_of_text(shown)
        except Undefined:
            yield ExpressionProblem(
                f"{after.text} is not a date", "write '2024-01-31'", after.start
            )
