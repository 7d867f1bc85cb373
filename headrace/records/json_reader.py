"""JSON to rows: every field of the schema's type, or a reason why not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final, NoReturn

import msgspec

from headrace.records.codegen import function
from headrace.records.json_values import converter, default_of, fills_in, in_field, settler
from headrace.records.json_wire import wire_class
from headrace.records.rows import BadRecord, attribute
from headrace.records.times import heads, tails
from headrace.schema.model import Primitive

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from headrace.records.rows import Headers, Row
    from headrace.schema.model import Record

DEEPEST: Final = 500
_PATH = re.compile(r"(.*) - at `\$\.?(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
# What reading may raise; `explained` tells it.
UNREADABLE: Final = (BadRecord, UnicodeDecodeError, msgspec.DecodeError, RecursionError)

_CHECKED = (
    "if value is None: no_value()",
    # What is skipped is not decoded, and would be let through with any bytes in it.
    "if not value.isascii(): value.decode()",
    f"if len(value) > {2 * DEEPEST}: refuse_deep(value)",
)
_LOOKED_UP = (
    "found.__class__ is str and (head := heads.get(found[:19])) is not None"
    " and (tail := tails.get(found[19:])) is not None"
)
_INSTANTS = (Primitive.TIMESTAMP_MILLIS, Primitive.TIMESTAMP_MICROS)


class JsonReader:
    """Reads the JSON objects of a schema."""

    needs_headers: ClassVar[bool] = False

    def __init__(
        self, schema: Record, coerced: Collection[str] = (), *, refuses_unknown: bool = False
    ) -> None:
        wire = wire_class(schema, coerced, refuses_unknown=refuses_unknown)
        fixes, names = _fixes(schema, coerced)
        # As lines, too: where millions are read, the call alone would take as long as a field.
        self.lines = (*_CHECKED, "row = decode(value)", *fixes)
        self.names = {
            **names,
            "decode": msgspec.json.Decoder(wire).decode,
            "no_value": no_value,
            "refuse_deep": _refuse_deep,
        }
        self._read: Callable[[bytes | None], Row] = function(
            "read_json", ["value"], [*self.lines, "return row"], self.names
        )

    def __call__(self, value: bytes | None, _headers: Headers | None = None) -> Row:
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
            return BadRecord(f"nested more than {DEEPEST} levels deep")
        case msgspec.ValidationError():
            return _misfit(str(problem))
        case _:
            said = str(problem).removeprefix("JSON is malformed: ")
            return BadRecord(f"not a JSON object: {said}")


def _misfit(said: str) -> BadRecord:
    located = _PATH.fullmatch(said)
    text, path = (located[1], located[2]) if located else (said, "")
    if not path and text.startswith("Expected `object`"):
        return BadRecord(f"not a JSON object: {_lowered(text)}")
    inside = f"{path}." if path else ""
    if missing := _MISSING.fullmatch(text):
        return BadRecord(f"{inside}{missing[1]} is missing")
    if unknown := _UNKNOWN.fullmatch(text):
        return BadRecord(f"{inside}{unknown[1]} is no field of the schema", "unknown_fields")
    return BadRecord(f"{path}: {_lowered(text)}" if path else _lowered(text))


def _lowered(text: str) -> str:
    return (text[:1].lower() + text[1:]).replace("`", "")


def _refuse_deep(value: bytes) -> None:
    if value.count(b"[") + value.count(b"{") <= DEEPEST:
        return
    depth = deepest = 0
    for sign in re.findall(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', value, re.DOTALL):
        if sign in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in b"]}":
            depth -= 1
    if deepest > DEEPEST:
        raise BadRecord(f"nested more than {DEEPEST} levels deep")


def _fixes(schema: Record, coerced: Collection[str]) -> tuple[list[str], dict[str, object]]:
    """Return the lines that make the schema's values of the decoded ones, and what they use."""
    lines: list[str] = []
    names: dict[str, object] = {"heads": heads, "tails": tails}
    settle = settler(schema)
    if settle is not None:
        names["settle"] = settle
        lines.append("settle(row)")
    for number, field in enumerate(schema.fields):
        name = attribute(number)
        convert = converter(field.type, coerced, field.name)
        if convert is not None:
            names[f"fix{number}"] = in_field(name, field, convert)
            lines.append(f"found = row.{name}")
            is_instant = field.type in _INSTANTS and field.name not in coerced
            # Looked up right here: the call alone would take as long.
            looked_up = [f"if {_LOOKED_UP}: row.{name} = head + tail"] if is_instant else []
            slowly = f"found is not None: fix{number}(row, found)"
            lines += [*looked_up, f"{'elif' if is_instant else 'if'} {slowly}"]
        if fills_in(field):
            names[f"default{number}"] = default_of(field)
            lines.append(f"if row.{name} is None: row.{name} = default{number}()")
    return lines, names
