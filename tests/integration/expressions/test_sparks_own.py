"""The expressions of Spark's own tests: what is compiled gives what Spark gives, or neither does.

They are data that is not part of the project: `HEADRACE_TEST_DATA` names their folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # py4j has no types
from pyspark.errors import PySparkException

from headrace.expressions.compiled.compiler import Compiled, Undefined, compile_expression
from headrace.schema.model import Field, Primitive, Record
from tests.integration.expressions.both_sides import as_field, in_spark, said_of
from tests.integration.expressions.rows import FAILED, comparable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

FOLDER = Path(os.environ.get("HEADRACE_TEST_DATA") or Path(__file__).parents[4] / "shared" / "data")
FILE = FOLDER / "spark-expressions" / "expressions.tsv"
# They name no column; a record has at least one.
SCHEMA = Record("tests.Row", (Field("zz", Primitive.STRING, nullable=True),))
REFUSED = "Spark refuses it"


def expressions() -> list[str]:
    """Return each of the expressions once, as they stand in the file."""
    lines = FILE.read_text(encoding="utf-8").split("\n")
    return list(dict.fromkeys(line.split("\t", 1)[1] for line in lines if "\t" in line))


@pytest.mark.skipif(not FILE.is_file(), reason=f"there is no {FILE.name} below HEADRACE_TEST_DATA")
def test_what_is_compiled_of_sparks_own_tests_agrees(spark: SparkSession) -> None:
    texts = expressions()
    compiled = {
        text: found
        for text in texts
        if isinstance(found := compile_expression(text, SCHEMA), Compiled)
    }
    frame = spark.range(1)
    theirs = dict(answers(frame, list(compiled)))
    wrong = [
        f"{text}: python {ours!r}, Spark {theirs[text]!r}"
        for text, one in compiled.items()
        if (ours := ours_of(one)) != theirs[text]
    ]
    agree = len(compiled) - len(wrong)
    print(f"{len(texts)} expressions, {len(compiled)} compiled, {agree} agree")  # noqa: T201 - the figures are what users are told
    assert wrong == []
    assert compiled


def ours_of(compiled: Compiled) -> tuple[str, object]:
    """Return the type and the value in Python."""
    type_ = as_field(compiled).dataType.simpleString()
    try:
        value = eval(compiled.source, dict(compiled.constants))  # noqa: S307 - what is tested
    except Undefined:
        return type_, FAILED
    return type_, comparable(value)


def answers(frame: DataFrame, texts: list[str]) -> Iterator[tuple[str, tuple[str, object]]]:
    """Give the type and the value in Spark, a few dozen expressions in one query.

    Where Spark refuses one of them the query is halved until that one stands alone.
    """
    for start in range(0, len(texts), 80):
        yield from _answers(frame, texts[start : start + 80])


def _answers(frame: DataFrame, texts: list[str]) -> Iterator[tuple[str, tuple[str, object]]]:
    try:
        fields = said_of(frame, texts)
        values = [one for (one,) in in_spark(frame, texts, chunk=len(texts))]
    except (PySparkException, Py4JJavaError) as problem:
        if len(texts) == 1:
            yield texts[0], (REFUSED, str(problem).split("\n")[0])
            return
        middle = len(texts) // 2
        yield from _answers(frame, texts[:middle])
        yield from _answers(frame, texts[middle:])
        return
    for text, field, value in zip(texts, fields, values, strict=True):
        yield text, (field.dataType.simpleString(), value)
