"""What the commands of a quarantine print for a person."""

from __future__ import annotations

from collections import Counter

from headrace.kafka.message import GivenMessage, RecordPosition
from router.quarantine.records import Listing, QuarantinedRecord
from router.quarantine.report import list_text

ESCAPE = "\x1b[2J\x9b"


def test_a_record_cannot_move_the_cursor() -> None:
    position = RecordPosition(f"raw{ESCAPE}", 0, 7)
    record = GivenMessage(position, 1, ESCAPE.encode())
    kept = QuarantinedRecord(position, f"s{ESCAPE}", ESCAPE, f"no {ESCAPE}", record)
    listing = Listing("s", "c", "t", 1, 1, 0, Counter({("decode", f"no {ESCAPE}"): 1}), [kept])
    text = list_text(listing)
    assert text.replace("\n", "").isprintable()
    assert text.count(r"no \x1b[2J\x9b") == 2
