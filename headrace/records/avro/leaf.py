"""Generated source that reads a value without parts, and converts it to the stream's type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.records.avro.source import pass_over, pass_over_counted, read_long
from headrace.records.avro.writer_schema import kind_of
from headrace.schema.avro_words import LOGICAL
from headrace.schema.defaults import LIMITS
from headrace.schema.fit import type_word
from headrace.schema.model import Decimal, Fixed, Primitive
from headrace.schema.rules import short_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.records.avro.source import Body
    from headrace.records.avro.writer_schema import Leaf

# Avro's promotions: what may be read as what else.
_READ_AS: Final[Mapping[str, tuple[str, ...]]] = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
# Each annotation of time: what kind of time it is, and its unit in microseconds.
_TIMES: Final[Mapping[str, tuple[str, int]]] = {
    "date": ("date", 1),
    "time-millis": ("time of day", 1000),
    "time-micros": ("time of day", 1),
    "timestamp-millis": ("timestamp", 1000),
    "timestamp-micros": ("timestamp", 1),
    "local-timestamp-millis": ("local timestamp", 1000),
    "local-timestamp-micros": ("local timestamp", 1),
    "timestamp-nanos": ("timestamp in nanoseconds", 0),
    "local-timestamp-nanos": ("local timestamp in nanoseconds", 0),
}


class Incompatible(Exception):
    """A writer's type that cannot be read as the stream's; the path and the reason."""


def read_leaf(
    body: Body, writer: Leaf, reader: Primitive | Decimal | Fixed, target: str, path: str
) -> None:
    """Read a value of the writer's type into the target, as a value of the reader's type."""
    expected = _underlying(reader)
    _check(writer, reader, expected, path)
    # Text and bytes are the same bytes: they are read as what they become.
    counted = {"string", "bytes"}
    kind = expected if {writer.kind, expected} <= counted else writer.kind
    read_plain(body, kind, target, path, size=writer.size)
    if expected in {"float", "double"} and kind in {"int", "long"}:
        body.line(f"{target} = {'single' if expected == 'float' else 'float'}({target})")
    if isinstance(reader, Decimal):
        _hold_decimal(body, reader, target, path)
    elif isinstance(reader, Primitive) and reader.value in _TIMES:
        _hold_time(body, writer, reader, target, path)


def read_plain(body: Body, kind: str, target: str, path: str, *, size: int) -> None:
    """Read one of Avro's plain types."""
    match kind:
        case "boolean":
            body.line(f"{target} = buf[pos]")
            body.line("pos += 1")
            body.refuse_if(f"{target} > 1", f"{path} is no boolean")
            body.line(f"{target} = {target} == 1")
        case "int":
            read_long(body, target)
            body.refuse_if(f"not -0x80000000 <= {target} <= 0x7fffffff", f"{path} is no int")
        case "long":
            read_long(body, target)
        case "float" | "double":
            body.line(f"({target},) = unpack_{kind}(buf, pos)")
            body.line(f"pos += {4 if kind == 'float' else 8}")
        case "fixed":
            body.line(f"{target} = buf[pos : pos + {size}]")
            pass_over(body, str(size), path)
        case _:
            start = pass_over_counted(body, path)
            decode = ".decode()" if kind == "string" else ""
            body.line(f"{target} = buf[{start}:pos]{decode}")


def names_match(written: str, name: str, aliases: tuple[str, ...]) -> bool:
    """Whether a type of that name is the reader's: by its short name, or by an alias."""
    return short_name(written) in {
        short_name(name),
        *(alias for alias in aliases if "." not in alias),
    } or written in {*aliases, name}


def _underlying(reader: Primitive | Decimal | Fixed) -> str:
    if isinstance(reader, Primitive):
        return LOGICAL.get(reader, reader).value
    return "fixed" if isinstance(reader, Fixed) or reader.fixed else "bytes"


def _check(writer: Leaf, reader: Primitive | Decimal | Fixed, expected: str, path: str) -> None:
    if isinstance(reader, Decimal) and writer.logical == "decimal":
        if writer.scale != reader.scale:
            raise Incompatible(f"{path} has the scale {writer.scale}, not {reader.scale}")
        return
    # Avro reads text as bytes: the digits of a text would become a decimal nobody meant.
    number_is_text = (isinstance(reader, Decimal) and writer.kind == "string") or (
        writer.logical == "decimal" and expected == "string"
    )
    promoted = expected in _READ_AS.get(writer.kind, ())
    if number_is_text or (writer.kind != expected and not promoted):
        raise Incompatible(f"{path} is {kind_of(writer)}, not {type_word(reader)}")
    fixed = reader.fixed if isinstance(reader, Decimal) else reader
    if isinstance(fixed, Fixed):
        if writer.size != fixed.size:
            raise Incompatible(f"{path} has {writer.size} bytes, not {fixed.size}")
        if not names_match(writer.name, fixed.name, fixed.aliases):
            raise Incompatible(f"{path} is the fixed {writer.name}, not {fixed.name}")


def _hold_decimal(body: Body, reader: Decimal, target: str, path: str) -> None:
    unscaled, digits = body.variable(), reader.precision
    body.line(f"{unscaled} = from_bytes({target}, 'big', signed=True)")
    # Before a Decimal is made of it: a number of a million digits would take its time.
    body.refuse_if(
        f"not {target} or not {-(10**digits)} < {unscaled} < {10**digits}",
        f"{path} is no decimal of {digits} digits",
    )
    scaled = f".scaleb({-reader.scale}, EXACT)" if reader.scale else ""
    body.line(f"{target} = Decimal({unscaled}){scaled}")


def _hold_time(body: Body, writer: Leaf, reader: Primitive, target: str, path: str) -> None:
    what, unit_us = _TIMES[reader.value]
    written, written_us = _TIMES.get(writer.logical or "", (what, unit_us))
    if written != what:
        raise Incompatible(f"{path} is a {written}, not a {what}")
    # A time of day is held in the schema's unit, a point in time in microseconds.
    factor = written_us // unit_us if what == "time of day" else written_us
    if factor != 1:
        body.line(f"{target} *= {factor}")
    least, most = LIMITS[reader]
    limits = "00:00 to 24:00" if what == "time of day" else "the years 0001 to 9999"
    body.refuse_if(f"not {least} <= {target} <= {most}", f"{path} is beyond {limits}")
