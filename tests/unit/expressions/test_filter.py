from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.contract import RAW_SCHEMA
from headrace.expressions.allowed_functions import ALLOWED, KEYWORDS, REFUSED
from headrace.expressions.projection import check_filter
from headrace.expressions.tokens import BARE_CALLS
from tests.unit.expressions.schema import SCHEMA


@pytest.mark.parametrize(
    "text",
    [
        "event_type = 'start'",
        "EVENT_TYPE = 'start' AND Geo.Lat > 1.5e0",
        "ok",
        "not ok",
        "ok and (n > 1 or country in ('NL', 'BE'))",
        "n between 1 and 2 and country is not null",
        "country like 'N%' or country ilike any ('a', 'b') or country rlike '^x'",
        "`a b` = 'x'",
        "exists(tags, x -> x.k = 'a' and n > 1)",
        "size(filter(tags, (t, i) -> t.k = country and i > 0)) > 0",
        "aggregate(transform(tags, t -> length(t.k)), 0, (acc, x) -> acc + x) > 3",
        "tags[0].k = 'x' and labels['a'] = 'b' and labels.a = 'b'",
        "tags.k[0] = 'x'",
        "case when ok then n > 1 else false end",
        "cast(n as decimal(10, 2)) > 1 and n::int = 1",
        "cast(geo as struct<lat: int>).lat > 1",
        "timestampadd(HOUR, 1, ts) > timestamp '2020-01-01 00:00:00'",
        "ts - interval 1 day > date '2020-01-01' and extract(day from ts) = 1",
        "country = 'it\\'s' and country != r'\\d' and country <> \"x\"",
        "coalesce(country, 'x') <=> 'y' and n & 1 = 1 and n % 2 == 0",
        "from_json(country, 'a int').a = 1 and get_json_object(country, '$.a') = '1'",
        "crc32(country) % 10 = 0 and sha2(event_id, 256) like 'a%'",
        "trim(both 'x' from country) = 'a' and substring(country from 1 for 2) = 'b'",
        "__metadata__.partition = 1 and __METADATA__.kafka_ingestion_ts > ts",
        "country is distinct from event_type",
        "country = 'now' or event_type in ('today', 'never') or country like 'tomorrow'",
        "unix_timestamp(ts) > 1",
    ],
)
def test_conditions_that_spark_understands(text: str) -> None:
    assert check_filter(text, SCHEMA) == []


@pytest.mark.parametrize(
    ("text", "offset", "message", "suggestion"),
    [
        ("evnt_type = 'x'", 0, 'unknown column "evnt_type"', 'did you mean "event_type"?'),
        ("ok and geo.lon > 1", 11, 'unknown column "geo.lon"', 'did you mean "geo.lat"?'),
        ("n.x = 1", 2, 'unknown column "n.x"', '"n" has no fields'),
        ("exists(tags, x -> y.k = 'a')", 18, 'unknown column "y.k"', "known: event_id"),
        ("tags[0].q = 'a'", 8, 'unknown column "tags[].q"', "tags.k"),
        ("__metadata__.offst = 1", 13, "unknown column", 'did you mean "__metadata__.offset"?'),
        ("upper(country", 6, "does not parse", None),
        ("ok = ", 3, "does not parse", None),
        ("country = 'x", 10, "a quote is not closed", "close it"),
        ("uper(country) = 'X'", 0, "uper() is not an allowed function", 'did you mean "upper"?'),
        ("event_type", 0, "a filter needs a condition", "compare it"),
        ("ok and n + 1", 7, "a filter needs a condition", "compare it"),
        ("'x'", 0, "a filter needs a condition", "compare it"),
        ("1", 0, "a filter needs a condition", "compare it"),
        ("ok AS x", 0, "a name for a part", "AS"),
        ("*", 0, "* is allowed only as a whole item", "name the columns"),
        ("", 0, "there is no expression", None),
        ("n -> n", 2, "-> is allowed only within a function", None),
    ],
)
def test_mistakes_at_their_characters(
    text: str, offset: int, message: str, suggestion: str | None
) -> None:
    problem = check_filter(text, SCHEMA)[0]
    assert (problem.offset, message in problem.message) == (offset, True), problem
    if suggestion is None:
        assert problem.suggestion is None
    else:
        assert suggestion in (problem.suggestion or "")


@pytest.mark.parametrize(
    "text",
    [
        "reflect('java.lang.Runtime', 'x') = 1",
        "REFLECT ('java.lang.Runtime', 'x') = 1",
        "`reflect`('a', 'b') = 'c'",
        "system.builtin.reflect('a', 'b') = 'c'",
        "`system`.`builtin`.`java_method`('a', 'b') = 'c'",
        "upper(reflect('a', 'b')) = 'C'",
        "mydb.upper(country) = 'x'",
        "identifier('reflect')('a', 'b') = 'c'",
        "\"reflect\"('a', 'b') = 'c'",
        "exists(tags, x -> reflect('a', x.k) = 'b')",
        "country = r'\\' and reflect('a', 'b') = ' '",
        "country = 'it''s' or reflect('a', 'b') = ''''",
        "country = '\\\\' or reflect('a','b') = '\\\\'",
        'country = """" or reflect(\'a\',\'b\') = ""',
        "/*+ x */ reflect('a', 'b') = 'c'",
        "ok -- \\\n or reflect('a', 'b') = 'c'",
        "ok /* ' */ or reflect('a', 'b') = 'c' -- '",
        "country = '${env:HOME}'",
        "${env:HOME} = 'x'",
        "ok; drop table x",
        "select 1",
        "(select true)",
        "n in (select 1)",
        "exists (select 1)",
        "exists (from t)",
        "(values true)",
        "n in (table t)",
        "(table t)",
        "(map n using 'sh' as y from t)",
        "count(*) over () > 1",
        "sum(n) filter (where ok) > 1",
        "any(ok)",
        "percentile_cont(0.5) within group (order by n) > 1",
        "row_number() over (partition by n order by n) > 1",
        "explode(tags).k = 'a'",
        "n = ?",
        "n = :param",
        "n = {{ jinja }}",
        "n = @variable",
        "now() > ts",
        "ts > current_timestamp",
        "ts > `current_timestamp`",
        "ts > current_timestamp()",
        "ts > current_date",
        "current_user = 'x'",
        "unix_timestamp() > 1",
        "ts > timestamp 'now'",
        "ts > timestamp_ntz'Today UTC'",
        "ts > ' now '",
        "ts between 'yesterday' and 'tomorrow'",
        "cast('now' as timestamp) > ts",
        "'today'::date > date '2020-01-01'",
        "to_date('today') > date '2020-01-01'",
        "user = 'x'",
        "session_user() = 'x'",
        "rand() < 0.5",
        "uuid() = 'x'",
        "monotonically_increasing_id() > 1",
        "input_file_name() = 'x'",
        "raise_error('x')",
        "my_udf(country)",
        "ok\u00a0= true",
        "\u0435vent_id = 'x'",
        "ok = true\x00",
    ],
)
def test_what_never_gets_through(text: str) -> None:
    for schema in (SCHEMA, None, RAW_SCHEMA):
        assert check_filter(text, schema) != [], text


@pytest.mark.parametrize(
    ("text", "type_", "offset"),
    [
        ("geo.lat < 1e999", "double", 10),
        ("geo.lat > -1.5E309", "double", 11),
        ("n = 128Y", "tinyint", 4),
        ("n = 9223372036854775808L", "bigint", 4),
        ("n < 1e39BD", "decimal", 4),
        ("n < 123456789012345678901234567890123456789", "decimal", 4),
        ("geo.lat < .5e999", "double", 10),
    ],
)
def test_a_number_has_to_fit_its_type(text: str, type_: str, offset: int) -> None:
    (problem,) = check_filter(text, SCHEMA)
    assert problem.message == f"a number that does not fit the type {type_}"
    assert problem.offset == offset


@pytest.mark.parametrize("date", ["2024-13-01", "2023-02-29", "soon", "24-01-01"])
def test_a_date_has_to_be_one(date: str) -> None:
    (problem,) = check_filter(f"ts > DATE '{date}'", SCHEMA)
    assert (problem.message, problem.offset) == (f"'{date}' is not a date", 10)


@pytest.mark.parametrize(
    "date", ["2024-02-29", "2024", "2024-1", " 2024-01-31T10:00 ", "+12024-01"]
)
def test_every_date_of_spark_is_one(date: str) -> None:
    assert check_filter(f"ts > DATE '{date}'", SCHEMA) == []


@pytest.mark.parametrize("text", ["n = -128Y", "n > -9223372036854775808L", "geo.lat < .5e308"])
def test_the_last_number_of_a_type_fits(text: str) -> None:
    assert check_filter(text, SCHEMA) == []


def test_a_replay_is_the_reason_against_the_clock() -> None:
    (problem,) = check_filter("ts > now()", SCHEMA)
    assert "another value in a replay than live" in problem.message
    assert problem.offset == 5


@pytest.mark.parametrize("text", ["ts = 'now'", "ts in ('now')", "'now' <> ts"])
def test_a_text_is_a_time_where_a_time_is_compared(text: str) -> None:
    (problem,) = check_filter(text, SCHEMA)
    assert "'now' is read as a time here" in problem.message


def test_a_column_may_have_the_name_of_a_call() -> None:
    from headrace.schema.model import Field, Primitive, Record

    users = Record("R", (Field("user", Primitive.STRING, nullable=False),))
    assert check_filter("user = 'x'", users) == []


def test_without_a_schema_any_column_goes_but_not_any_metadata() -> None:
    assert check_filter("whatever.it.is = 1 and other['x'] > 2", None) == []
    assert check_filter("__metadata__.nothing = 1", None) != []


def test_functions_are_allowed_or_refused_and_never_both() -> None:
    assert not ALLOWED & set(REFUSED)
    assert not KEYWORDS & set(REFUSED)
    assert not BARE_CALLS & ALLOWED


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_refused_function_is_refused_however_it_is_written(name: str) -> None:
    for text in (
        f"{name}(n) = 1",
        f"{name.upper()} (n) = 1",
        f"`{name}`(n) = 1",
        f"a.{name}(n) = 1",
    ):
        assert any(
            "is not allowed" in one.message or "prefix" in one.message
            for one in check_filter(text, SCHEMA)
        )


@pytest.mark.parametrize(
    "text",
    ["(" * 3000, "(" * 39 + "ok" + ")" * 39, "ok" + " and ok" * 2000, "not " * 3000 + "ok", "-" * 500 + "n", "- " * 900 + "n",
     "a" * 30000, "case when " * 500, "n" + "[0]" * 900, "n" + ".x" * 2000, "f(" * 2000, "n = 1 or " * 2000],
)  # fmt: skip
def test_size_and_depth_break_nothing(text: str) -> None:
    for problem in check_filter(text, SCHEMA):
        assert 0 <= problem.offset <= len(text)


WORDS = st.sampled_from(
    [
        "ok",
        "n",
        "country",
        "reflect",
        "(",
        ")",
        "(",
        ")",
        ",",
        ".",
        "and",
        "or",
        "not",
        "in",
        "case",
        "when",
        "then",
        "end",
        "like",
        "'x'",
        '"',
        "'",
        "`",
        "[",
        "]",
        "->",
        "::",
        ":",
        ";",
        "+",
        "-",
        "*",
        "/",
        "select",
        "from",
        "as",
        "over",
        "interval",
        "cast",
        "struct",
        "<",
        ">",
        "=",
        "1",
        "2.5",
        "1e5",
        "10L",
        "x'1F'",
        "r'",
        "\\",
        "$",
        "{",
        "}",
        "--",
        "/*",
        "*/",
        "@",
        "?",
        "any",
        "exists",
        "filter",
        "tags",
        "__metadata__",
    ]
)


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=60)
    | st.lists(WORDS, max_size=14).map(" ".join)
    | st.lists(WORDS, max_size=8).map("".join)
)
def test_any_text_is_an_expression_or_a_located_problem(text: str) -> None:
    for schema in (SCHEMA, None):
        for problem in check_filter(text, schema):
            assert 0 <= problem.offset <= len(text)
            assert problem.message


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS, max_size=8).map(" ".join), st.lists(WORDS, max_size=8).map(" ".join))
def test_nothing_around_it_lets_reflect_through(before: str, after: str) -> None:
    text = f"{before} reflect('a', 'b') {after}"
    inside_quotes = any(quote in before for quote in "'\"`")
    assert inside_quotes or check_filter(text, SCHEMA)
