"""JSON records under every rule and mask: each is landed, or bad by one rule with its reason."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from headrace.config.common.hygiene import Hygiene
from headrace.contract import HEADERS, KEY, METADATA, METADATA_FIELD, record_field
from headrace.kafka.message import GivenMessage, RecordPosition
from headrace.landing.record_columns import RecordColumns
from headrace.landing.topic_values import Values
from headrace.records.arrow import arrow_schema
from headrace.records.hygiene.masks import REDACTED
from headrace.times import EPOCH
from tests.fuzz.json_records import COERCIBLE, SCHEMA, SEEDS
from tests.fuzz.target import Target, check_reason

_RULES: Final = {
    "required": ["b"],
    "ranges": {
        "i": {"min": -5, "max": 5},
        "l": {"min": "0x10"},
        "f": {"max": 0.5},
        "d": {"min": -1, "max": 1e9},
        "m": {"min": "-1.5", "max": "20.00"},
        "a": {"min": "1970-01-01"},
        "t": {"max": "2100-01-01T00:00:00Z"},
        "w": {"min": "1971-01-01T00:00:00"},
        "o": {"max": "23:00:00"},
        "n.k": {"min": 1},
    },
    "max_future_skew": "1h",
    "max_size": "1KiB",
    "mask": {
        "s": "sha256",
        "y": {"sha256": {"salt": "pepper"}},
        "n.p": {"keep_first": 2},
        "z": "redact",
    },
}
_WHOLE: Final = replace(
    SCHEMA, fields=(*SCHEMA.fields, METADATA_FIELD, record_field([KEY, HEADERS]))
)
# By what stands behind the record: none, and what Kafka's 64 bits may hold beside.
_TIME_MS: Final = 1_772_323_200_000
_TIMES_MS: Final = {b" ": -1, b"\t": 2**62, b"\n": -(2**63)}


def columns(**rules: object) -> RecordColumns:
    """Return what makes columns of records under those rules."""
    hygiene = Hygiene.model_validate(rules).as_rules()
    values = Values("id", "json", SCHEMA, hygiene, None, "quarantine")
    return RecordColumns(values, "events", "here", arrow_schema(_WHOLE), [KEY, HEADERS])


def landed(make: RecordColumns, record: GivenMessage) -> list[dict[str, Any]]:
    """Return the row, if any: a record lands as one, or is one bad record with a reason."""
    batch, _newest, bad = make([record], 3)
    assert batch.num_rows + len(bad) == 1
    batch.validate(full=True)
    for message, broken in bad:
        assert message is record
        check_reason(broken.reason)
    rows: list[dict[str, Any]] = batch.to_pylist()
    for row in rows:
        place = row[METADATA]
        assert (place["topic"], place["partition"], place["offset"]) == (
            "events",
            3,
            record.offset(),
        )
        assert place["kafka_ingestion_ts"] == EPOCH + timedelta(milliseconds=record.timestamp_ms)
    return rows


def _run(make: RecordColumns, value: bytes) -> None:
    at_ms = _TIMES_MS.get(value[-1:], _TIME_MS)
    for row in landed(make, GivenMessage(RecordPosition("events", 3, 7), at_ms, value, b"key")):
        assert row["s"] is None or re.fullmatch("[0-9a-f]{64}", row["s"])
        assert all(one in {None, REDACTED} for one in row["z"] or ())


_STRICT: Final = columns(**_RULES)
_LENIENT: Final = columns(
    **{**_RULES, "required": ["l"], "coerce": list(COERCIBLE), "unknown_fields": "refuse"}
)

_SEEDS: Final = (
    *SEEDS,
    b'{"b":true,"l":17,"t":"2026-01-05T03:04:05.123456Z","s":"hidden","z":["x",null]}',
    b'{"b":true,"l":"17","m":"1.5","n":{"k":5,"p":"secret"},"y":"aGk=","o":"03:04:05"}',
    b'{"b":true,"l":17} ',
    b'{"b":true,"l":17}\n',
)

TARGETS: Final = (
    Target("hygiene", lambda value: _run(_STRICT, value), _SEEDS),
    Target("hygiene-coerced", lambda value: _run(_LENIENT, value), _SEEDS),
)
