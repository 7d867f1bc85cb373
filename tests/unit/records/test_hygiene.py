from __future__ import annotations

import decimal
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.config.common.hygiene import Hygiene
from headrace.errors import Terminal
from headrace.records.hygiene.rules import (
    Broken,
    coerced_paths,
    first_broken,
    rules,
    too_large,
)
from headrace.records.rows import Row, row_class
from headrace.schema.model import Array, Decimal, Field, Primitive, Record

if TYPE_CHECKING:
    from headrace.records.hygiene.rules import HygieneRules
    from headrace.records.rows import BadRecordKind

USER = Record(
    "User",
    (
        Field("email", Primitive.STRING, nullable=True),
        Field("Age", Primitive.INT, nullable=True),
    ),
)
EVENT = Record(
    "Event",
    (
        Field("id", Primitive.STRING, nullable=True),
        Field("n", Primitive.LONG, nullable=True),
        Field("ratio", Primitive.DOUBLE, nullable=True),
        Field("price", Decimal(9, 2), nullable=True),
        Field("at", Primitive.TIMESTAMP_MILLIS, nullable=True),
        Field("day", Primitive.DATE, nullable=True),
        Field("clock", Primitive.TIME_MILLIS, nullable=True),
        Field("user", USER, nullable=True),
        Field("tags", Array(Primitive.STRING, item_nullable=True), nullable=True),
    ),
)
HOUR_MS = 3_600_000
NOW_MS = 1_772_323_200_000


def hygiene(**keys: object) -> HygieneRules:
    return Hygiene.model_validate(keys).as_rules()


def row(user: Row = None, **values: object) -> Row:
    return row_class(EVENT)(
        *(user if field.name == "user" else values.get(field.name) for field in EVENT.fields)
    )


def user(email: str | None, age: int | None) -> Row:
    return row_class(USER)(email, age)


def broken(by: HygieneRules, record: Row, timestamp_ms: int = NOW_MS) -> Broken | None:
    return first_broken(rules(by, EVENT))(record, timestamp_ms, NOW_MS)


def test_without_rules_every_record_is_good() -> None:
    assert broken(hygiene(), row()) is None


def test_what_is_required_is_there_all_the_way() -> None:
    rule = hygiene(required=["ID", "user.age"])
    assert broken(rule, row(id="", user=user(None, 0))) is None
    assert broken(rule, row(user=user("e", 1))) == Broken(
        "required", "ID", "id is required and missing", "quarantine"
    )
    for missing in (None, user("e", None)):
        found = broken(rule, row(id="x", user=missing))
        assert found is not None
        assert found.reason == "user.Age is required and missing"


@pytest.mark.parametrize(
    ("column", "limits", "good", "bad", "reason"),
    [
        ("n", {"min": 0, "max": 9}, [0, 9, None], [-1], "n is -1, below the least value allowed"),
        ("n", {"max": 9}, [-(10**18), 9], [10], "n is 10, above the greatest value allowed"),
        ("n", {"min": "0x10"}, [16], [15], "n is 15, below the least value allowed"),
        ("ratio", {"min": 0}, [0.0, math.inf], [-0.1], "ratio is -0.1, below the least"),
        ("ratio", {"max": 1}, [0.0], [math.nan], "ratio is nan, not between the least and the"),
        (
            "price",
            {"min": "0.10", "max": 0.2},
            [decimal.Decimal("0.10"), decimal.Decimal("0.20")],
            [decimal.Decimal("0.09"), decimal.Decimal("0.21")],
            "price is 0.",
        ),
        (
            "at",
            {"min": "2026-03-01T01:00:00+01:00"},
            [1_772_323_200_000_000],
            [1_772_323_199_999_999],
            "at is below the least value allowed",
        ),
        ("day", {"max": "1970-01-02"}, [1], [2], "day is above the greatest value allowed"),
        ("clock", {"max": "01:00:00"}, [HOUR_MS], [HOUR_MS + 1], "clock is above"),
    ],
)
def test_both_bounds_of_a_range_are_within(
    column: str, limits: dict[str, object], good: list[Any], bad: list[Any], reason: str
) -> None:
    rule = hygiene(ranges={column: limits})
    assert [broken(rule, row(**{column: value})) for value in good] == [None] * len(good)
    for value in bad:
        found = broken(rule, row(**{column: value}))
        assert found is not None
        assert (found.kind, found.column) == ("range", column)
        assert found.reason.startswith(reason)


def test_a_range_within_a_record_passes_where_that_is_null() -> None:
    rule = hygiene(ranges={"user.age": {"min": 18}})
    assert broken(rule, row()) is None
    assert broken(rule, row(user=user("e", None))) is None
    assert broken(rule, row(user=user("e", 18))) is None
    found = broken(rule, row(user=user("e", 17)))
    assert found is not None
    assert found.reason == "user.Age is 17, below the least value allowed"


def test_a_timestamp_may_be_ahead_by_the_limit_and_no_more() -> None:
    rule = hygiene(max_future_skew="1h")
    assert broken(rule, row(), NOW_MS + HOUR_MS) is None
    # Kafka's mark of a record without a timestamp
    assert broken(rule, row(), -1) is None
    assert broken(rule, row(), NOW_MS + HOUR_MS + 1) == Broken(
        "future_skew", None, "its timestamp is more than 3600 s ahead of the clock", "quarantine"
    )


def test_the_size_is_a_question_of_its_own() -> None:
    assert hygiene().max_size is None
    rule = hygiene(max_size={"limit": "1KiB", "on_bad_record": "drop"})
    assert rule.max_size == 1024
    assert too_large(rule, 1025) == Broken(
        "size", None, "key and value have 1025 bytes, more than the 1024 allowed", "drop"
    )


def test_what_the_reader_of_json_is_told() -> None:
    rule = hygiene(coerce=["N", "user.age"], unknown_fields="refuse")
    assert coerced_paths(rule, EVENT) == {"n", "user.Age"}
    assert rule.refuses_unknown
    assert not hygiene(unknown_fields="drop").refuses_unknown
    assert not hygiene().refuses_unknown


def test_a_rule_has_its_own_action_or_the_sections() -> None:
    rule = hygiene(
        required={"columns": ["id"], "on_bad_record": "drop"},
        ranges={"n": {"min": 0, "on_bad_record": "fail"}, "ratio": {"min": 0}},
        max_future_skew="1h",
        unknown_fields={"policy": "refuse", "on_bad_record": "drop"},
        on_bad_record="quarantine",
    )
    expected: dict[tuple[BadRecordKind, str | None], str] = {
        ("required", None): "drop",
        ("range", "n"): "fail",
        ("range", "ratio"): "quarantine",
        ("future_skew", None): "quarantine",
        ("size", None): "quarantine",
        ("unknown_fields", None): "drop",
        ("decode", None): "quarantine",
        ("schema", None): "quarantine",
    }
    assert {key: rule.action(*key) for key in expected} == expected
    found = broken(rule, row(id="x", n=-1))
    assert found is not None
    assert found.action == "fail"


def test_the_first_rule_that_a_record_breaks_is_told() -> None:
    rule = hygiene(required=["id"], ranges={"n": {"min": 0}}, max_future_skew="1h")
    late = NOW_MS + 2 * HOUR_MS
    told = [
        broken(rule, row(n=-1), late),
        broken(rule, row(id="x", n=-1), late),
        broken(rule, row(id="x", n=1), late),
    ]
    assert [one.kind for one in told if one] == ["required", "range", "future_skew"]
    each = [first_broken([one])(row(n=-1), late, NOW_MS) for one in rules(rule, EVENT)]
    assert [one.kind for one in each if one] == ["required", "range", "future_skew"]


@given(
    values=st.lists(st.none() | st.integers(-5, 5), min_size=3, max_size=3),
    limits=st.tuples(st.integers(-4, 4), st.integers(-4, 4)),
)
def test_the_whole_is_the_rules_one_after_the_other(
    values: list[int | None], limits: tuple[int, int]
) -> None:
    low, high = min(limits), max(limits)
    rule = hygiene(
        required=["n"],
        ranges={
            "n": {"min": low, "max": high},
            "day": {"max": "1970-01-03"},
            "user.age": {"min": 0},
        },
    )
    n, day, age = values
    is_good = (
        n is not None
        and low <= n <= high
        and (day is None or day <= 2)
        and (age is None or age >= 0)
    )
    assert (broken(rule, row(n=n, day=day, user=user(None, age))) is None) == is_good


@pytest.mark.parametrize(
    "keys",
    [
        {"required": ["nope"]},
        {"required": ["tags.x"]},
        {"ranges": {"nope": {"min": 1}}},
        {"ranges": {"id": {"min": 1}}},
        {"ranges": {"n": {"min": "soon"}}},
    ],
)
def test_a_schema_that_turns_out_otherwise_is_refused_by_name(keys: dict[str, object]) -> None:
    with pytest.raises(Terminal, match=r"hygiene (names|has a range for) the column"):
        rules(hygiene(**keys), EVENT)
    with pytest.raises(Terminal):
        coerced_paths(hygiene(coerce=["nope"]), EVENT)
