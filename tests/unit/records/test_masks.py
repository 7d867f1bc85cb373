from __future__ import annotations

import hashlib

import pytest

from headrace.config.common.hygiene import Hygiene
from headrace.errors import Terminal
from headrace.records.hygiene.masks import masks
from headrace.records.hygiene.rules import HygieneRules
from headrace.records.rows import Row, row_class
from headrace.schema.model import Array, Field, Map, Primitive, Record, Type

SEAT = Record("Seat", (Field("who", Primitive.STRING, nullable=True),))


def masked(kind: Type, mask: object, value: object, name: str = "x") -> object:
    record = Record("Event", (Field("id", Primitive.LONG, nullable=False), Field("x", kind, True)))
    change = masks(Hygiene.model_validate({"mask": {name: mask}}).as_rules(), record)
    row: Row = row_class(record)(7, value)
    assert change is not None
    change(row)
    assert row.f0 == 7
    return row.f1


def seat(who: str | None) -> Row:
    return row_class(SEAT)(who)


def test_nothing_to_mask() -> None:
    assert masks(HygieneRules(), SEAT) is None


@pytest.mark.parametrize(
    ("mask", "value", "shown"),
    [
        ("redact", "ann@example.org", "***"),
        ("redact", "", "***"),
        ({"keep_first": 3}, "10.1.2.3", "10.***"),
        # What is no longer than what stays would stay whole.
        ({"keep_first": 3}, "abc", "***"),
        ({"keep_first": 3}, "żółw", "żół***"),
        ("sha256", "żółw", hashlib.sha256("żółw".encode()).hexdigest()),
        ({"sha256": {"salt": "pepper"}}, "ann", hashlib.sha256(b"pepperann").hexdigest()),
    ],
)
def test_texts_and_their_masks(mask: object, value: str, shown: str) -> None:
    assert masked(Primitive.STRING, mask, value) == shown
    assert masked(Primitive.STRING, mask, None) is None


def test_bytes_are_hashed_to_bytes() -> None:
    salted = {"sha256": {"salt": "s"}}
    assert masked(Primitive.BYTES, "sha256", b"\xff") == hashlib.sha256(b"\xff").digest()
    assert masked(Primitive.BYTES, salted, b"\xff") == hashlib.sha256(b"s\xff").digest()


def test_masks_reach_into_records_lists_and_maps() -> None:
    texts = Array(Primitive.STRING, item_nullable=True)
    assert masked(texts, "redact", ["a", None]) == ["***", None]
    labels = Map(Primitive.STRING, item_nullable=True)
    assert masked(labels, "redact", {"k": "a", "n": None}) == {"k": "***", "n": None}
    assert masked(labels, "redact", {"k": "a", "n": "b"}, "x.k") == {"k": "***", "n": "b"}
    assert masked(labels, "redact", {"n": "b"}, "x.k") == {"n": "b"}
    assert masked(SEAT, "redact", seat("ann"), "X.Who") == seat("***")
    assert masked(SEAT, "redact", seat(None), "x.who") == seat(None)
    assert masked(SEAT, "redact", None, "x.who") is None
    seats = Array(SEAT, item_nullable=True)
    value = [seat("ann"), None, seat(None)]
    assert masked(seats, "redact", value, "x.who") == [seat("***"), None, seat(None)]


def test_several_columns_are_masked_each_its_way() -> None:
    fields = tuple(Field(name, Primitive.STRING, nullable=True) for name in "abc")
    record = Record("Event", fields)
    hygiene = Hygiene.model_validate({"mask": {"c": "redact", "a": {"keep_first": 1}}})
    change = masks(hygiene.as_rules(), record)
    row: Row = row_class(record)("xyz", "xyz", "xyz")
    assert change is not None
    change(row)
    assert (row.f0, row.f1, row.f2) == ("x***", "xyz", "***")


@pytest.mark.parametrize(
    ("kind", "mask", "name"),
    [
        (Primitive.LONG, "sha256", "x"),
        (Primitive.BYTES, "redact", "x"),
        (Primitive.BYTES, {"keep_first": 1}, "x"),
        (Primitive.UUID, "redact", "x"),
        (SEAT, "redact", "x"),
        (Primitive.STRING, "redact", "x.y"),
        (Primitive.STRING, "redact", "y"),
    ],
)
def test_what_cannot_be_masked_stops_the_stream(kind: Type, mask: object, name: str) -> None:
    with pytest.raises(Terminal, match="hygiene masks the column"):
        masked(kind, mask, None, name)
