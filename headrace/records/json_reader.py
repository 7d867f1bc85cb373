"""JSON to rows: every field of the schema's type, or a reason why not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec

from headrace.records.codegen import function
from headrace.records.json_values import converter, default_of, fills_in, in_field
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
_LOOKED_UP = (
    "value.__class__ is str and (head := heads.get(value[:19])) is not None"
    " and (tail := tails.get(value[19:])) is not None"
)
_SLOWLY = "value is not None: fix{}(row, value)"
_INSTANTS = (Primitive.TIMESTAMP_MILLIS, Primitive.TIMESTAMP_MICROS)


class JsonReader:
    """Reads the JSON objects of a schema."""

    needs_headers: ClassVar[bool] = False

    def __init__(
        self, schema: Record, coerced: Collection[str] = (), *, refuses_unknown: bool = False
    ) -> None:
        wire = wire_class(schema, coerced, refuses_unknown=refuses_unknown)
        fixes, names = _fixes(schema, coerced)
        body = ["row = decode(value)", *fixes, "return row"]
        names["decode"] = msgspec.json.Decoder(wire).decode
        self._read: Callable[[bytes], Row] = function("read_json", ["value"], body, names)

    def __call__(self, value: bytes | None, _headers: Headers | None = None) -> Row:
        """Return the record of a value; BadRecord says what is wrong with it."""
        if value is None:
            raise BadRecord("the record has no value")
        try:
            # What is skipped is not decoded, and would be let through with any bytes in it.
            if not value.isascii():
                value.decode()
            if len(value) > 2 * DEEPEST and _too_deep(value):
                raise BadRecord(f"nested more than {DEEPEST} levels deep")
            return self._read(value)
        except UnicodeDecodeError:
            raise BadRecord("the value is not UTF-8") from None
        except msgspec.DecodeError as problem:
            raise explained(problem) from None
        except RecursionError:
            raise BadRecord(f"nested more than {DEEPEST} levels deep") from None


def explained(problem: msgspec.DecodeError) -> BadRecord:
    """Return msgspec's finding as a sentence that begins with the field's path."""
    said = str(problem)
    if not isinstance(problem, msgspec.ValidationError):
        return BadRecord(f"not a JSON object: {said.removeprefix('JSON is malformed: ')}")
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


def _too_deep(value: bytes) -> bool:
    if value.count(b"[") + value.count(b"{") <= DEEPEST:
        return False
    depth = deepest = 0
    for sign in re.findall(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', value, re.DOTALL):
        if sign in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in b"]}":
            depth -= 1
    return deepest > DEEPEST


def _fixes(schema: Record, coerced: Collection[str]) -> tuple[list[str], dict[str, object]]:
    """Return the lines that make the schema's values of the decoded ones, and what they use."""
    lines: list[str] = []
    names: dict[str, object] = {"heads": heads, "tails": tails}
    for number, field in enumerate(schema.fields):
        name = attribute(number)
        if fills_in(field):
            lines.append(f"if row.{name} is None: row.{name} = default{number}()")
            names[f"default{number}"] = default_of(field)
        convert = converter(field.type, coerced, field.name)
        if convert is None:
            continue
        names[f"fix{number}"] = in_field(name, field, convert)
        lines.append(f"value = row.{name}")
        if field.type in _INSTANTS and field.name not in coerced:
            # Looked up right here: the call alone would take as long.
            lines += [
                f"if {_LOOKED_UP}: row.{name} = head + tail",
                f"elif {_SLOWLY.format(number)}",
            ]
        else:
            lines.append(f"if {_SLOWLY.format(number)}")
    return lines, names
