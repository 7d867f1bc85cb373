"""Spark's grammar of expressions, as far as expressions are compiled.

The precedence is that of Spark's own grammar, which is not every dialect's: || binds as + does,
and a predicate such as IS NULL ends a value.
"""

from __future__ import annotations

from typing import Final

from headrace.expressions.compiled.literals import number_literal, text_literal
from headrace.expressions.compiled.syntax import Binary, Call, Literal, Name, Node, Part, Refused
from headrace.expressions.compiled.token_stream import END, TokenStream
from headrace.expressions.tokens import BARE_CALLS, Token
from headrace.schema.model import Primitive

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
_WORDS_BETWEEN: Final = {
    "position": ("in",),
    "substring": ("from", "for"),
    "substr": ("from", "for"),
    "overlay": ("placing", "from", "for"),
}
# What is to be taken off stands before what it is taken from.
_TRIMS: Final = {"trim": "btrim", "ltrim": "trim-leading", "rtrim": "trim-trailing"}
# Functions whose first argument of three is the name of a unit.
_ONLY_BY_UNIT: Final = frozenset(["timestampadd", "timestampdiff", "timediff"])
_BY_UNIT: Final = {
    **dict.fromkeys(("timestampadd", "dateadd", "date_add"), "timestampadd"),
    **dict.fromkeys(("timestampdiff", "datediff", "date_diff", "timediff"), "timestampdiff"),
}
# Words that are no column unless they are quoted.
_RESERVED_WORDS: Final = """
and or not between in like ilike rlike regexp is as from for case when then else end div interval
exists select distinct escape any some all over within filter
"""
_RESERVED: Final = BARE_CALLS.union(_RESERVED_WORDS.split())


def parse(text: str) -> Node:
    """Return the tree of an expression, or refuse it."""
    try:
        return _Parser(text).whole()
    except RecursionError:
        raise Refused("it is nested too deep") from None


class _Parser(TokenStream):
    def whole(self) -> Node:
        node = self._condition()
        if self.next is not END:
            raise Refused(f'"{self.next.text}"')
        return node

    def _condition(self) -> Node:
        node = self._conjunction()
        while self.accept("or"):
            node = Binary("or", node, self._conjunction())
        return node

    def _conjunction(self) -> Node:
        node = self._negation()
        while self.accept("and"):
            node = Binary("and", node, self._negation())
        return node

    def _negation(self) -> Node:
        if self.accept("not") or self.accept("!"):
            return Call("NOT", (self._negation(),))
        return self._predicate(self._value())

    def _predicate(self, value: Node) -> Node:
        if self.accept("is"):
            return _negated(self.accept("not"), self._is(value))
        is_not = self.accept("not")
        if self.accept("between"):
            low = self._value()
            self.expect("and")
            return _negated(is_not, Call("between", (value, low, self._value())))
        if self.accept("in"):
            self.expect("(")
            return _negated(is_not, Call("in", (value, *self._list(")"))))
        for word in ("like", "ilike", "rlike", "regexp"):
            if self.accept(word):
                pattern = self._value()
                can_escape = word in {"like", "ilike"} and self.accept("escape")
                escape = (self._value(),) if can_escape else ()
                return _negated(is_not, Call(word, (value, pattern, *escape)))
        if is_not:
            raise Refused(f'"{self.next.text}" after NOT')
        return value

    def _is(self, value: Node) -> Node:
        if self.accept("distinct", "from"):
            return _negated(True, Binary("<=>", value, self._value()))
        token = self.take()
        match token.name if token.kind == "word" else "":
            case "null" | "unknown":
                return Call("isnull", (value,))
            case "true" | "false":
                return Call(f"is {token.name}", (value,))
        raise Refused(f'"IS {token.text}"')

    def _value(self, above: int = 0) -> Node:
        node = self._signed()
        while True:
            token = self.next
            operator = token.name if token.kind in {"word", "symbol"} else ""
            precedence = _PRECEDENCE.get(operator, 0)
            if precedence <= above:
                return node
            self.take()
            right = self._value(precedence)
            if operator != "||":
                node = Binary(_SAME.get(operator, operator), node, right)
            elif isinstance(node, Call) and node.name == "||":
                node = Call("||", (*node.arguments, right))
            else:
                node = Call("||", (node, right))

    def _signed(self) -> Node:
        if self.accept("-"):
            if self.next.kind == "number":
                return self._after(number_literal(self.take(), is_negative=True))
            return Call("-", (self._signed(),))
        for operator in ("+", "~"):
            if self.accept(operator):
                return Call(operator, (self._signed(),))
        return self._after(self._primary())

    def _after(self, node: Node) -> Node:
        while True:
            if self.accept("["):
                node = Call("[]", (node, self._value()))
                self.expect("]")
            elif self.accept("."):
                token = self.take()
                if not token.is_name:
                    raise Refused(f'"{token.text}" after a dot')
                node = Part(node, token.unquoted)
            elif self.accept("::"):
                node = Call("cast", (node, self._type()))
            else:
                return node

    def _primary(self) -> Node:
        token = self.take()
        match token.kind:
            case "number":
                return number_literal(token)
            case "text":
                return self._text(token)
            case "quoted":
                return self._no_call(Name(token.unquoted))
            case "word":
                return self._named(token)
        if token.text != "(":
            raise Refused(f'"{token.text}"')
        node = self._condition()
        self.expect(")")
        return self._no_call(node)

    def _text(self, token: Token) -> Literal:
        """Return a text; those that follow it at once are part of it."""
        text = text_literal(token.text)
        while self.next.kind == "text":
            text += text_literal(self.take().text)
        return _text(text)

    def _no_call(self, node: Node) -> Node:
        if self.sees("("):
            raise Refused("a call of something that is no function")
        return node

    def _named(self, token: Token) -> Node:
        match token.name:
            case "true" | "false":
                return Literal(token.name == "true", Primitive.BOOLEAN)
            case "null":
                return Literal(None, None)
            case "case":
                return self._case()
            case "date" | "timestamp" | "timestamp_ntz" | "timestamp_ltz" | "x" if (
                self.next.kind == "text"
            ):
                return Call(f"{token.name} literal", (self._text(self.take()),))
        if self.accept("("):
            return self._call(token.name)
        if token.name in _RESERVED or self.next.kind == "text":
            raise Refused(f'"{token.text}"')
        return Name(token.text)

    def _list(self, closing: str) -> tuple[Node, ...]:
        if self.accept(closing):
            return ()
        found = [self._condition()]
        while self.accept(","):
            found.append(self._condition())
        self.expect(closing)
        return tuple(found)

    def _call(self, name: str) -> Node:
        match name:
            case "cast" | "try_cast":
                operand = self._condition()
                self.expect("as")
                to = self._type()
                self.expect(")")
                return Call(name, (operand, to))
            case "trim" if self.next.name in {"both", "leading", "trailing"}:
                side = self.take().name
                characters = _text(" ") if self.sees("from") else self._value()
                self.expect("from")
                return self._trimmed(side, characters)
            case "extract" if self.next.kind == "word":
                unit = _text(self.take().name)
                self.expect("from")
                return Call(name, (unit, *self._list(")")))
            case "extract":
                raise Refused("extract()")
        return self._ordinary(name)

    def _ordinary(self, name: str) -> Node:
        if self.accept(")"):
            return Call(name, ())
        first = self._condition() if name != "position" else self._value()
        if name == "trim" and self.accept("from"):
            return self._trimmed("both", first)
        words = _WORDS_BETWEEN.get(name, ())
        if words and self.sees(words[0]):
            return self._with_words(name, first, words)
        arguments = [first]
        while self.accept(","):
            arguments.append(self._condition())
        self.expect(")")
        if len(arguments) == 2 and name in _TRIMS:
            return Call(_TRIMS[name], tuple(reversed(arguments)))
        if len(arguments) == 3 and name in _BY_UNIT and isinstance(first, Name):
            return Call(_BY_UNIT[name], (_text(first.name), *arguments[1:]))
        if name in _ONLY_BY_UNIT:
            raise Refused(f"{name}() without a unit")
        return Call(name, tuple(arguments))

    def _with_words(self, name: str, first: Node, words: tuple[str, ...]) -> Node:
        """Read arguments with words between them, of which FOR may be left out."""
        arguments = [first]
        for word in words:
            if word == "for" and not self.sees(word):
                break
            self.expect(word)
            arguments.append(self._value())
        self.expect(")")
        return Call(name, tuple(arguments))

    def _trimmed(self, side: str, characters: Node) -> Node:
        operand = self._value()
        self.expect(")")
        return Call("btrim" if side == "both" else f"trim-{side}", (operand, characters))

    def _type(self) -> Literal:
        token = self.take()
        if token.kind != "word" or self.sees("(") or self.sees("<"):
            raise Refused(f'a cast to "{token.text}"')
        return _text(token.name)

    def _case(self) -> Node:
        """Read CASE as a call: ELSE first, the value where there is one, then the branches."""
        value = () if self.sees("when") else (self._condition(),)
        branches: list[Node] = []
        while self.accept("when"):
            branches.append(self._condition())
            self.expect("then")
            branches.append(self._condition())
        otherwise = self._condition() if self.accept("else") else Literal(None, None)
        self.expect("end")
        if not branches:
            raise Refused("a CASE without WHEN")
        return Call("case of a value" if value else "case", (otherwise, *value, *branches))


def _text(text: str) -> Literal:
    return Literal(text, Primitive.STRING)


def _negated(is_not: bool, node: Node) -> Node:
    return Call("NOT", (node,)) if is_not else node
