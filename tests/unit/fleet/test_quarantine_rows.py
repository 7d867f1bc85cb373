"""Rejected records for a page: groups, samples, bytes as hex, and masks that hold there, too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from fleet import quarantine_samples
from fleet.quarantine_rows import FIRST_OF_REASON, SAMPLES, Groups, newest_of
from fleet.quarantine_samples import FIRST_BYTES, FIRST_HEADERS, FIRST_HEX_BYTES
from headrace.kafka.message import GivenMessage, RecordPosition
from router.quarantine.records import MOST_REASONS, QuarantinedRecord

if TYPE_CHECKING:
    from headrace.http.quarantine_rows import QuarantineGroup, Sample


HEADERS = (("trace", b"\xff"), ("id", b"7"), ("none", None))


def kept(
    value: bytes | None,
    key: bytes | None = None,
    reason: str = "bad",
    at_ms: int = 1,
    output: str = "",
) -> QuarantinedRecord:
    record = GivenMessage(RecordPosition("raw", 0, at_ms), at_ms, value, key, HEADERS)
    connector = f"s.{output}" if output else "s"
    return QuarantinedRecord(
        RecordPosition("q", 0, at_ms), connector, "VALUE_CONVERTER", reason, record
    )


def rows(groups: Groups) -> list[QuarantineGroup]:
    return [groups.row(key) for key in groups.largest_first()]


def sample_of(
    value: bytes | None, key: bytes | None = None, masked: tuple[str, ...] = ()
) -> Sample:
    groups = Groups(masked)
    groups.add(kept(value, key), "s")
    (group,) = rows(groups)
    (found,) = group.samples
    return found


def test_groups_are_by_reason_the_largest_first_and_keep_the_newest() -> None:
    groups = Groups(())
    for at_ms in (5, 1, 9, 3, 7):
        groups.add(kept(b"x", at_ms=at_ms, reason="often"), "s")
    groups.add(kept(b"x", reason="once", output="starts"), "s")
    often, once = rows(groups)
    assert (often.reason, often.count, often.output) == ("often", 5, "")
    assert (once.reason, once.count, once.output) == ("once", 1, "starts")
    assert sorted(one.offset for one in often.samples) == [5, 7, 9]
    assert len(often.samples) == SAMPLES
    assert (groups.records, groups.bytes) == (6, 6)


def test_a_reason_of_its_own_for_each_record_does_not_grow_for_ever() -> None:
    groups = Groups(())
    for number in range(MOST_REASONS + 50):
        groups.add(kept(b"x", reason=f"value {number}"), "s")
    largest = rows(groups)[0]
    assert (largest.count, largest.reason) == (50, "all other reasons")


def test_groups_that_were_replayed_come_last() -> None:
    groups = Groups(())
    groups.add(kept(b"x", reason="waits"), "s")
    done = ("VALUE_CONVERTER", "done", "")
    assert [reason for _, reason, _ in groups.largest_first({done: 7})] == ["waits", "done"]
    row = groups.row(done, 7)
    assert (row.count, row.replayed, row.samples) == (0, 7, [])


def test_a_reason_of_any_length_is_cut() -> None:
    groups = Groups(())
    groups.add(kept(b"x", reason="r" * 100_000), "s")
    assert len(rows(groups)[0].reason) == FIRST_OF_REASON + 1


def test_what_is_no_text_is_hex() -> None:
    found = sample_of(b"\x00\xff" * FIRST_HEX_BYTES, b"key")
    assert (found.value_is_hex, found.is_cut, found.key_is_hex) == (True, True, False)
    assert (found.value or "").startswith("00 ff 00 ff")
    assert [(one.name, one.value, one.is_hex) for one in found.headers] == [
        ("trace", "ff", True),
        ("id", "7", False),
        ("none", None, False),
    ]
    assert sample_of("ü".encode()).value == "ü"
    assert sample_of(b"a\x1b[2Jb").value_is_hex
    assert (sample_of(None).value, sample_of(None).hidden) == (None, None)


def test_masked_fields_are_masked_wherever_they_are() -> None:
    event = {"user": {"mail": "a@b"}, "list": [{"user": 1}], "mail": "a@b", "id": 7}
    found = sample_of(json.dumps(event).encode(), b"a@b", ("user.mail", "mail", "list.user"))
    assert json.loads(found.value or "") == {
        "user": {"mail": "***"},
        "list": [{"user": "***"}],
        "mail": "***",
        "id": 7,
    }
    # Keys and headers have no fields by which to tell.
    assert (found.key, found.headers, found.hidden_headers) == ("***", [], 3)


def test_long_keys_and_many_headers_are_cut() -> None:
    assert (sample_of(b"x", b"k" * 5_000).key or "").endswith("k…")
    assert len(sample_of(b"x", b"k" * 5_000).key or "") == FIRST_BYTES + 1
    record = GivenMessage(RecordPosition("raw", 0, 1), 1, b"x", None, HEADERS * 50)
    found = quarantine_samples.sample_of(
        QuarantinedRecord(RecordPosition("q", 0, 1), "s", "VALUE_CONVERTER", "bad", record), ()
    )
    assert (len(found.headers), found.hidden_headers) == (FIRST_HEADERS, 150 - FIRST_HEADERS)


def test_where_masked_fields_cannot_be_found_nothing_is_shown() -> None:
    for value in (b'{"mail": "a@b"', b"a@b", b'["a@b"]', b"\x00\x01a@b", b"[" * 100_000):
        found = sample_of(value, masked=("mail",))
        assert (found.value, "masks" in (found.hidden or "")) == (None, True)


@given(st.dictionaries(st.integers(0, 5), st.tuples(st.integers(0, 99), st.integers(0, 99))))
def test_the_newest_are_as_many_as_asked_for(sizes: dict[int, tuple[int, int]]) -> None:
    spans = {number: range(start, start + many) for number, (start, many) in sizes.items()}
    for most in (0, 1, 7, 1_000):
        found = newest_of(spans, most)
        assert sum(map(len, found.values())) == min(most, sum(map(len, spans.values())))
        assert all(found[number].stop == span.stop for number, span in spans.items())
