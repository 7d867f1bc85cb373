"""One record costs no more than its size allows, and an expression fits wherever it is put."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.expressions.compiled.compiler import (
    Compiled,
    NotCompiled,
    Undefined,
    compile_expression,
    compile_filter,
)
from headrace.records.rows import row_class
from headrace.schema.model import Decimal, Field, Primitive, Record
from tests.fuzz.patterns import like

SCHEMA = Record(
    "tests.Row",
    (
        Field("s", Primitive.STRING, nullable=True),
        Field("t", Primitive.STRING, nullable=False),
        Field("n", Primitive.INT, nullable=False),
        Field("l", Primitive.LONG, nullable=False),
        Field("d", Primitive.DOUBLE, nullable=False),
    ),
)
LONG_TEXT = "ab" * 50_000


def value(text: str, s: str | None = None, t: str = "", n: int = 0) -> object:
    found = compile_expression(text, SCHEMA)
    assert isinstance(found, Compiled), found
    return eval(found.source, {**found.constants, "r": row_class(SCHEMA)(s, t, n, 0, 0.0)})  # noqa: S307 - what is tested


@given(st.text("ab", max_size=12), st.text("ab%_", max_size=8))
def test_like_is_what_it_is_defined_as(text: str, pattern: str) -> None:
    assert value(f"t LIKE '{pattern}'", t=text) is like(text, pattern)


# Each of them took hours for such a text, where a search that failed was begun anew.
@pytest.mark.parametrize("pattern", ["%a%b%c%d%e", "%ab_%ab_%x", "%_a%_b%_a%", "a%a%a%a%a%c_"])
def test_like_comes_to_an_end_for_any_text(pattern: str) -> None:
    assert value(f"t LIKE '{pattern}'", t=LONG_TEXT) is ("x" not in pattern and "_a%" in pattern)


@pytest.mark.parametrize(
    "text",
    [
        "repeat(t, n)",
        "lpad(t, n, 'x')",
        "rpad(t, n, 'xy')",
        "replace(t, 'a', t)",
        "concat(" + ", ".join(["t"] * 200) + ")",
        " || ".join(["t"] * 200),
        "concat_ws(t, " + ", ".join(["t"] * 200) + ")",
        "repeat(repeat(repeat(t, 1000), 1000), 1000)",
    ],
)
def test_a_result_that_is_far_longer_than_a_record_is_a_reason(text: str) -> None:
    with pytest.raises(Undefined, match="the result is longer than 16,777,216 characters"):
        value(text, t=LONG_TEXT, n=2**31 - 1)


def test_what_is_trimmed_is_looked_through_once() -> None:
    signs = "".join(map(chr, range(0x4E00, 0x9000)))
    assert value("trim(s FROM t)", s=signs, t=signs * 10 + "x" + signs) == "x"
    assert value("ltrim(s, t)", s=signs, t=signs + "x" + signs) == "x" + signs
    assert value("rtrim(s, t)", s=signs, t=signs + "x" + signs) == signs + "x"


def test_days_between_dates_overflow_as_ints_of_java() -> None:
    days = "datediff(date_from_unix_date(2147483647), date_from_unix_date(-2147483647))"
    assert value(days) == -2


def test_a_month_that_lacks_hours_is_not_whole() -> None:
    start, end = "TIMESTAMP '2024-01-31 10:00:00'", "TIMESTAMP '2024-03-01 09:00:00'"
    # As Java counts: the last day is not full, and the one before it lies in February.
    assert value(f"timestampdiff(MONTH, {start}, {end})") == 0
    assert value(f"timestampdiff(MONTH, {end}, {start})") == -1


def test_delimiters_may_overlap_from_either_end() -> None:
    assert value("substring_index('aaaa', 'aa', 2)") == "a"
    assert value("substring_index('aaaa', 'aa', -2)") == "a"
    assert value("substring_index(t, ', ', 2)", t="a, b, c") == "a, b"
    assert value("substring_index(t, 'x', 2)", t="a") == "a"


def test_an_expression_leaves_room_for_what_stands_around_it() -> None:
    for count in range(60, 130):
        found = compile_expression(" || ".join(["s"] * count), SCHEMA)
        if isinstance(found, NotCompiled):
            assert found.reason == "it is nested too deep"
        else:
            compile("[" * 40 + found.source + "]" * 40, "<route>", "eval")


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("d < 1e999", "double"),
        ("d > -1E309", "double"),
        ("d < 1e999D", "double"),
        ("d < 1.5e39F", "float"),
        ("l < 9223372036854775808L", "bigint"),
        ("n < 128Y", "tinyint"),
        ("n < 40000S", "smallint"),
        ("d < 1234567890123456789012345678901234567890", "decimal"),
        ("d < .1234567890123456789012345678901234567890", "decimal"),
        ("d < 1e38BD", "decimal"),
    ],
)
def test_a_number_beyond_its_type_is_not_compiled(text: str, type_: str) -> None:
    assert compile_filter(text, SCHEMA) == NotCompiled(
        f"a number that does not fit the type {type_}"
    )


def test_decimals_are_compared_where_there_is_room_for_both() -> None:
    def reason(precision: int, scale: int, text: str) -> str | None:
        fields = (Field("dec", Decimal(precision, scale), nullable=False), *SCHEMA.fields)
        found = compile_filter(text, Record("tests.Decimals", fields))
        return found.reason if isinstance(found, NotCompiled) else None

    too_wide = "a comparison of decimals that 38 digits have no room for"
    assert reason(38, 30, "dec = l") == too_wide
    assert reason(38, 30, "dec <=> n") == too_wide
    assert reason(38, 30, "dec = 123456789") == too_wide
    assert reason(38, 30, "dec BETWEEN 1 AND 5") is None
    assert reason(38, 18, "dec = l") is None
    assert reason(10, 2, "dec < n") is None


DATED = Record("tests.Dated", (Field("a", Primitive.DATE, nullable=False),))


@pytest.mark.parametrize("text", ["trunc(a, 'month')", "trunc(a, 'year')", "last_day(a)"])
@pytest.mark.parametrize("days", [-(2**31), 2**31 - 1])
def test_a_date_that_no_date_can_be_is_an_error(text: str, days: int) -> None:
    """As in Spark: the month of the first date there is began before that."""
    found = compile_expression(text, DATED)
    assert isinstance(found, Compiled), found
    row = row_class(DATED)(days)
    try:
        made = eval(found.source, {**found.constants, "r": row})  # noqa: S307 - what is tested
    except Undefined:
        return
    assert -(2**31) <= made < 2**31
