"""Avro schemas as users have them: a file, JSON text, or the objects of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headrace.schema.avro_parse import Parser
from headrace.schema.avro_render import Renderer
from headrace.schema.rules import RESERVED, SchemaRefused, problems_of, refuse_if, short_name

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.schema.model import Record

__all__ = ["SchemaRefused", "load_avro", "parse_avro", "stored_avro", "to_avro"]


def load_avro(path: Path) -> Record:
    """Return the schema in that file; SchemaRefused has every problem of it."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SchemaRefused(str(path), [f"cannot be read ({error.strerror})"]) from error
    except UnicodeDecodeError as error:
        raise SchemaRefused(str(path), [f"is not UTF-8 text ({error.reason})"]) from error
    return parse_avro(text, where=str(path))


def parse_avro(text_or_obj: object, where: str = "Avro schema") -> Record:
    """Return a stream's schema; SchemaRefused has every problem of it, as `path: reason`."""
    record, problems = _parse(text_or_obj, where)
    for field in record.fields:
        if field.name.casefold() in RESERVED:
            path = f"{short_name(record.name)}.{field.name}"
            problems.append(
                f"{path}: the name {field.name.casefold()} is reserved for headrace's own struct"
            )
    refuse_if(where, problems)
    return record


def stored_avro(text_or_obj: object, where: str) -> Record:
    """Return a schema that was rendered here, which may have the metadata struct."""
    record, problems = _parse(text_or_obj, where)
    refuse_if(where, problems)
    return record


def to_avro(record: Record) -> dict[str, object]:
    """Return the schema as Avro's JSON, whose parse is equal to `record`."""
    refuse_if(record.name, problems_of(record))
    return Renderer().record(record)


def _parse(text_or_obj: object, where: str) -> tuple[Record, list[str]]:
    obj = text_or_obj
    if isinstance(text_or_obj, str | bytes):
        try:
            obj = json.loads(text_or_obj)
        except ValueError as error:
            raise SchemaRefused(where, [f"is not JSON ({error})"]) from error
    parser = Parser()
    record = parser.top_level(obj)
    return record, [*parser.problems, *problems_of(record)]
