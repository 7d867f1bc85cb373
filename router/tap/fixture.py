"""Records as lines for tests: the envelope of `headrace produce`, `router explain` and run_app."""

from __future__ import annotations

import base64
import json
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal

from headrace.errors import UsageError
from router.explain.outcomes import Passed

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.records.rows import Headers
    from router.explain.explanation import Explanation
    from router.explain.outcomes import Evaluated


class _Unreadable(Enum):
    UNREADABLE = "bytes that are no text"


UNREADABLE: Final = _Unreadable.UNREADABLE


class Fixture:
    """A new file, and the records of the source in it; of one output, what that writes.

    Of a stream with masks it has what outputs see, without keys, which may hold what is masked.
    """

    def __init__(self, path: Path, explanation: Explanation, output: str | None) -> None:
        plan = explanation.plan
        self._explanation = explanation
        self._output = output
        self._is_masked = bool(plan.hygiene.masks)
        if self._is_masked and output is None and plan.source.format != "json":
            raise UsageError(
                f"stream {plan.stream} masks fields, and its records are not JSON: they cannot be "
                "written with these fields masked",
                "name an output, whose records are written as it sees them: STREAM.OUTPUT",
            )
        try:
            self._file = path.open("xb")
        except FileExistsError:
            raise UsageError(
                f"{path} is there already", "name a new file, or remove that one"
            ) from None
        self.written = 0

    def add(self, one: Evaluated) -> None:
        """Write a record, if it is one of them."""
        line = self._line(one)
        if line is not None:
            self._file.write(line + b"\n")
            self._file.flush()
            self.written += 1

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _line(self, one: Evaluated) -> bytes | None:
        record = one.record
        if self._output is not None:
            outcome = one.outcomes.get(self._output)
            if not isinstance(outcome, Passed):
                return None
            return envelope(outcome.value, outcome.key, outcome.headers, record.timestamp_ms)
        headers = record.given_headers
        if not self._is_masked:
            return envelope(record.value(), record.key(), headers, record.timestamp_ms)
        if one.broken is not None:
            # Nobody knows which of its bytes are those of a masked field.
            return None
        return envelope(self._explanation.seen(one), None, headers, record.timestamp_ms)


def envelope(value: bytes | None, key: bytes | None, headers: Headers, timestamp_ms: int) -> bytes:
    """Return a line from which the very same record is read again.

    A header that is no text is left out: the envelope has no form for it.
    """
    members = _member("value", value)
    if key is not None:
        members |= _member("key", key)
    texts = [(name, _text(data)) for name, data in headers]
    if kept := [[name, text] for name, text in texts if text is not UNREADABLE]:
        members["headers"] = json.dumps(kept, ensure_ascii=False)
    if timestamp_ms > 0:
        members["timestamp"] = str(timestamp_ms)
    return (
        f"{{{', '.join(f'{json.dumps(name)}: {text}' for name, text in members.items())}}}".encode()
    )


def _member(name: str, data: bytes | None) -> dict[str, str]:
    text = _text(data)
    if text is UNREADABLE:
        return {f"{name}_base64": json.dumps(base64.b64encode(data or b"").decode())}
    if isinstance(text, str) and _is_json_of_one_line(text):
        # As it was written: a number keeps every digit.
        return {name: text}
    return {name: json.dumps(text, ensure_ascii=False)}


def _text(data: bytes | None) -> str | Literal[_Unreadable.UNREADABLE] | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return UNREADABLE


def _is_json_of_one_line(text: str) -> bool:
    if text[:1] not in {"{", "["} or text[-1:] not in {"}", "]"} or len(text.splitlines()) != 1:
        return False
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(constant)
