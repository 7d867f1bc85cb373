"""Spark's grammar of expressions, as far as expressions are compiled.

The precedence is that of Spark's own grammar, which is not every dialect's: || binds as + does,
and a predicate such as IS NULL ends a value.
"""

from __future__ import annotations

import decimal
from typing import TYPE_CHECKING, Final

from headrace.expressions.lane.nodes import (
    Binary,
    Call,
    Case,
    Cast,
    Item,
    Literal,
    Name,
    Part,
    Refused,
    Unary,
)
from headrace.expressions.lane.words import LARGEST_LONG, Word, words_of

if TYPE_CHECKING:
    from headrace.expressions.lane.nodes import Node

_END: Final = Word("sign", "", "the end")
_PRECEDENCE: Final = {
    **dict.fromkeys(("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>"), 1),
    "|": 2,
    "^": 3,
    "&": 4,
    "<<": 5,
    **dict.fromkeys(("+", "-", "||"), 6),
    **dict.fromkeys(("*", "/", "%", "div"), 7),
}
_SAME: Final = {"==": "=", "!=": "<>"}
# Functions whose first argument of three is the name of a unit.
_ONLY_BY_UNIT: Final = frozenset(["timestampadd", "timestampdiff", "timediff"])
_BY_UNIT: Final = {
    **dict.fromkeys(("timestampadd", "dateadd", "date_add"), "timestampadd"),
    **dict.fromkeys(("timestampdiff", "datediff", "date_diff", "timediff"), "timestampdiff"),
}
# Words that are no column unless they are quoted.
_RESERVED: Final = frozenset(
    [
        "and",
        "or",
        "not",
        "between",
        "in",
        "like",
        "ilike",
        "rlike",
        "regexp",
        "is",
        "as",
        "from",
        "for",
        "case",
        "when",
        "then",
        "else",
        "end",
        "div",
        "interval",
        "exists",
        "select",
        "distinct",
        "escape",
        "any",
        "some",
        "all",
        "over",
        "within",
        "filter",
        "current_timestamp",
        "current_date",
        "current_time",
        "localtimestamp",
        "current_user",
        "user",
        "session_user",
        "current_catalog",
        "current_database",
        "current_schema",
        "grouping__id",
    ]
)


def parse(text: str) -> Node:
    """Return the tree of an expression, or refuse it."""
    try:
        return _Parser(words_of(text)).whole()
    except RecursionError:
        raise Refused("it is nested too deep") from None


class _Parser:
    def __init__(self, words: list[Word]) -> None:
        self._words = words
        self._at = 0

    def whole(self) -> Node:
        node = self._condition()
        if self._at < len(self._words):
            raise Refused(f'"{self._next.shown}"')
        return node

    @property
    def _next(self) -> Word:
        return self._words[self._at] if self._at < len(self._words) else _END

    def _take(self) -> Word:
        word = self._next
        self._at += 1
        return word

    def _sees(self, *texts: str) -> bool:
        words = self._words[self._at : self._at + len(texts)]
        return [word.text for word in words if word.kind in {"word", "sign"}] == list(texts)

    def _accept(self, *texts: str) -> bool:
        if not self._sees(*texts):
            return False
        self._at += len(texts)
        return True

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise Refused(f'"{self._next.shown}" where {text} is expected')

    def _condition(self) -> Node:
        node = self._conjunction()
        while self._accept("or"):
            node = Binary("or", node, self._conjunction())
        return node

    def _conjunction(self) -> Node:
        node = self._negation()
        while self._accept("and"):
            node = Binary("and", node, self._negation())
        return node

    def _negation(self) -> Node:
        if self._accept("not") or self._accept("!"):
            return Unary("not", self._negation())
        return self._predicate(self._value())

    def _predicate(self, value: Node) -> Node:
        if self._accept("is"):
            return _negated(self._accept("not"), self._is(value))
        is_not = self._accept("not")
        if self._accept("between"):
            low = self._value()
            self._expect("and")
            return _negated(is_not, Call("between", (value, low, self._value())))
        if self._accept("in"):
            self._expect("(")
            return _negated(is_not, Call("in", (value, *self._list(")"))))
        for word in ("like", "ilike"):
            if self._accept(word):
                pattern = self._value()
                escape = (self._value(),) if self._accept("escape") else ()
                return _negated(is_not, Call(word, (value, pattern, *escape)))
        for word in ("rlike", "regexp"):
            if self._accept(word):
                return _negated(is_not, Call(word, (value, self._value())))
        if is_not:
            raise Refused(f'"{self._next.shown}" after NOT')
        return value

    def _is(self, value: Node) -> Node:
        if self._accept("distinct", "from"):
            return Unary("not", Binary("<=>", value, self._value()))
        word = self._take()
        match word.text if word.kind == "word" else "":
            case "null" | "unknown":
                return Call("isnull", (value,))
            case "true" | "false":
                return Call(f"is {word.text}", (value,))
        raise Refused(f'"IS {word.shown}"')

    def _value(self, above: int = 0) -> Node:
        node = self._signed()
        while True:
            word = self._next
            precedence = _PRECEDENCE.get(word.text, 0) if word.kind in {"word", "sign"} else 0
            if precedence <= above:
                return node
            self._at += 1
            node = Binary(_SAME.get(word.text, word.text), node, self._value(precedence))

    def _signed(self) -> Node:
        if self._sees("-"):
            self._at += 1
            number = self._next
            if number.kind == "number":
                return self._after(_literal(self._take(), negative=True))
            return Unary("-", self._signed())
        for sign in ("+", "~"):
            if self._accept(sign):
                return Unary(sign, self._signed())
        return self._after(self._primary())

    def _after(self, node: Node) -> Node:
        while True:
            if self._accept("["):
                node = Item(node, self._value())
                self._expect("]")
            elif self._accept("."):
                word = self._take()
                if word.kind not in {"word", "quoted"}:
                    raise Refused(f'"{word.shown}" after a dot')
                node = Part(node, word.shown if word.kind == "word" else word.text)
            elif self._accept("::"):
                node = Cast(node, self._type())
            else:
                return node

    def _primary(self) -> Node:
        word = self._take()
        match word.kind:
            case "number":
                return _literal(word)
            case "text":
                return Literal(word.text)
            case "quoted":
                return self._no_call(Name(word.text))
            case "sign":
                if word.text != "(":
                    raise Refused(f'"{word.shown}"')
                node = self._condition()
                self._expect(")")
                return self._no_call(node)
        return self._named(word)

    def _no_call(self, node: Node) -> Node:
        if self._sees("("):
            raise Refused("a call of something that is no function")
        return node

    def _named(self, word: Word) -> Node:
        match word.text:
            case "true" | "false":
                return Literal(word.text == "true")
            case "null":
                return Literal(None)
            case "case":
                return self._case()
            case "date" | "timestamp" | "timestamp_ntz" | "timestamp_ltz" | "x" if (
                self._next.kind == "text"
            ):
                return Call(f"{word.text} literal", (Literal(self._take().text),))
        if self._accept("("):
            return self._call(word.text)
        if word.text in _RESERVED or self._next.kind == "text":
            raise Refused(f'"{word.shown}"')
        return Name(word.shown)

    def _list(self, closing: str) -> tuple[Node, ...]:
        if self._accept(closing):
            return ()
        found = [self._condition()]
        while self._accept(","):
            found.append(self._condition())
        self._expect(closing)
        return tuple(found)

    def _call(self, name: str) -> Node:
        match name:
            case "cast" | "try_cast":
                operand = self._condition()
                self._expect("as")
                to = self._type()
                self._expect(")")
                return Cast(operand, to, is_try=name == "try_cast")
            case "trim" if self._next.text in {"both", "leading", "trailing"}:
                return self._trim()
            case "extract" if self._next.kind == "word":
                unit = Literal(self._take().text)
                self._expect("from")
                return Call(name, (unit, *self._list(")")))
            case "extract":
                raise Refused("extract()")
        return self._ordinary(name)

    def _ordinary(self, name: str) -> Node:
        if self._accept(")"):
            return Call(name, ())
        first = self._condition() if name != "position" else self._value()
        if name == "position" and self._accept("in"):
            second = self._value()
            self._expect(")")
            return Call(name, (first, second))
        if name in {"substring", "substr"} and self._accept("from"):
            start = self._value()
            length = (self._value(),) if self._accept("for") else ()
            self._expect(")")
            return Call(name, (first, start, *length))
        if name == "trim" and self._accept("from"):
            return self._trimmed("both", first)
        if name == "overlay" and self._accept("placing"):
            return self._overlay(first)
        arguments = [first]
        while self._accept(","):
            arguments.append(self._condition())
        self._expect(")")
        if len(arguments) == 3 and name in _BY_UNIT and isinstance(first, Name):
            return Call(_BY_UNIT[name], (Literal(first.name), *arguments[1:]))
        if name in _ONLY_BY_UNIT:
            raise Refused(f"{name}() without a unit")
        return Call(name, tuple(arguments))

    def _overlay(self, text: Node) -> Node:
        new = self._value()
        self._expect("from")
        start = self._value()
        size = (self._value(),) if self._accept("for") else ()
        self._expect(")")
        return Call("overlay", (text, new, start, *size))

    def _trim(self) -> Node:
        side = self._take().text
        if self._accept("from"):
            return self._trimmed(side, Literal(" "))
        signs = self._value()
        self._expect("from")
        return self._trimmed(side, signs)

    def _trimmed(self, side: str, signs: Node) -> Node:
        operand = self._value()
        self._expect(")")
        name = {"both": "btrim", "leading": "trim leading", "trailing": "trim trailing"}[side]
        return Call(name, (operand, signs))

    def _type(self) -> str:
        word = self._take()
        if word.kind != "word" or self._sees("(") or self._sees("<"):
            raise Refused(f'a cast to "{word.shown}"')
        return word.text

    def _case(self) -> Node:
        value = None if self._sees("when") else self._condition()
        branches = []
        while self._accept("when"):
            condition = self._condition()
            self._expect("then")
            branches.append((condition, self._condition()))
        otherwise = self._condition() if self._accept("else") else None
        self._expect("end")
        if not branches:
            raise Refused("a CASE without WHEN")
        return Case(value, tuple(branches), otherwise)


def _negated(is_not: bool, node: Node) -> Node:
    return Unary("not", node) if is_not else node


def _literal(word: Word, *, negative: bool = False) -> Literal:
    value = word.value
    if value is None:
        raise Refused(f'"{word.shown}"')
    if negative:
        value = -value if not isinstance(value, decimal.Decimal) else value.copy_negate()
    if isinstance(value, int) and value > LARGEST_LONG:
        raise Refused(f'the number "{word.shown}" does not fit a long')
    return Literal(value, word.is_long)
