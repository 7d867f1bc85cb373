"""What is compiled means in Python what it means in Spark, errors, types and nulls included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.expressions.compiled.compiler import Compiled, compile_expression, compile_filter
from headrace.expressions.compiled.functions.dispatch import COMPILED
from headrace.expressions.compiled.runtime.case import lower, upper
from headrace.schema.model import Primitive
from tests.integration.expressions.both_sides import (
    as_field,
    disagreement,
    frame_of,
    in_spark,
    said_of,
)
from tests.integration.expressions.cases import CASES
from tests.integration.expressions.generated import Expressions
from tests.integration.expressions.rows import FAILED, SCHEMA, Rows, in_python

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

# An index may be computed from null, which Spark's schema forgets and ours does not; and Spark
# looks at the one item of an array that a known index means.
SAID_BY_US_ALONE = {"element_at(ns, pmod(i, 4) - 1)", "array(l0, i)[1]"}


@pytest.fixture(scope="module")
def asked(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, in which an expression fails alone: nothing is evaluated before its turn."""
    key = "spark.sql.subexpressionElimination.enabled"
    spark.conf.set(key, "false")
    yield spark
    spark.conf.unset(key)


def compiled(text: str) -> Compiled:
    found = compile_expression(text, SCHEMA)
    assert isinstance(found, Compiled), f"{text}: {found}"
    return found


def test_types_and_nulls_are_those_of_spark(asked: SparkSession) -> None:
    frame = frame_of(Rows(1, 1), asked)
    wrong = []
    for text, theirs in zip(CASES, said_of(frame, CASES), strict=True):
        ours = as_field(compiled(text))
        if ours.dataType.jsonValue() != theirs.dataType.jsonValue():
            wrong.append(f"{text}: {ours.dataType}, in Spark {theirs.dataType}")
        if ours.nullable != theirs.nullable and text not in SAID_BY_US_ALONE:
            wrong.append(f"{text}: nullable {ours.nullable}, in Spark {theirs.nullable}")
    assert not wrong


def test_every_value_is_that_of_spark(asked: SparkSession) -> None:
    failed, wrong = compare(asked, CASES, Rows(7, 120))
    assert not wrong
    assert failed > 1000, "the rows do not reach what is undefined"


def test_random_expressions_give_what_spark_gives(asked: SparkSession) -> None:
    failed, wrong = compare(asked, random_texts(seed=3, count=120), Rows(11, 40))
    assert not wrong
    assert failed > 100, "the rows do not reach what is undefined"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 18))
def test_many_random_expressions_give_what_spark_gives(asked: SparkSession, seed: int) -> None:
    _, wrong = compare(asked, random_texts(seed, count=400), Rows(seed, 100))
    assert not wrong


def random_texts(seed: int, count: int) -> list[str]:
    source = Expressions(seed)
    texts: list[str] = []
    refused = 0
    while len(texts) < count:
        text = source.next()
        if isinstance(compile_expression(text, SCHEMA), Compiled):
            texts.append(text)
        else:
            refused += 1
    assert refused < count / 10, "what is generated is hardly compiled"
    return texts


def compare(spark: SparkSession, texts: Sequence[str], rows: Rows) -> tuple[int, list[str]]:
    """Return how many values are undefined, and where the two sides disagree."""
    frame = frame_of(rows, spark)
    failed = 0
    wrong: list[str] = []
    for text, theirs in zip(texts, in_spark(frame, texts), strict=True):
        ours = in_python(compiled(text), rows)
        failed += ours.count(FAILED)
        wrong += filter(None, [disagreement(text, ours, theirs, rows)])
        wrong += filter(None, [filtered_otherwise(text, ours, rows)])
    frame.unpersist()
    return failed, wrong


def filtered_otherwise(text: str, values: list[object], rows: Rows) -> str | None:
    """Return where the filter is not true for the rows of which the expression is true."""
    found = compile_filter(text, SCHEMA)
    if not isinstance(found, Compiled):
        return None
    assert found.type is Primitive.BOOLEAN
    truths = [FAILED if one is FAILED else one == "True" for one in values]
    kept = [one if one is FAILED else one == "True" for one in in_python(truthy(found), rows)]
    return disagreement(f"filter {text}", kept, truths, rows)


def truthy(found: Compiled) -> Compiled:
    source = f"(True if {found.source} else False)"
    return Compiled(source, found.type, found.nullable, found.constants, found.metadata)


def test_every_compiled_function_is_asked_about() -> None:
    asked_about = " ".join(CASES)
    assert [name for name in sorted(COMPILED) if f"{name}(" not in asked_about] == []


def test_every_letter_and_every_end_of_a_word_has_sparks_case(spark: SparkSession) -> None:
    letters = [chr(code) for code in range(0x20000) if not 0xD800 <= code < 0xE000]
    blocks = [letters[start : start + 512] for start in range(0, len(letters), 512)]
    words = [(" ".join(f"{c} aΣ{c} aΣ{c}a a{c}Σ {c}Σ" for c in block),) for block in blocks]
    frame = spark.createDataFrame(words, "w string").selectExpr("w", "upper(w)", "lower(w)")
    for word, raised, lowered in frame.collect():
        assert upper(word) == raised
        assert lower(word) == lowered
