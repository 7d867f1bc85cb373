from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.expressions.projection import Projected, check_projection
from headrace.expressions.queries import check_query
from tests.unit.expressions.schema import SCHEMA


@pytest.mark.parametrize(
    ("item", "name", "expression"),
    [
        ("event_id", "event_id", "event_id"),
        (" Event_Id ", "Event_Id", "Event_Id"),
        ("geo.lat", "lat", "geo.lat"),
        ("`a b`", "a b", "`a b`"),
        (
            "__metadata__.kafka_ingestion_ts",
            "kafka_ingestion_ts",
            "__metadata__.kafka_ingestion_ts",
        ),
        ("upper(country) AS country", "country", "upper(country)"),
        ("n + 1 as `one more`", "one more", "n + 1"),
        ("n  m", "m", "n"),
        ("'a as b' as c", "c", "'a as b'"),
        ("cast(n as string) as n", "n", "cast(n as string)"),
        ("named_struct('x', n, 'y', geo) AS pair", "pair", "named_struct('x', n, 'y', geo)"),
        ("true as yes", "yes", "true"),
        ("tags[0].k AS k", "k", "tags[0].k"),
    ],
)
def test_items_and_their_names(item: str, name: str, expression: str) -> None:
    assert check_projection([item], SCHEMA) == ([Projected(name, expression)], [])


def test_a_star_is_all_columns_of_the_stream() -> None:
    projected, problems = check_projection(["*"], SCHEMA)
    assert problems == []
    assert [one.name for one in projected] == [field.name for field in SCHEMA.fields]
    assert projected[-1] == Projected("a b", "`a b`")


def test_a_star_may_leave_columns_out() -> None:
    projected, problems = check_projection(
        ["* EXCEPT (geo, `A B`, tags, labels)", "geo.lat as geo"], SCHEMA
    )
    assert problems == []
    assert [one.name for one in projected] == [
        "event_id",
        "event_type",
        "country",
        "ok",
        "ts",
        "n",
        "geo",
    ]


def test_a_star_over_unknown_columns_stays_one() -> None:
    assert check_projection(["*"], None) == ([Projected("*", "*")], [])
    assert check_projection(["anything", "f.x"], None)[1] == []


@pytest.mark.parametrize(
    ("items", "number", "offset", "message", "suggestion"),
    [
        (["n + 1"], 0, 0, "a computed column needs a name", 'write "n + 1 AS '),
        (["upper(country)"], 0, 0, "a computed column needs a name", 'write "upper(country) AS country"'),
        (["labels['x']"], 0, 0, "a computed column needs a name", "AS"),
        (["n", "N"], 1, 0, 'two columns have the name "N"', "AS"),
        (["n", "*"], 1, 0, 'two columns have the name "n"', "AS"),
        (["contry"], 0, 0, 'unknown column "contry"', 'did you mean "country"?'),
        (["n", "upper(contry) AS c"], 1, 6, 'unknown column "contry"', 'did you mean "country"?'),
        (["* EXCEPT (geo, nn)"], 0, 15, 'unknown column "nn"', ""),
        (["*, n"], 0, 1, "write * alone", None),
        (["count(*) AS c"], 0, 0, "count() is not allowed", "kind: app"),
        (["explode(tags) AS t"], 0, 0, "explode() is not allowed", ""),
        (["reflect('a', 'b') AS x"], 0, 0, "reflect() is not allowed", ""),
        (["current_timestamp AS x"], 0, 0, "current_timestamp is not allowed", ""),
        (["current_date"], 0, 0, "current_date is not allowed", ""),
        (["null"], 0, 0, "a computed column needs a name", ""),
        (["n as (a, b)"], 0, 0, "this part of SQL belongs to queries", ""),
        (["n, country"], 0, 1, "does not parse", None),
        (["n from t"], 0, 2, "", ""),
        ([""], 0, 0, "there is no expression", None),
    ],
)  # fmt: skip
def test_mistakes_in_items(
    items: list[str], number: int, offset: int, message: str, suggestion: str | None
) -> None:
    _, problems = check_projection(items, SCHEMA)
    place, problem = problems[0]
    assert (place, problem.offset, message in problem.message) == (number, offset, True), problem
    if suggestion is None:
        assert problem.suggestion is None
    else:
        assert suggestion in (problem.suggestion or "")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=3))
def test_any_items_are_columns_or_located_problems(items: list[str]) -> None:
    projected, problems = check_projection(items, SCHEMA)
    for number, problem in problems:
        assert 0 <= problem.offset <= len(items[number])
    assert problems or len(projected) >= len(items)


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("", 0, "there is no query"),
        ("SELECT * FROM", 9, "does not parse"),
        ("DROP TABLE x", 0, "not a query"),
        (" a + 1", 1, "not a query"),
        ("SELECT 1; SELECT 2", 0, "several statements"),
    ],
)
def test_queries_that_are_none(text: str, offset: int, message: str) -> None:
    (problem,) = check_query(text)
    assert message in problem.message
    assert problem.offset == offset


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, count(*) FROM `live-impressions` GROUP BY a",
        "WITH x AS (SELECT 1 AS a) SELECT * FROM x UNION ALL SELECT 2",
        "SELECT * FROM a JOIN b ON a.id = b.id AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 10 MINUTES",
    ],
)
def test_queries(text: str) -> None:
    assert check_query(text) == []


def test_a_query_may_group_by_windows_of_time_and_name_their_bounds() -> None:
    query = "SELECT window.start AS minute, count(*) FROM s GROUP BY window(ts, '1 minute')"
    assert check_query(query) == []
    assert check_query("SELECT Window.end, sum(x) OVER w FROM s WINDOW w AS (ORDER BY x)") == []
    (problem,) = check_query("SELECT window.start, upper(x FROM s")
    assert "does not parse" in problem.message
