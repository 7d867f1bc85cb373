"""What is compiled means in Python what it means in Spark, errors, types and nulls included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.expressions.functions import ALLOWED
from headrace.expressions.lane.calls import COMPILED
from headrace.expressions.lane.compile import Compiled, compile_expression, compile_filter
from headrace.schema.model import Primitive
from tests.integration.expressions.both_sides import (
    FAILED,
    SCHEMA,
    Rows,
    as_field,
    disagreement,
    in_python,
    in_spark,
    said_of,
)
from tests.integration.expressions.cases import CASES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# Spark's schema forgets that an index may be null; ours says that there may be no item.
SAID_BY_US_ALONE = {"element_at(ns, pmod(i, 4) - 1)"}


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
    frame = Rows(1, 1).frame(asked)
    wrong: list[str] = []
    for text, theirs in zip(CASES, said_of(frame, CASES), strict=True):
        ours = as_field(compiled(text))
        if ours.dataType.jsonValue() != theirs.dataType.jsonValue():
            wrong.append(f"{text}: {ours.dataType}, in Spark {theirs.dataType}")
        if ours.nullable != theirs.nullable and text not in SAID_BY_US_ALONE:
            wrong.append(f"{text}: nullable {ours.nullable}, in Spark {theirs.nullable}")
    assert not wrong


def test_every_value_is_that_of_spark(asked: SparkSession) -> None:
    rows = Rows(7, 120)
    frame = rows.frame(asked)
    wrong: list[str] = []
    failed = 0
    for text, theirs in zip(CASES, in_spark(frame, CASES), strict=True):
        ours = in_python(compiled(text), rows)
        failed += ours.count(FAILED)
        wrong += filter(None, [disagreement(text, ours, theirs, rows)])
        wrong += filter(None, [filtered_otherwise(text, ours, rows)])
    frame.unpersist()
    assert not wrong
    assert failed > 1000, "the rows do not reach what is undefined"


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
    missing = [name for name in COMPILED & ALLOWED if f"{name}(" not in asked_about]
    assert not missing
