"""JSON to rows: each field has the type of the schema, or the record is bad and says why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from headrace.records.codegen import function
from headrace.records.json.conversions import Number, read_form
from headrace.records.json.wire import fixes, wire_class
from headrace.records.rows import BadRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from headrace.records.rows import Row
    from headrace.schema.model import Record

_AT: Final = " - at `$"
_MISSING: Final = "Object missing required field `"
_UNKNOWN: Final = "Object contains unknown field `"
# What reading may raise; `explained` puts it into words.
UNREADABLE: Final = (BadRecord, UnicodeDecodeError, msgspec.DecodeError, RecursionError)

_CHECKED = (
    "if value is None: no_value()",
    # What is skipped is not decoded, and would be let through with any bytes in it.
    "if not value.isascii(): value.decode()",
)


class JsonReader:
    """Reads the JSON objects of a schema; `texts` are instants that stay as text."""

    def __init__(
        self,
        schema: Record,
        coerced: Collection[str] = (),
        *,
        refuses_unknown: bool = False,
        texts: Collection[str] = (),
    ) -> None:
        wire = wire_class(schema, coerced, refuses_unknown=refuses_unknown)
        lines, names = fixes(schema, texts)
        # As lines, too: where millions are read, the call alone would take as long as a field.
        self.lines = (*_CHECKED, "row = decode(value)", *lines)
        self.names = {
            **names,
            "decode": msgspec.json.Decoder(wire, dec_hook=read_form, float_hook=Number).decode,
            "no_value": no_value,
        }
        self._read: Callable[[bytes | None], Row] = function(
            "read_json", ["value"], [*self.lines, "return row"], self.names
        )

    def __call__(self, value: bytes | None) -> Row:
        """Return the record of a value; BadRecord says what is wrong with it."""
        try:
            return self._read(value)
        except UNREADABLE as problem:
            raise explained(problem) from None


def no_value() -> NoReturn:
    """Refuse a record that has no value."""
    raise BadRecord("the record has no value")


def explained(problem: Exception) -> BadRecord:
    """Return what is wrong with a value as a sentence that begins with the field's path."""
    match problem:
        case BadRecord():
            return problem
        case UnicodeDecodeError():
            return BadRecord("the value is not UTF-8")
        case RecursionError():
            return BadRecord("nested too many levels deep")
        case msgspec.ValidationError():
            return _misfit(str(problem))
        case _:
            said = str(problem).removeprefix("JSON is malformed: ")
            return BadRecord(f"not a JSON object: {said}")


def _misfit(said: str) -> BadRecord:
    before, _, after = said.rpartition(_AT)
    text, path = (before, after.removesuffix("`").removeprefix(".")) if before else (said, "")
    if not path and text.startswith("Expected `object`"):
        return BadRecord(f"not a JSON object: {_lowered(text)}")
    inside = f"{path}." if path else ""
    name = text.removesuffix("`")
    if text.startswith(_MISSING):
        return BadRecord(f"{inside}{name.removeprefix(_MISSING)} is missing")
    if text.startswith(_UNKNOWN):
        unknown = f"{inside}{name.removeprefix(_UNKNOWN)} is not a field of the schema"
        return BadRecord(unknown, "unknown_fields")
    return BadRecord(f"{path}: {_lowered(text)}" if path else _lowered(text))


def _lowered(text: str) -> str:
    return (text[:1].lower() + text[1:]).replace("`", "")
