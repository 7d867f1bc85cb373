"""Records that somebody gives, from a file or out of a quarantine, as Kafka's client gives them."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

import structlog

from headrace.errors import HeadraceError, Terminal, UsageError
from headrace.kafka.message import GivenMessage, RecordPosition
from headrace.kafka.sender import KafkaRecord
from headrace.produce import ENVELOPE_KEYS, VALUE_KEYS, unwrap

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from router.plan.model import Source

log = structlog.get_logger(__name__)


def read_given(file: Path, source: Source, *, envelope: bool) -> Iterator[tuple[int, GivenMessage]]:
    """Give the records of a file with the numbers of their lines, as if the source had them.

    They stand in partition 0, from offset 0 on. Without an envelope a line is a value; a JSON
    object that is spread over all lines of the file is one record.
    """
    name = "stdin" if str(file) == "-" else str(file)
    yield from given_in(_content(file), name, source, envelope=envelope)


def given_in(
    whole: bytes, name: str, source: Source, *, envelope: bool
) -> Iterator[tuple[int, GivenMessage]]:
    """Give the records of a text in the same way; errors say that they are in `name`."""
    if source.format == "avro" and not envelope:
        raise UsageError(
            "a line of text is not an Avro record",
            'with --envelope, write each line as {"value_base64": "…"}; it may also have key, '
            "headers and timestamp",
        )
    now_ms = time.time_ns() // 1_000_000
    offset = 0
    for number, line in enumerate(_pieces(whole), start=1):
        text = line.rstrip(b"\r\n")
        if not text.strip():
            continue
        try:
            record = unwrap(text) if envelope else KafkaRecord(text)
        except (ValueError, TypeError, HeadraceError, RecursionError) as problem:
            said = str(problem).splitlines()[0]
            raise Terminal(f"{name}:{number}: {said}") from None
        if offset == 0 and not envelope and looks_wrapped(text):
            log.warning("this looks like an envelope, but is read as a value: try --envelope")
        at_ms = now_ms if record.timestamp_ms is None else record.timestamp_ms
        position = RecordPosition(source.topic, 0, offset)
        yield number, GivenMessage(position, at_ms, record.value, record.key, record.headers)
        offset += 1


def looks_wrapped(line: bytes) -> bool:
    """Whether a line has the members of an envelope, and no others."""
    whole = _json_or_none(line)
    return (
        isinstance(whole, dict)
        and bool(whole.keys() & VALUE_KEYS)
        and len(whole) > 1
        and whole.keys() <= ENVELOPE_KEYS
    )


def _content(file: Path) -> bytes:
    if str(file) == "-":
        return sys.stdin.buffer.read()
    if file.is_file():
        return file.read_bytes()
    raise UsageError(f"there is no file {file}", "name a file with a record a line, or - for stdin")


def _pieces(whole: bytes) -> list[bytes]:
    """Return the lines of a text; one where all of them are one object, as people lay it out."""
    lines = whole.split(b"\n")
    filled = [line for line in lines if line.strip()]
    if len(filled) > 1 and _json_or_none(filled[0]) is None and _json_or_none(whole) is not None:
        return [whole]
    return lines


def _json_or_none(text: bytes) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
