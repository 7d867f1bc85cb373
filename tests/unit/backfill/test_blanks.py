"""Columns that a query does not use, in place of those that Spark was promised."""

from __future__ import annotations

import pyarrow as pa
import pytest

from backfill.apps.spark_task import with_blanks

KEY = pa.field("k", pa.int64())
TYPES = [
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(),
    pa.string(), pa.binary(), pa.date32(), pa.timestamp("us", tz="UTC"), pa.timestamp("us"),
    pa.decimal128(6, 2), pa.decimal128(1, 0), pa.decimal128(38, 38), pa.time64("us"),
]  # fmt: skip
NESTED = [
    pa.struct([pa.field("x", pa.int32(), nullable=False)]),
    pa.list_(pa.string()),
    pa.map_(pa.string(), pa.int64()),
]


def batch_of(rows: int) -> pa.RecordBatch:
    return pa.record_batch({"k": list(range(rows))}, schema=pa.schema([KEY]))


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("nullable", [True, False])
def test_every_plain_type_has_a_blank(kind: pa.DataType, *, nullable: bool) -> None:
    whole = pa.schema([pa.field("unused", kind, nullable=nullable), KEY])
    given = with_blanks(batch_of(3), whole, ["k"])
    assert given.schema.names == ["unused", "k"]
    assert given.column("unused").type == kind
    assert given.column("unused").null_count == (3 if nullable else 0)
    given.validate(full=True)


@pytest.mark.parametrize("kind", NESTED, ids=str)
@pytest.mark.parametrize("nullable", [True, False])
def test_what_is_made_of_others_has_one_too(kind: pa.DataType, *, nullable: bool) -> None:
    whole = pa.schema([KEY, pa.field("unused", kind, nullable=nullable)])
    given = with_blanks(batch_of(2), whole, ["k"])
    assert given.column("unused").null_count == (2 if nullable else 0)
    assert given.column("unused").type == kind
    given.validate(full=True)


def test_what_was_read_for_the_replay_alone_is_blank() -> None:
    held = pa.record_batch({"k": [7], "at": [9]})
    assert with_blanks(held, held.schema, ["k"]).to_pydict() == {"k": [7], "at": [None]}
    assert with_blanks(held, held.schema, ["k", "at"]) is held


def test_a_column_that_was_to_be_read_is_never_blank() -> None:
    whole = pa.schema([KEY, pa.field("used", pa.string())])
    with pytest.raises(KeyError, match="used"):
        with_blanks(batch_of(2), whole, ["used"])


def test_columns_that_nobody_was_promised_are_left_out() -> None:
    held = pa.record_batch({"more": [1], "k": [7]})
    assert with_blanks(held, pa.schema([KEY]), ["k"]).to_pydict() == {"k": [7]}
    # As many columns, and not the same ones.
    whole = pa.schema([KEY, pa.field("gone", pa.int64())])
    assert with_blanks(held, whole, ["k"]).to_pydict() == {"k": [7], "gone": [None]}
