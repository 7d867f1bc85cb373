"""Filters, and a projection's items: which column each becomes, and by which expression."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from headrace.expressions.columns import Columns, UnknownColumn
from headrace.expressions.guard import bad_calls, no_dates, numbers_beyond_their_type, unreadable
from headrace.expressions.tokens import BARE_CALLS, ExpressionProblem, Token, tokens_of
from headrace.problems import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from headrace.schema.model import Record

# An item's columns, or what is wrong with it.
_Item: TypeAlias = "tuple[Sequence[Projected], Sequence[ExpressionProblem]]"
_PLAIN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*")
_WORDS_OF_SQL = BARE_CALLS | {"null", "true", "false", "case", "not", "interval", "select"}


@dataclass(frozen=True, slots=True)
class Projected:
    """A column of the output. An item `*` over unknown columns stays `*` in both."""

    name: str
    expression: str


def check_filter(text: str, schema: Record | None) -> list[ExpressionProblem]:
    """Return what is wrong with a filter. A schema of None allows any column."""
    columns = Columns(schema)
    parsed, problems = _analyse(text, columns)
    if parsed is None:
        return problems
    from headrace.expressions.tree_rules import not_boolean, problems_of  # noqa: PLC0415 - as in _analyse

    problems = problems_of(parsed, columns, problems)
    wrong = None if problems else not_boolean(parsed, columns)
    return problems if wrong is None else [wrong]


def _analyse(text: str, columns: Columns) -> tuple[exp.Expr | None, list[ExpressionProblem]]:
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


def check_projection(
    items: Sequence[str], schema: Record | None
) -> tuple[list[Projected], list[tuple[int, ExpressionProblem]]]:
    """Return the output's columns, and what is wrong with which item."""
    columns = Columns(schema)
    projected: list[Projected] = []
    problems: list[tuple[int, ExpressionProblem]] = []
    taken: dict[str, int] = {}
    for number, text in enumerate(items):
        made, wrong = _item(text, columns)
        problems += [(number, problem) for problem in wrong]
        for one in made:
            folded = one.name.casefold()
            if folded in taken and one.name != "*":
                message = f'two columns have the name "{one.name}"'
                advice = f'give it another name: "{_shown(one.expression)} AS …"'
                problems.append((number, ExpressionProblem(message, advice, 0)))
                continue
            taken[folded] = number
            projected.append(one)
    return projected, problems


def _shown(expression: str) -> str:
    return expression if len(expression) <= 40 else f"{expression[:37]}…"


def _item(text: str, columns: Columns) -> _Item:
    plain = _PLAIN.fullmatch(text)
    if plain and plain[1].casefold() not in _WORDS_OF_SQL:
        return _column(plain[1], text.index(plain[1]), columns)
    tokens = tokens_of(text)
    if tokens and tokens[0].text == "*":
        return _star(text, tokens, columns)
    parsed, problems = _analyse(text, columns)
    if parsed is None:
        return [], problems
    from sqlglot import exp  # noqa: PLC0415 - as in _analyse

    from headrace.expressions.tree_rules import own_name, problems_of  # noqa: PLC0415 - as in _analyse

    is_aliased = isinstance(parsed, exp.Alias)
    inner = parsed.this if is_aliased else parsed
    problems = problems_of(inner, columns, problems)
    if is_aliased:
        name, expression, problem = _without_alias(text, tokens, parsed)
    else:
        name, expression = own_name(inner), text.strip()
        problem = None if name or problems else _nameless(text, tokens)
    problems += [problem] if problem else []
    return ([], problems) if problems else ([Projected(name, expression)], [])


def _column(name: str, offset: int, columns: Columns) -> _Item:
    found = columns.find([name])
    if isinstance(found, UnknownColumn):
        return [], [ExpressionProblem(found.message, found.suggestion or None, offset)]
    return [Projected(name, name)], []


def _without_alias(
    text: str, tokens: list[Token], parsed: exp.Expr
) -> tuple[str, str, ExpressionProblem | None]:
    alias = tokens[-1]
    name = alias.unquoted
    if not alias.is_name or name != parsed.alias or not name:
        message = "the name after AS is not clear"
        return "", "", ExpressionProblem(message, "name it last", alias.start)
    end = alias.start
    if len(tokens) > 1 and tokens[-2].name == "as" and tokens[-2].kind == "word":
        end = tokens[-2].start
    return name, text[:end].strip(), None


def _nameless(text: str, tokens: list[Token]) -> ExpressionProblem:
    names = [token.name for token in tokens if token.kind in {"word", "quoted"}]
    guess = names[-1] if names and re.fullmatch(r"[a-z_]\w*", names[-1]) else "name"
    advice = f'write "{_shown(text.strip())} AS {guess}"'
    return ExpressionProblem("a computed column needs a name", advice, tokens[0].start)


def _star(text: str, tokens: list[Token], columns: Columns) -> _Item:
    """Expand `*` and `* EXCEPT (a, b)` to the stream's own columns."""
    dropped, commas = tokens[3:-1:2], tokens[4:-1:2]
    is_except = (
        [token.name for token in tokens[1:3]] == ["except", "("]
        and tokens[-1].text == ")"
        and all(token.is_name for token in dropped)
        and all(token.text == "," for token in commas)
        and len(dropped) == len(commas) + 1
    )
    if len(tokens) > 1 and not is_except:
        message = "write * alone, or * EXCEPT (a, b)"
        return [], [ExpressionProblem(message, None, tokens[1].start)]
    if columns.names is None:
        return [Projected("*", text.strip())], []
    known = {name.casefold() for name in columns.names}
    unknown = [token for token in dropped if token.name not in known]
    if unknown:
        return [], [_unknown(token, columns.names) for token in unknown]
    gone = {token.name for token in dropped}
    left = [name for name in columns.names if name.casefold() not in gone]
    if not left:
        return [], [ExpressionProblem("no column remains", None, tokens[0].start)]
    return [Projected(name, f"`{name.replace('`', '``')}`") for name in left], []


def _unknown(token: Token, names: Sequence[str]) -> ExpressionProblem:
    advice = did_you_mean(token.unquoted, names) or None
    return ExpressionProblem(f'unknown column "{token.text}"', advice, token.start)
