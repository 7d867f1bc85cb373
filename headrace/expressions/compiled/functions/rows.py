"""What a row of the table of functions says, and how a call is compiled by it.

A signature has a letter for each argument, and behind `>` one for the result:

| s i l d b y a t w | string, int, bigint, double, boolean, binary, date, timestamp, timestamp_ntz; |
|                   | an argument of another type is cast, where Spark casts it without being asked |
| S I L …           | the same types, and no argument is cast                                       |
| # [ {             | an int, a bigint or NULL; a list; a map: no argument is cast                  |
| m                 | a timestamp with or without a zone, or what is cast to one; all m are alike   |
| /                 | a regular expression in quotes that no empty text fits: the compiled pattern  |
| %                 | the same, where it only matters whether it is found                           |
| =                 | as a result: the type of the first argument                                   |

`'` before an argument's letter: it has to be written out. Behind the result stand `!` it may be
undefined, `^` it is so where it does not fit its type, `~` it may be null where no argument is,
`?` Spark's schema says that it may be null.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from headrace.expressions.compiled.fragment import Fragment, Kind, Scope, lift, literal_of, need
from headrace.expressions.compiled.functions import patterns
from headrace.expressions.compiled.operators.casts import as_kind
from headrace.expressions.compiled.operators.coercion import MOMENTS, TIMESTAMP, WHOLE, checked
from headrace.expressions.compiled.syntax import Refused
from headrace.schema.model import Array, Map, Primitive, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_KINDS: Final[Mapping[str, Primitive]] = {
    "s": Primitive.STRING,
    "i": Primitive.INT,
    "l": Primitive.LONG,
    "d": Primitive.DOUBLE,
    "b": Primitive.BOOLEAN,
    "y": Primitive.BYTES,
    "a": Primitive.DATE,
    "t": Primitive.TIMESTAMP_MICROS,
    "w": Primitive.LOCAL_TIMESTAMP_MICROS,
    # NULL is taken for an int.
    "#": Primitive.INT,
}
_CONTAINERS: Final[Mapping[str, type[Array | Map]]] = {"[": Array, "{": Map}


@dataclass(frozen=True, slots=True)
class Row:
    """A function: its names, its signature, and what its source is.

    The source is what is called at run time, or a template of the arguments' sources, in which
    `{f}` is the function `f` and `{t}` a name of its own. `by` is about the one argument that is
    written out: what it stands for is `{by}`. `defaults` are the values of arguments left out.
    `of` gives the result's type for that of the first argument, `items` are the types that a
    list's items may have.
    """

    names: str
    signature: str
    source: str | Callable[..., object] = "{by}({0})"
    f: Callable[..., object] | None = None
    by: Mapping[Any, Any] | Callable[[Any], Callable[..., object]] | None = None
    defaults: tuple[Any, ...] = ()
    of: Callable[[Any], Type] | None = None
    items: tuple[Kind, ...] = ()

    @property
    def arguments(self) -> list[str]:
        """The letters of the arguments, each with the quote before it."""
        return re.findall(r"'?[^']", self.signature.partition(">")[0])

    @property
    def result(self) -> str:
        """The result's letter and the flags behind it."""
        return self.signature.partition(">")[2]

    def takes(self, count: int) -> bool:
        """Whether a call may have that many arguments."""
        return 0 <= len(self.arguments) - count <= len(self.defaults)

    def fits(self, values: Sequence[Fragment]) -> bool:
        """Whether the arguments are what the signature says before anything is cast."""
        number = self._number_of_by
        if isinstance(self.by, Mapping) and number is not None:
            return _folded(values[number].literal) in self.by
        return all(map(self._fits, self.arguments, values))

    def _fits(self, letter: str, value: Fragment) -> bool:
        if letter[0] == "'" and not value.is_literal:
            return False
        match letter[-1]:
            case "#":
                return value.kind in WHOLE
            case "[" | "{":
                return isinstance(value.kind, _CONTAINERS[letter])
            case "m" | "/" | "%":
                return True
        return value.kind is _KINDS[letter[-1].lower()]

    def compiled(self, name: str, scope: Scope, values: Sequence[Fragment]) -> Fragment:
        """Compile a call by one of the names."""
        what = f"{name}()" if name.isidentifier() else name
        letters = self.arguments
        left_out = letters[len(values) :]
        defaults = self.defaults[len(self.defaults) - len(left_out) :]
        arguments = [
            *map(partial(self._argument, what, scope), letters, values),
            *map(partial(literal_of, scope), defaults, (_KINDS[one[-1]] for one in left_out)),
        ]
        moments = {
            one.kind for letter, one in zip(letters, arguments, strict=True) if letter == "m"
        }
        if len(moments) > 1:
            raise Refused(f"{what} of two kinds of timestamps")
        type_ = self._type(arguments, moments)
        number = self._number_of_by
        operands = [one for at, one in enumerate(arguments) if at != number]
        if self.source == "{0}":
            declared = "?" in self.result or operands[0].declared
            return replace(operands[0], type=type_, declared=declared)
        literal = None if number is None else arguments[number].literal
        build = self._build(what, scope, type_, literal)
        fails = not {"!", "^"}.isdisjoint(self.result)
        flags = {"nullable": "~" in self.result, "declared": "?" in self.result}
        return lift(scope, operands, type_, build, fails=fails, **flags)

    @property
    def _number_of_by(self) -> int | None:
        """Which argument `by` is about."""
        found = (number for number, letter in enumerate(self.arguments) if letter[0] == "'")
        return None if self.by is None else next(found)

    def _argument(self, what: str, scope: Scope, letter: str, value: Fragment) -> Fragment:
        if letter[0] == "'" and not (value.is_literal and value.kind is _KINDS[letter[-1]]):
            shown = "text in quotes" if letter[-1] == "s" else "number in digits"
            raise Refused(f"{what} with an argument that is no {shown}")
        match letter[-1]:
            case "#" if value.kind is not None:
                return need(value, WHOLE, what)
            case "[" | "{":
                return self._container(what, letter, value)
            case "m":
                return value if value.kind in MOMENTS else as_kind(scope, value, TIMESTAMP, what)
            case "/" | "%":
                return patterns.pattern(scope, value, what, is_test=letter == "%")
        kind = _KINDS[letter[-1].lower()]
        return need(value, [kind], what) if letter.isupper() else as_kind(scope, value, kind, what)

    def _container(self, what: str, letter: str, value: Fragment) -> Fragment:
        if not isinstance(value.kind, _CONTAINERS[letter]):
            raise Refused(f"{what} of {value.kind_name}")
        if self.items and isinstance(value.kind, Array):
            need(replace(value, type=value.kind.item), self.items, f"{what} of items")
        return value

    def _type(self, arguments: Sequence[Fragment], moments: set[Kind]) -> Type | None:
        if self.of is not None:
            return self.of(arguments[0].kind)
        letter = self.result[0]
        if letter == "=":
            return arguments[0].type
        return moments.pop() if letter == "m" else _KINDS[letter]

    def _build(
        self, what: str, scope: Scope, type_: Type | None, literal: object
    ) -> Callable[..., str]:
        template = self.source
        function = self.f if isinstance(template, str) else template
        known = {} if function is None else {"f": scope.helper(function)}
        if isinstance(template, str) and "{t}" in template:
            known["t"] = scope.temporary()
        if isinstance(self.by, Mapping):
            found = self.by.get(_folded(literal))
            if found is None:
                raise Refused(f"{what} with {literal!r}")
            known["by"] = scope.helper(found) if callable(found) else str(found)
        elif self.by is not None:
            known["by"] = scope.helper(self.by(literal))

        def build(*sources: str) -> str:
            if isinstance(template, str):
                source = template.format(*sources, **known)
            else:
                source = f"{known['f']}({', '.join(sources)})"
            return checked(scope, source, type_) if "^" in self.result else source

        return build


def _folded(literal: object) -> object:
    return literal.lower() if isinstance(literal, str) else literal


def compile_by(rows: Sequence[Row], name: str, scope: Scope, *values: Fragment) -> Fragment:
    """Compile a call by the first row that the arguments fit as they are, or else by the last."""
    fitting = [row for row in rows if row.takes(len(values))]
    if not fitting:
        raise Refused(f"{name}() of {len(values)} arguments")
    row = next((one for one in fitting[:-1] if one.fits(values)), fitting[-1])
    return row.compiled(name, scope, values)
