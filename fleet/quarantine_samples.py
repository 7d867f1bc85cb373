"""A rejected record for a page: its key, value and headers as text or hex, masked fields masked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from headrace.http.quarantine_rows import Sample, SampleHeader
from headrace.records.decoding import NO_TIME_MS
from headrace.records.hygiene.masks import REDACTED
from headrace.times import format_time_us

if TYPE_CHECKING:
    from collections.abc import Sequence

    from router.quarantine.records import QuarantinedRecord

# Of a key, a value or a header, so many bytes are shown; and so many headers.
FIRST_BYTES: Final = 600
FIRST_HEX_BYTES: Final = 96
FIRST_HEADERS: Final = 20
MASKED: Final = "the stream masks fields, and this value is not JSON in which they could be found"


@dataclass(frozen=True, slots=True)
class Shown:
    """Bytes as text or as hex; `hidden` says why they are not shown."""

    text: str | None = None
    is_hex: bool = False
    is_cut: bool = False
    hidden: str | None = None

    @property
    def in_line(self) -> str | None:
        """The text, with a sign where it is cut."""
        return f"{self.text}…" if self.is_cut else self.text


def sample_of(kept: QuarantinedRecord, masked: Sequence[Sequence[str]]) -> Sample:
    """Return a record; `masked` are the paths of fields whose values nobody is to see."""
    record = kept.record
    at, raw_key, raw_value = record.position, record.key(), record.value()
    value, key = shown(raw_value), shown(raw_key)
    headers = [SampleHeader(name, *_header(one)) for name, one in record.given_headers]
    if masked:
        value = value if raw_value is None else _shown_masked(raw_value, masked)
        # Keys and headers have no fields by which to tell.
        key = key if raw_key is None else Shown(REDACTED)
    return Sample(
        at.topic,
        at.partition,
        at.offset,
        None if record.timestamp_ms == NO_TIME_MS else format_time_us(record.timestamp_ms * 1000),
        kept.size,
        key.in_line,
        key.is_hex,
        value.text,
        value.is_hex,
        value.is_cut,
        value.hidden,
        [] if masked else headers[:FIRST_HEADERS],
        len(headers) if masked else max(0, len(headers) - FIRST_HEADERS),
    )


def shown(data: bytes | None) -> Shown:
    """Return the beginning of bytes as text, or as hex where they are not text."""
    if data is None:
        return Shown()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _as_hex(data)
    if not all(one.isprintable() or one in "\n\r\t" for one in text):
        return _as_hex(data)
    return Shown(text[:FIRST_BYTES], is_cut=len(text) > FIRST_BYTES)


def _as_hex(data: bytes) -> Shown:
    return Shown(data[:FIRST_HEX_BYTES].hex(" "), True, len(data) > FIRST_HEX_BYTES)


def _header(value: bytes | None) -> tuple[str | None, bool]:
    found = shown(value)
    return found.in_line, found.is_hex


def _shown_masked(data: bytes, masked: Sequence[Sequence[str]]) -> Shown:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return Shown(hidden=MASKED)
    if not isinstance(value, dict):
        return Shown(hidden=MASKED)
    for parts in masked:
        _mask(value, parts)
    return shown(json.dumps(value, ensure_ascii=False).encode(errors="replace"))


def _mask(value: object, parts: Sequence[str]) -> None:
    if isinstance(value, list):
        for one in value:
            _mask(one, parts)
    elif isinstance(value, dict) and parts[0] in value:
        if len(parts) == 1:
            value[parts[0]] = REDACTED
        else:
            _mask(value[parts[0]], parts[1:])
