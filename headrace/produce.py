"""From lines of JSON to records of a topic."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import re
import sys
from typing import TYPE_CHECKING, BinaryIO, Final

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn

from headrace.errors import HeadraceError, Terminal
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord, Sender
from headrace.times import parse_time_us

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from headrace.config.workspace.workspace import Cluster

# Of a record whose value, or key, is no text, the envelope has the bytes in base64.
VALUE_KEYS: Final = frozenset({"value", "value_base64"})
ENVELOPE_KEYS: Final = VALUE_KEYS | {"key", "key_base64", "headers", "timestamp"}
SHOW_EVERY: Final = 1000
LARGEST_TIMESTAMP: Final = 2**63 - 1
_DECODER: Final = json.JSONDecoder()
_BETWEEN: Final = re.compile(r"[ \t\r\n]*[:,]?[ \t\r\n]*")


class BadLine(Terminal):
    """A line that is no record."""

    def __init__(self, file: str, number: int, reason: str) -> None:
        sent = "the lines before it were sent" if number > 1 else "nothing of this file was sent"
        super().__init__(f"{file}:{number}: {reason}", sent)


def send_files(files: Sequence[Path], cluster: Cluster, topic: str, *, envelope: bool) -> int:
    """Send every line of the files; returns how many records the cluster acknowledged."""
    for file in files:
        if str(file) != "-" and not file.is_file():
            raise Terminal(f"there is no file {file}", "name a JSON Lines file, or - for stdin")
    KafkaCluster(cluster).ensure_topic(topic)
    sender = Sender(cluster, topic)
    columns = (SpinnerColumn(), TextColumn("{task.description}"))
    console = Console(stderr=True)
    # Into a file it would be a line of nothing.
    shown = console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not shown) as bar:
        task = bar.add_task(f"sending to {topic}")
        try:
            for sent, record in enumerate(read_records(files, envelope=envelope), start=1):
                sender.send(record)
                if sent % SHOW_EVERY == 0:
                    bar.update(task, description=f"{sent:,} records sent to {topic}")
        finally:
            # What was handed over before a bad line still has to arrive.
            sender.close()
    return sender.delivered


def read_records(files: Sequence[Path], *, envelope: bool) -> Iterator[KafkaRecord]:
    """Read the records of all files, in order; an empty line is none."""
    for file in files:
        name = "stdin" if str(file) == "-" else str(file)
        with _open(file) as lines:
            for number, line in enumerate(lines, start=1):
                text = line.rstrip(b"\r\n")
                if not text.strip():
                    continue
                try:
                    yield unwrap(text) if envelope else KafkaRecord(text)
                except RecursionError:
                    raise BadLine(name, number, "it is nested too deeply") from None
                except (ValueError, TypeError, HeadraceError) as problem:
                    raise BadLine(name, number, str(problem).splitlines()[0]) from None


def _open(file: Path) -> contextlib.AbstractContextManager[BinaryIO]:
    if str(file) == "-":
        return contextlib.nullcontext(sys.stdin.buffer)
    return file.open("rb")


def unwrap(line: bytes) -> KafkaRecord:
    """Return the record of an envelope; ValueError or TypeError says what is wrong with it."""
    text = line.decode("utf-8-sig")
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as problem:
        # On one line, the number of the line within it says nothing.
        raise ValueError(f"not JSON: {problem.msg} at column {problem.colno}") from None
    if not isinstance(whole, dict) or not whole.keys() & VALUE_KEYS:
        raise ValueError('with --envelope, each line must be an object with "value"')
    unknown = sorted(set(whole) - ENVELOPE_KEYS)
    if unknown:
        raise ValueError(
            f"the envelope has no {unknown[0]}; it has {', '.join(sorted(ENVELOPE_KEYS))}"
        )
    written = _as_written(text)
    return KafkaRecord(
        value=_member(whole, written, "value"),
        key=_member(whole, written, "key"),
        headers=_headers(whole.get("headers")),
        timestamp_ms=_timestamp_ms(whole.get("timestamp")),
    )


def _member(whole: Mapping[str, object], written: Mapping[str, str], name: str) -> bytes | None:
    """Return the bytes of a member, however it is written; none where it is not there."""
    in_base64 = f"{name}_base64"
    if in_base64 not in whole:
        return _as_bytes(whole.get(name), written.get(name, ""))
    if name in whole:
        raise ValueError(f"a line has either {name} or {in_base64}, not both")
    try:
        return base64.b64decode(str(whole[in_base64]), validate=True)
    except binascii.Error:
        raise ValueError(f"{in_base64} is not valid base64") from None


def _as_written(text: str) -> dict[str, str]:
    """Return the members of an object as they stand: a number keeps every digit."""
    found = {}
    at = _after(text, text.index("{") + 1)
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        start = _after(text, at)
        _, at = _DECODER.raw_decode(text, start)
        found[str(name)] = text[start:at]
        at = _after(text, at)
    return found


def _after(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return found.end() if found else at


def _as_bytes(value: object, written: str) -> bytes | None:
    """Return a text as it is, anything else as it was written, null as null."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    return written.encode()


def _header_bytes(value: object) -> bytes | None:
    return _as_bytes(value, json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _headers(headers: object) -> tuple[tuple[str, bytes | None], ...]:
    if headers is None:
        return ()
    if isinstance(headers, dict):
        return tuple((name, _header_bytes(value)) for name, value in headers.items())
    if isinstance(headers, list) and all(
        isinstance(one, list) and len(one) == 2 for one in headers
    ):
        return tuple((str(name), _header_bytes(value)) for name, value in headers)
    raise ValueError("headers must be an object, or a list of [name, value]")


def _timestamp_ms(timestamp: object) -> int | None:
    if timestamp is None:
        return None
    if isinstance(timestamp, str):
        millis = parse_time_us(timestamp) // 1000
    elif isinstance(timestamp, int) and not isinstance(timestamp, bool):
        millis = timestamp
    else:
        raise TypeError("timestamp must be a number of milliseconds or an ISO-8601 text")
    if millis <= 0:
        raise ValueError(
            "Kafka's clients do not accept a timestamp at or before 1970-01-01T00:00:00Z"
        )
    if millis > LARGEST_TIMESTAMP:
        raise ValueError("timestamp does not fit: milliseconds are a 64-bit number")
    return millis
