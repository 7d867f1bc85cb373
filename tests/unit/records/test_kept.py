"""`__record__`: what the columns of a table ask for, and what that costs where they ask for nothing."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import pytest

from headrace.contract import RECORD, record_field, with_metadata
from headrace.kafka.message import GivenMessage, RecordPosition
from headrace.landing.record_columns import RecordColumns, RecordParts, decoder
from headrace.landing.topic_values import Values
from headrace.records.hygiene.rules import HygieneRules
from headrace.schema.arrow import to_arrow
from headrace.schema.model import Field, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

SCHEMA = Record("E", (Field("id", Primitive.LONG, nullable=True),))
VALUES = Values("v", "json", SCHEMA, HygieneRules(on_bad_record="drop"), None, "keep")


def message(
    number: int, value: bytes | None, headers: Sequence[tuple[str, bytes | None]] = ()
) -> GivenMessage:
    position = RecordPosition("t", 0, number)
    return GivenMessage(position, 1_772_323_200_000, value, b"%d" % number, headers)


def columns(*kept: str) -> pa.Schema:
    fields = list(with_metadata(SCHEMA).fields)
    # Wherever it stands among the others.
    return to_arrow(Record("E", (record_field(kept), *fields) if kept else tuple(fields)))


MESSAGES = [
    message(0, b'{"id": 0}', [("a", b"x"), ("a", None)]),
    message(1, b"{"),
    message(2, None),
    message(3, b"{}", [("", b"")]),
]


@pytest.mark.parametrize(
    ("held", "keep", "wanted"),
    [
        (("key",), ("key",), {"key": [b"0", b"2", b"3"], "tombstone": [False, True, False]}),
        (("headers",), ("key", "headers"), {"headers": 3}),
        (
            ("key", "headers"),
            ("headers",),
            {"key": [None] * 3, "tombstone": [None] * 3, "headers": 3},
        ),
    ],
)
def test_what_the_columns_have_and_the_file_asks_for_is_kept(
    held: tuple[str, ...], keep: tuple[str, ...], wanted: dict[str, object]
) -> None:
    batch, _, bad = RecordColumns(VALUES, "t", None, columns(*held), keep)(MESSAGES, 0)
    assert [one.offset() for one, _ in bad] == [1]
    assert batch.schema.names == [RECORD, "id", "__metadata__"]
    if "headers" in wanted:
        headers = [[{"name": "a", "value": b"x"}, {"name": "a", "value": None}], None]
        wanted = {**wanted, "headers": [*headers, [{"name": "", "value": b""}]]}
    rows = batch.column(RECORD).to_pylist()
    assert {name: [row[name] for row in rows] for name in rows[0]} == wanted


def test_a_column_that_is_not_asked_for_any_more_is_null() -> None:
    batch, _, _ = RecordColumns(VALUES, "t", None, columns("key", "headers"))(MESSAGES, 0)
    assert batch.column(RECORD).null_count == batch.num_rows == 3


def test_where_nothing_is_kept_the_loop_over_messages_is_what_it_was() -> None:
    plain = inspect.getsource(decoder(VALUES, "eu"))
    assert "kept" not in plain
    for held, keep in (((), ("key",)), (("key",), ())):
        assert inspect.getsource(decoder(VALUES, "eu", RecordParts(columns(*held), keep))) == plain
    assert "kept_key" in inspect.getsource(
        decoder(VALUES, "eu", RecordParts(columns("key"), ["key"]))
    )
