"""The functions that are one expression or one call at run time, each a row of a table.

A row is the function's names, its signature, and its source: a template, or what is called. In a
signature each argument is a letter, its kind; behind `>` stands the kind of the result, and what
is said of it: `!` it may be undefined, `~` it may be null where no argument is, `?` Spark's schema
says that it may be null. What stands behind the source are the values of arguments left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from headrace.expressions.lane import (
    run_case,
    run_codes,
    run_dates,
    run_moments,
    run_numbers,
    run_texts,
)
from headrace.expressions.lane.casts import as_kind
from headrace.expressions.lane.coerce import (
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    LOCAL,
    LONG,
    STRING,
    TIMESTAMP,
)
from headrace.expressions.lane.nodes import Refused
from headrace.expressions.lane.value import Value, lift, literal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from headrace.expressions.lane.value import Scope
    from headrace.schema.model import Primitive

_KINDS: Final[Mapping[str, Primitive]] = {
    "s": STRING,
    "i": INT,
    "l": LONG,
    "d": DOUBLE,
    "b": BOOLEAN,
    "y": BYTES,
    "D": DATE,
    "t": TIMESTAMP,
    "w": LOCAL,
}
_HOUR_US: Final = 3_600_000_000


@dataclass(frozen=True, slots=True)
class Row:
    """A function that is compiled by its signature alone."""

    name: str
    arguments: str
    result: str
    source: str | Callable[..., object]
    defaults: tuple[Any, ...]

    def compiled(self, scope: Scope, values: Sequence[Value]) -> Value:
        """Compile a call of it."""
        missing = len(self.arguments) - len(values)
        if not 0 <= missing <= len(self.defaults):
            raise Refused(f"{self.name}() of {len(values)} arguments")
        kinds = [_KINDS[letter] for letter in self.arguments]
        given = [
            as_kind(scope, value, kind, f"{self.name}()")
            for value, kind in zip(values, kinds, strict=False)
        ]
        left_out = zip(kinds[len(values) :], self.defaults[-missing:] or (), strict=False)
        given += [literal_of(scope, value, kind) for kind, value in left_out]
        return lift(
            scope,
            given,
            _KINDS[self.result[0]],
            self._build(scope),
            fails="!" in self.result,
            nullable="~" in self.result,
            declared="?" in self.result,
        )

    def _build(self, scope: Scope) -> Callable[..., str]:
        if isinstance(self.source, str):
            return self.source.format
        name = scope.helper(self.source)
        return lambda *sources: f"{name}({', '.join(sources)})"


_TABLE: Final[tuple[tuple[Any, ...], ...]] = (
    ("upper ucase", "s>s", run_case.upper),
    ("lower lcase", "s>s", run_case.lower),
    ("left", "si>s", run_texts.first),
    ("right", "si>s?", run_texts.last),
    ("replace", "sss>s", run_texts.replaced, ""),
    ("startswith", "ss>b", "{0}.startswith({1})"),
    ("endswith", "ss>b", "{0}.endswith({1})"),
    ("contains", "ss>b", "{1} in {0}"),
    ("instr", "ss>i", "{0}.find({1}) + 1"),
    ("lpad", "sis>s", run_texts.padded_left, " "),
    ("rpad", "sis>s", run_texts.padded_right, " "),
    ("repeat", "si>s", run_texts.repeated),
    ("space", "i>s", run_texts.spaces),
    ("overlay", "ssii>s", run_texts.overlaid, -1),
    ("split_part", "ssi>s!?", run_texts.split_part),
    ("translate", "sss>s", run_texts.translated),
    ("find_in_set", "ss>i", run_texts.place_in_set),
    ("quote", "s>s?", run_texts.quoted),
    ("ascii", "s>i", run_texts.code_of),
    ("chr char", "l>s", run_texts.sign_of_code),
    ("is_valid_utf8", "s>b", "True"),
    ("make_valid_utf8", "s>s?", "{0}"),
    ("validate_utf8", "s>s?", "{0}"),
    ("try_validate_utf8", "s>s?", "{0}"),
    ("luhn_check", "s>b?", run_codes.has_luhn_digit),
    ("base64", "y>s", run_texts.base64),
    ("unhex", "s>y~", run_codes.bytes_of_hex),
    ("md5", "y>s", run_texts.md5),
    ("sha1 sha", "y>s", run_texts.sha1),
    ("crc32", "y>l", run_texts.crc32),
    ("url_encode", "s>s?", run_codes.url_encoded),
    ("url_decode", "s>s!?", run_codes.url_decoded),
    ("bin", "l>s", run_codes.binary_digits),
    ("conv", "sii>s!~", run_codes.converted),
    ("sqrt", "d>d?", run_numbers.square_root),
    ("rint", "d>d?", run_numbers.to_even),
    ("degrees", "d>d?", "{0} * 57.29577951308232"),
    ("radians", "d>d?", "{0} * 0.017453292519943295"),
    ("factorial", "i>l~", run_numbers.factorial),
    ("width_bucket", "dddl>l~", run_numbers.bucket),
    ("year", "D>i", run_moments.year),
    ("quarter", "D>i", run_moments.quarter),
    ("month", "D>i", run_moments.month),
    ("day dayofmonth", "D>i", run_moments.day),
    ("dayofyear", "D>i", run_moments.day_of_year),
    ("weekofyear", "D>i", run_dates.week),
    ("dayofweek", "D>i", "({0} + 4) % 7 + 1"),
    ("weekday", "D>i", "({0} + 3) % 7"),
    ("dayname", "D>s", run_dates.day_name),
    ("monthname", "D>s", run_dates.month_name),
    ("last_day", "D>D", run_dates.month_end),
    ("next_day", "Ds>D!?", run_dates.next_day),
    ("add_months", "Di>D!", run_dates.months_later),
    ("make_date", "iii>D!", run_dates.date_of),
    ("unix_date", "D>i", "{0}"),
    ("date_from_unix_date", "i>D", "{0}"),
    ("datediff date_diff", "DD>i", run_moments.days_between),
    ("to_date date", "D>D", "{0}"),
    ("hour", "t>i", f"{{0}} // {_HOUR_US} % 24"),
    ("minute", "t>i", "{0} // 60000000 % 60"),
    ("second", "t>i", "{0} // 1000000 % 60"),
    ("unix_seconds", "t>l", "{0} // 1000000"),
    ("unix_millis", "t>l", "{0} // 1000"),
    ("unix_micros", "t>l", "{0}"),
    ("timestamp_millis", "l>t!", run_moments.timestamp_of_millis),
    ("timestamp_micros", "l>t", "{0}"),
    ("to_timestamp_ntz", "w>w", "{0}"),
    ("to_timestamp_ltz", "t>t", "{0}"),
)


def _rows() -> Iterator[tuple[str, Row]]:
    for names, signature, source, *defaults in _TABLE:
        arguments, _, result = signature.partition(">")
        for name in names.split():
            yield name, Row(name, arguments, result, source, tuple(defaults))


ROWS: Final[Mapping[str, Row]] = dict(_rows())
