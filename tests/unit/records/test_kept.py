"""`__record__`: what the columns of a table ask for, and what that costs where they ask for nothing."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from headrace.config.hygiene import Hygiene
from headrace.contract import RECORD, record_field, with_metadata
from headrace.records.columns import Columns, decoder
from headrace.records.kept import Kept
from headrace.records.values import Values
from headrace.schema.arrow import to_arrow
from headrace.schema.model import Field, Primitive, Record

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = Record("E", (Field("id", Primitive.LONG, nullable=True),))
VALUES = Values("v", "json", SCHEMA, Hygiene(on_bad_record="drop"), None, "keep")


@dataclass(frozen=True)
class Message:
    """A message of the client's, as far as it is looked at."""

    number: int
    bytes_: bytes | None
    names: list[tuple[str, bytes | None]] | None = None

    def value(self) -> bytes | None:
        return self.bytes_

    def key(self) -> bytes:
        return b"%d" % self.number

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self.names

    def offset(self) -> int:
        return self.number

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_772_323_200_000


def columns(*kept: str) -> pa.Schema:
    fields = list(with_metadata(SCHEMA).fields)
    # Wherever it stands among the others.
    return to_arrow(Record("E", (record_field(kept), *fields) if kept else tuple(fields)))


MESSAGES = [
    Message(0, b'{"id": 0}', [("a", b"x"), ("a", None)]),
    Message(1, b"{"),
    Message(2, None),
    Message(3, b"{}", [("", b"")]),
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
    batch, _, bad = Columns(VALUES, "t", None, columns(*held), keep)(MESSAGES, 0)
    assert [message.number for message, _ in bad] == [1]
    assert batch.schema.names == [RECORD, "id", "__metadata__"]
    if "headers" in wanted:
        headers = [[{"name": "a", "value": b"x"}, {"name": "a", "value": None}], None]
        wanted = {**wanted, "headers": [*headers, [{"name": "", "value": b""}]]}
    rows = batch.column(RECORD).to_pylist()
    assert {name: [row[name] for row in rows] for name in rows[0]} == wanted


def test_a_column_that_is_not_asked_for_any_more_is_null() -> None:
    batch, _, _ = Columns(VALUES, "t", None, columns("key", "headers"))(MESSAGES, 0)
    assert batch.column(RECORD).null_count == batch.num_rows == 3


def test_where_nothing_is_kept_the_loop_over_messages_is_what_it_was() -> None:
    plain = inspect.getsource(decoder(VALUES, "eu"))
    assert "kept" not in plain
    for held, keep in (((), ("key",)), (("key",), ())):
        assert inspect.getsource(decoder(VALUES, "eu", Kept(columns(*held), keep))) == plain
    assert "kept_key" in inspect.getsource(decoder(VALUES, "eu", Kept(columns("key"), ["key"])))
