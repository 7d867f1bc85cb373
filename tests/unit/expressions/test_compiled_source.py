"""The Python that an expression becomes: as short as the schema allows, and never the user's."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.expressions.allowed_functions import LEFT_TO_SPARK
from headrace.expressions.compiled.compiler import (
    Compiled,
    NotCompiled,
    Undefined,
    compile_expression,
    compile_filter,
)
from headrace.expressions.compiled.functions.dispatch import COMPILED
from headrace.records.rows import row_class
from headrace.schema.model import Field, Map, Primitive, Record
from tests.integration.expressions.cases import CASES
from tests.integration.expressions.rows import SCHEMA as EVERY_TYPE

SCHEMA = Record(
    "tests.Row",
    (
        Field("user_id", Primitive.STRING, nullable=True),
        Field("event_type", Primitive.STRING, nullable=False),
        Field("n", Primitive.INT, nullable=False),
        Field("m", Map(Primitive.LONG, item_nullable=False), nullable=False),
        Field("class", Primitive.STRING, nullable=False),
        Field("back`quote", Primitive.STRING, nullable=False),
    ),
)


def source(text: str) -> str:
    found = compile_expression(text, SCHEMA)
    assert isinstance(found, Compiled), found
    return found.source


def reason(text: str) -> str:
    found = compile_expression(text, SCHEMA)
    assert isinstance(found, NotCompiled), found
    return found.reason


def value(text: str, user_id: str | None = None) -> object:
    found = compile_expression(text, SCHEMA)
    assert isinstance(found, Compiled), found
    row = row_class(SCHEMA)(user_id, "start", 5, {"k": 1}, "c", "b")
    return eval(found.source, {**found.constants, "r": row})  # noqa: S307 - what is tested


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("event_type = 'start'", "(r.f1 == 'start')"),
        ("EVENT_TYPE == 'start'", "(r.f1 == 'start')"),
        ("upper(event_type)", "(k_case_upper(r.f1))"),
        ("event_type IN ('a', 'b')", "(r.f1 in {'a', 'b'})"),
        ("n > 3", "(r.f2 > 3)"),
        ("n BETWEEN 1 AND 3", "(1 <= r.f2 <= 3)"),
        ("event_type LIKE 'pl%'", "(r.f1.startswith('pl'))"),
        ("event_type IS NULL", "False"),
        ("substring(event_type, 1, 3)", "(r.f1[0:3])"),
        ("`class`", "r.f4"),
        ("m['k']", "(r.f3.get('k'))"),
        ("__metadata__.topic", "m_topic"),
    ],
)
def test_what_is_never_null_is_not_asked_for_null(text: str, expected: str) -> None:
    assert source(text) == expected


def test_a_filter_needs_no_third_truth() -> None:
    found = compile_filter("user_id = 'a' AND n > 1", SCHEMA)
    assert isinstance(found, Compiled)
    assert found.source == "((r.f0 == 'a') and (r.f2 > 1))"


def test_only_what_the_source_uses_comes_along() -> None:
    found = compile_filter("lower(user_id) = 'a' AND __metadata__.partition = 1", SCHEMA)
    assert isinstance(found, Compiled)
    assert set(found.constants) == {"k_case_lower"}
    assert found.metadata == {"partition"}


def test_a_column_of_every_name_is_a_number_in_the_source() -> None:
    assert source("`back``quote`") == "r.f5"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("event_type RLIKE '(?i)s'", "a pattern uses Java's regular expressions"),
        ("event_type RLIKE '(a+)+b'", "rlike() by a pattern that may look at a text again"),
        ("regexp_replace(event_type, 'a*', 'b')", "regexp_replace() by a pattern that an empty"),
        ("date_format(__metadata__.kafka_ingestion_ts, 'y')", "a format of Java's"),
        ("date_format(__metadata__.kafka_ingestion_ts, 'MMMM')", "a format of Java's"),
        ("date_format(__metadata__.kafka_ingestion_ts, 'HHHH')", "a format of Java's"),
        ("transform(m, x -> x)", '"->"'),
        ("nobody", 'the column "nobody"'),
        ("event_type + m", "arithmetic of string and map"),
        ("CAST(n AS DECIMAL(3, 1))", 'a cast to "DECIMAL"'),
        ("event_type LIKE user_id", "LIKE with a pattern that is no text in quotes"),
        ("NULL", "a NULL of no type"),
        ("current_date", '"current_date"'),
        ("event_type LIKE 'a\\\\b'", "LIKE with an escape before another character"),
        ("event_type 'x'", '"event_type"'),
        ("", '"the end"'),
        ("n; n", '";"'),
        ("n -- x", "a comment"),
        ("INTERVAL 1 DAY", '"INTERVAL"'),
    ],
)
def test_a_refusal_names_what_cannot_be_compiled(text: str, expected: str) -> None:
    assert reason(text).startswith(expected)


@pytest.mark.parametrize(
    "text",
    [
        "n + 2147483647 + -2147483647",
        "2147483647 + n + m.k",
        "n + (n + 1)",
        "n * 2147483647 * 0",
        "try_add(n, n) + 7",
        "n * (2 * try_multiply(n, n))",
        "n + length('abc') + 1",
    ],
)
def test_constants_that_spark_puts_together_are_left_to_it(text: str) -> None:
    assert reason(text).startswith(("+ of constants", "* of constants"))


def test_constants_that_change_nothing_by_their_order_are_compiled() -> None:
    assert value("n + n + -7") == 3
    assert value("n + 1 + 2") == 8
    assert value("n * 60 * 1000") == 300_000
    assert value("1.5D + n + 2") == 8.5
    assert value("1 + 2 + 3") == 6
    assert value("n + 1 - 1 + n") == 10


def test_a_filter_of_a_text_is_refused() -> None:
    assert compile_filter("event_type", SCHEMA) == NotCompiled("a filter of string")


def test_undefined_says_why() -> None:
    with pytest.raises(Undefined, match="does not fit the type int"):
        value("n + 2147483647")
    with pytest.raises(Undefined, match="a division by zero"):
        value("1 / (n - 5)")


def test_an_expression_as_deep_as_python_allows_or_a_refusal() -> None:
    for depth in (10, 100, 1000, 9000):
        found = compile_expression("(" * depth + "n" + ")" * depth, SCHEMA)
        assert isinstance(found, Compiled) or "nested too deep" in found.reason
        chain = compile_expression(" + ".join(["n"] * (depth // 4)), SCHEMA)
        assert isinstance(chain, Compiled) or "nested too deep" in chain.reason


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_a_text_stays_a_text(text: str) -> None:
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    found = compile_expression(f"event_type = '{quoted}'", SCHEMA)
    if isinstance(found, NotCompiled):
        assert "${" in text
        return
    nodes = ast.walk(ast.parse(found.source, mode="eval"))
    constants = [node.value for node in nodes if isinstance(node, ast.Constant)]
    assert constants == [text]


@given(st.text(max_size=40))
def test_any_text_at_all_is_compiled_or_refused(text: str) -> None:
    for compiled in (compile_expression(text, SCHEMA), compile_filter(text, SCHEMA)):
        if isinstance(compiled, Compiled):
            assert only_what_is_ours(compiled)


NAMES = st.sampled_from(["n", "`class`", "event_type", "user_id", "m", "''", "1", "(", ")", ","])
WORDS = st.lists(
    NAMES | st.sampled_from(["+", "=", "in", "is", "null", "not", "and", "upper", "["])
)


@given(WORDS.map(" ".join))
def test_words_in_any_order_are_compiled_or_refused(text: str) -> None:
    found = compile_expression(text, SCHEMA)
    if isinstance(found, Compiled):
        assert only_what_is_ours(found)


def only_what_is_ours(compiled: Compiled) -> bool:
    """Whether the source names nothing but the record, helpers, constants and its own names."""
    code = compile(compiled.source, "<compiled>", "eval")
    fields = {f"f{number}" for number in range(len(SCHEMA.fields))}
    methods = {"startswith", "endswith", "find", "fullmatch", "get", "encode", "strip", "hex"}
    metadata = {f"m_{name}" for name in compiled.metadata}
    return set(code.co_names) - fields - methods - metadata - {"r"} <= {
        *compiled.constants,
        *(f"t{number}" for number in range(1, 100)),
    }


def test_equal_names_are_equal_values() -> None:
    texts = ["n > 1.5D", "n < 1.5D", "n > 2.5D", "event_type LIKE 'a%b'", "user_id LIKE 'a%b'"]
    known: dict[str, object] = {}
    for text in texts:
        found = compile_expression(text, SCHEMA)
        assert isinstance(found, Compiled)
        for name, constant in found.constants.items():
            assert known.setdefault(name, constant) == constant
    assert len([name for name in known if name.startswith("c_")]) == 3


def test_a_name_means_the_same_in_every_expression() -> None:
    known: dict[str, object] = {}
    for text in CASES:
        found = compile_expression(text, EVERY_TYPE)
        assert isinstance(found, Compiled), text
        for name, constant in found.constants.items():
            assert known.setdefault(name, constant) == constant, text


def test_functions_of_one_name_stand_in_one_expression() -> None:
    assert value("regexp_replace(replace(event_type, 's', 'z'), 't', 'u')") == "zuaru"
    assert value("concat_ws('+', array_join(array('a', 'b'), '-'), 'c')") == "a-b+c"


def test_every_allowed_function_is_compiled_or_refused_with_a_reason() -> None:
    assert not COMPILED & LEFT_TO_SPARK
    for name in sorted(LEFT_TO_SPARK):
        found = compile_expression(f"{name}(event_type)", SCHEMA)
        assert isinstance(found, NotCompiled), name
        assert found.reason
