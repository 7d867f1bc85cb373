"""Poisons for what handles the headers of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.poisons.model import Poison
from headrace.contract import HEADERS, METADATA_FIELD, RAW_SCHEMA, record_field
from headrace.kafka.message import GivenMessage, RecordPosition
from headrace.kafka.quarantine import READING, headers_of_bad
from headrace.landing.record_columns import RecordColumns
from headrace.landing.topic_values import Values
from headrace.records.arrow import arrow_schema
from headrace.records.hygiene.rules import HygieneRules
from headrace.schema.model import Record
from router.quarantine.records import parse_quarantined
from router.tasks.sent_lines import headers_of

if TYPE_CHECKING:
    from headrace.records.rows import Headers

_WHOLE: Final = arrow_schema(
    Record("Whole", (*RAW_SCHEMA.fields, METADATA_FIELD, record_field([HEADERS])))
)
_VALUES: Final = Values("id", "raw", RAW_SCHEMA, HygieneRules(), None)
_LAND: Final = RecordColumns(_VALUES, "events", None, _WHOLE, [HEADERS])
_SEND: Final = headers_of("here")


def _handled(value: bytes) -> None:
    headers: Headers = [(name.decode(), b"") for name in value.split(b"\n")]
    record = GivenMessage(
        RecordPosition("events", 0, 1), 1_772_323_200_000, b"", None, tuple(headers)
    )
    _LAND([record], 0)
    _SEND(record, "events/0/")
    own = (*headers, *headers_of_bad(record, READING, "reason", "stream"))
    parse_quarantined(GivenMessage(RecordPosition("bad", 0, 1), 1, b"", None, own))


POISONS: Final = (
    Poison(
        "headers: many of one name", lambda size: b"\n".join([b"region"] * (size // 7)), _handled
    ),
    Poison("headers: one long name", lambda size: b"n" * size, _handled),
    Poison(
        "headers: many of the quarantine's",
        lambda size: b"\n".join([b"__connect.errors.offset"] * (size // 24)),
        _handled,
    ),
)
