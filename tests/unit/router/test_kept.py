from __future__ import annotations

from dataclasses import replace

import pytest

from headrace import contract
from headrace.kafka.message import GivenMessage, RecordPosition
from headrace.kafka.quarantine import headers_of_bad
from router.quarantine.records import MOST_REASONS, Listing, QuarantinedRecord, parse_quarantined

ORIGINAL = GivenMessage(
    RecordPosition("raw", 2, 7), 1_700, b"\xff", b"k", (("a", b"\xfe"), ("a", None))
)


def quarantined(
    record: GivenMessage, reason: str = "why", connector: str = "events"
) -> GivenMessage:
    own = headers_of_bad(record, "VALUE_CONVERTER", reason, connector)
    headers = (*record.given_headers, *own)
    return replace(record, position=RecordPosition("raw.quarantine", 0, 1), given_headers=headers)


def test_the_original_comes_back() -> None:
    kept = parse_quarantined(quarantined(ORIGINAL))
    assert kept is not None
    assert kept.record == ORIGINAL
    assert (kept.stage, kept.reason, kept.size) == ("VALUE_CONVERTER", "why", 2)


def test_a_record_that_was_read_from_a_quarantine_keeps_its_own_headers() -> None:
    first = quarantined(ORIGINAL, "first")
    kept = parse_quarantined(quarantined(first, "second"))
    assert kept is not None
    assert kept.reason == "second"
    assert kept.record == first


def test_a_record_that_nobody_quarantined_is_none() -> None:
    assert parse_quarantined(ORIGINAL) is None
    no_number = ((contract.QUARANTINE_TOPIC, b"t"), (contract.QUARANTINE_PARTITION, b"x"))
    assert parse_quarantined(replace(ORIGINAL, given_headers=no_number)) is None


@pytest.mark.parametrize("offset", [b"-2", b"1_0", " \u0663".encode(), b"9" * 5000])
def test_what_names_no_offset_is_nobodys(offset: bytes) -> None:
    headers = [
        (name, offset if name == contract.QUARANTINE_OFFSET else value)
        for name, value in quarantined(ORIGINAL).given_headers
    ]
    assert parse_quarantined(replace(ORIGINAL, given_headers=tuple(headers))) is None


def test_whose_record_it_is() -> None:
    def of(connector: str) -> str | None:
        kept = parse_quarantined(quarantined(ORIGINAL, connector=connector))
        assert kept is not None
        return kept.outputs("events")

    assert of("events") == ""
    assert of("events.out") == "out"
    assert [of("other"), of("other.out"), of("events."), of("")] == [None] * 4


def test_a_listing_is_bounded() -> None:
    found = Listing("events", "fronting", "q")
    kept = QuarantinedRecord(RecordPosition("q", 0, 0), "events", "stage", "", ORIGINAL)
    for number in range(MOST_REASONS + 5):
        found.add(replace(kept, reason=str(number)))
    assert found.records == MOST_REASONS + 5
    assert len(found.reasons) == MOST_REASONS + 1
    assert found.reasons["stage", "other reasons"] == 5
