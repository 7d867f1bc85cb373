"""The schema in Spark's terms, as the JSON of a StructType: no Spark is loaded for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.schema.annotations import (
    ANNOTATION,
    ROW,
    annotated,
    annotation,
    carried,
    inferred_name,
    recall,
)
from headrace.schema.avro_words import is_object, text
from headrace.schema.model import Array, Decimal, Field, Fixed, Map, Primitive, Record
from headrace.schema.rules import problems_of, refuse_if

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.schema.annotations import Bare
    from headrace.schema.model import Type

    Json: TypeAlias = Mapping[str, object]

_COMMENT: Final = "comment"

_SPARK: Final[Mapping[Primitive, str]] = {
    Primitive.BOOLEAN: "boolean",
    Primitive.INT: "integer",
    Primitive.LONG: "long",
    Primitive.FLOAT: "float",
    Primitive.DOUBLE: "double",
    Primitive.BYTES: "binary",
    Primitive.STRING: "string",
    Primitive.DATE: "date",
    Primitive.TIMESTAMP_MICROS: "timestamp",
    Primitive.LOCAL_TIMESTAMP_MICROS: "timestamp_ntz",
}
_INFERRED: Final[Mapping[str, Primitive]] = {
    **{spark: primitive for primitive, spark in _SPARK.items()},
    "byte": Primitive.INT,
    "short": Primitive.INT,
}
_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_TEXT: Final = re.compile(r"string( collate \S+)?|(var)?char\(\d+\)")
_TIME: Final = re.compile(r"time\([0-6]\)")


def to_spark(record: Record) -> dict[str, object]:
    """Return what `StructType.fromJson` takes."""
    refuse_if(record.name, problems_of(record))
    columns = [_column(field, {ANNOTATION: annotation(record, field)}) for field in record.fields]
    return {"type": "struct", "fields": columns}


def from_spark(struct: Json) -> Record:
    """Return what a StructType's `jsonValue()` means; it is a `row` where no annotation names it."""
    reader = _Reader()
    columns = _columns(struct)
    found = Record(ROW, reader.fields(columns, f"{ROW}."))
    annotations = ((str(column["name"]), _metadata(column, ANNOTATION)) for column in columns)
    record = recall(found, annotated(annotations), _carried)
    refuse_if("Spark schema", [*reader.problems, *problems_of(record)])
    return record


def _carried(node: Type) -> Bare:
    bare = carried(node)
    return Primitive.BYTES if isinstance(bare, Fixed) else bare


def _column(field: Field, metadata: Mapping[str, str]) -> Json:
    comment = {} if field.doc is None else {_COMMENT: field.doc}
    return {
        "name": field.name,
        "type": _spark(field.type),
        "nullable": field.nullable,
        "metadata": {**comment, **metadata},
    }


def _spark(node: Type) -> object:
    bare = _carried(node)
    match bare:
        case Record():
            return {"type": "struct", "fields": [_column(field, {}) for field in bare.fields]}
        case Array():
            item = _spark(bare.item)
            return {"type": "array", "elementType": item, "containsNull": bare.item_nullable}
        case Map():
            return {
                "type": "map",
                "keyType": "string",
                "valueType": _spark(bare.item),
                "valueContainsNull": bare.item_nullable,
            }
        case Decimal():
            return f"decimal({bare.precision},{bare.scale})"
        case Fixed():
            return _SPARK[Primitive.BYTES]
    return _SPARK[bare]


class _Reader:
    """Spark's own types, read without annotations."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def fields(self, columns: Iterable[Json], prefix: str) -> tuple[Field, ...]:
        return tuple(self._field(column, str(column["name"]), prefix) for column in columns)

    def _field(self, column: Json, name: str, prefix: str) -> Field:
        type_ = self._type(column["type"], f"{prefix}{name}", name)
        comment = _metadata(column, _COMMENT)
        return Field(name, type_, bool(column.get("nullable", True)), doc=comment)

    def _type(self, type_: object, at: str, name: str) -> Type:
        if not is_object(type_):
            return self._leaf(str(type_), at)
        match type_.get("type"):
            case "struct":
                return Record(inferred_name(name), self.fields(_columns(type_), f"{at}."))
            case "array":
                item = self._type(type_["elementType"], f"{at}[]", name)
                return Array(item, bool(type_.get("containsNull", True)))
            case "map":
                if not _means_string(type_["keyType"]):
                    self._refuse(at, f"a map with keys of {type_['keyType']}")
                value = self._type(type_["valueType"], f"{at}{{}}", name)
                return Map(value, bool(type_.get("valueContainsNull", True)))
        return self._refuse(at, f"Spark's {type_.get('type')} {type_.get('class', '')}".rstrip())

    def _leaf(self, type_: str, at: str) -> Type:
        if decimal := _DECIMAL.fullmatch(type_):
            return Decimal(int(decimal[1]), int(decimal[2]))
        if _means_string(type_):
            return Primitive.STRING
        if _TIME.fullmatch(type_):
            return Primitive.TIME_MICROS
        return _INFERRED.get(type_) or self._refuse(at, f"Spark's {type_}")

    def _refuse(self, at: str, what: str) -> Type:
        self.problems.append(f"{at}: {what} has no Avro type")
        return Primitive.STRING


def _means_string(type_: object) -> bool:
    return isinstance(type_, str) and _TEXT.fullmatch(type_) is not None


def _columns(struct: Json) -> list[Json]:
    columns = struct.get("fields")
    return [column for column in columns if is_object(column)] if isinstance(columns, list) else []


def _metadata(column: Json, key: str) -> str | None:
    metadata = column.get("metadata")
    return text(metadata.get(key)) if is_object(metadata) else None
