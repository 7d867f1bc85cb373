"""Headers of Kafka records, as their producer wrote them: names in UTF-8, values of any bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.contract import ORIGIN
from headrace.kafka.message import GivenMessage, RecordPosition
from headrace.kafka.quarantine import READING, headers_of_bad
from headrace.records.framing import framed, in_headers
from headrace.records.rows import BadRecord
from router.plan.model import ToSearch
from router.quarantine.records import parse_quarantined
from router.tasks.search_documents import document_id
from router.tasks.sent_lines import headers_of
from tests.fuzz.hygiene import columns, landed
from tests.fuzz.target import Target, check_reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.records.rows import Headers

_PLACE: Final = RecordPosition("events", 3, 7)
_ORIGIN: Final = "events/3/"
_TO_SEARCH: Final = ToSearch("http://localhost", "index", None, 1)


def parsed(value: bytes) -> Headers:
    """Return headers out of lines; one without `=` has no value."""
    lines = value.split(b"\n") if value else []
    pairs = (line.partition(b"=") for line in lines)
    return [(name.decode(errors="replace"), given if sign else None) for name, sign, given in pairs]


def _run(value: bytes) -> None:
    headers = parsed(value)
    record = GivenMessage(_PLACE, 1_772_323_200_000, b'{"l":17}', b"key", tuple(headers))
    _reason_of(in_headers, headers)
    _reason_of(framed, value)
    assert len(landed(_COLUMNS, record)) == 1
    for region in (None, "here"):
        sent = headers_of(region)(record, _ORIGIN)
        assert list(sent[: len(headers)]) == list(headers)
        assert sent[-1][0] == ORIGIN
        assert document_id(_TO_SEARCH, None, sent) == "events-3-7"
    _quarantined(record, headers)


def _quarantined(record: GivenMessage, headers: Headers) -> None:
    """Check that the quarantine gives a record back as it was."""
    own = [*headers, *headers_of_bad(record, READING, "a reason", "stream")]
    kept = parse_quarantined(
        GivenMessage(RecordPosition("bad", 0, 1), 5, record.value(), record.key(), tuple(own))
    )
    assert kept is not None
    assert kept.record.position == _PLACE
    assert (kept.stage, kept.reason) == (READING, "a reason")
    assert list(kept.record.given_headers) == list(headers)
    # Whatever stands in a quarantine, it has a place or is nobody's.
    foreign = parse_quarantined(GivenMessage(_PLACE, 5, None, None, tuple(headers)))
    assert foreign is None or foreign.record.position.offset >= 0


def _reason_of(read: Callable[..., object], *given: object) -> None:
    try:
        read(*given)
    except BadRecord as problem:
        check_reason(problem.reason)


_COLUMNS: Final = columns()

TARGETS: Final = (
    Target(
        "headers",
        _run,
        (
            b"",
            b"region=eu-west-1\nregion\nheadrace.origin=events/0/1/2",
            b"__value_schema_id=\x00\x00\x00\x00\x07\n__key_schema_id=\x01" + bytes(16),
            b"__connect.errors.topic=t\n__connect.errors.partition=1\n__connect.errors.offset=-2",
            b"\xff=\xff\n\xc3\xa9=\xe9",
        ),
    ),
)
