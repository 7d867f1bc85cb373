"""What a table's columns have to become when the schema of its records has changed.

Columns are known by their ids, which never change: files that were written before, and snapshots
that somebody reads, stay what they are. What the records no longer have stays a column.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)

from headrace.schema.fit import partners
from headrace.schema.iceberg import iceberg_type
from headrace.schema.model import Array, Map, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pyiceberg.types import IcebergType

    from headrace.schema.model import Field, Type

Follows: TypeAlias = Literal["none", "add_columns", "widen"]
_RANK: Final[dict[Follows, int]] = {"none": 0, "add_columns": 1, "widen": 2}
# The same column would hold numbers in two units.
_TIMES_OF_DAY: Final = (Primitive.TIME_MILLIS, Primitive.TIME_MICROS)


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """Something that a table's schema would have to do, in words, and what has to allow it."""

    text: str
    needs: Follows


@dataclass(frozen=True, slots=True)
class Evolution:
    """The columns as they would be. `problems` are what no table can follow."""

    schema: Schema
    changes: tuple[SchemaChange, ...]
    problems: tuple[str, ...]

    def beyond(self, follows: Follows) -> tuple[SchemaChange, ...]:
        """Return the changes that are more than what is allowed."""
        return tuple(one for one in self.changes if _RANK[one.needs] > _RANK[follows])


def evolution(
    held: Schema, wanted: Record, last_id: int, partitions: Collection[str] = ()
) -> Evolution:
    """Return what becomes of a table's columns.

    `last_id` is the highest id that the table ever gave, `partitions` the names of its partitions.
    """
    evolver = _Evolver(last_id)
    fields = evolver.fields(held.fields, wanted, "")
    known = {one.name for one in held.fields}
    evolver.problems += [
        f"{one.name} is the name of a partition of the table"
        for one in fields
        if one.name in partitions and one.name not in known
    ]
    changed = Schema(
        *fields,
        schema_id=held.schema_id,
        identifier_field_ids=held.identifier_field_ids,
    )
    schema = held if changed == held else changed
    return Evolution(schema, tuple(evolver.changes), tuple(evolver.problems))


class _Evolver:
    """Goes through both schemas side by side."""

    def __init__(self, last_id: int) -> None:
        self._ids = itertools.count(last_id + 1)
        self.changes: list[SchemaChange] = []
        self.problems: list[str] = []

    def fields(
        self, held: Sequence[NestedField], wanted: Record, at: str
    ) -> tuple[NestedField, ...]:
        """Return the columns that are there, as they are to be, then those that are new."""
        found = partners({one.name for one in held}, wanted)
        known = {field.name for field in found.values()}
        kept = [self._kept(one, found.get(one.name), at) for one in held]
        new = [field for field in wanted.fields if field.name not in known]
        return (*kept, *(self._added(field, held, at) for field in new))

    def _kept(self, held: NestedField, wanted: Field | None, at: str) -> NestedField:
        path = f"{at}{held.name}"
        if wanted is None:
            if held.required:
                self._change(f"allow null in {path}, which the schema no longer has", "widen")
            return held.model_copy(update={"required": False})
        if wanted.name != held.name:
            self._change(f"rename {path} to {wanted.name}", "add_columns")
        kind = self._type(held.field_type, wanted.type, f"{at}{wanted.name}")
        required = self._required(f"{at}{wanted.name}", held.required, wanted.nullable)
        return held.model_copy(
            update={"name": wanted.name, "field_type": kind, "required": required}
        )

    def _added(self, field: Field, held: Sequence[NestedField], at: str) -> NestedField:
        path = f"{at}{field.name}"
        kind = iceberg_type(field.type)
        same = [one.name for one in held if one.name.casefold() == field.name.casefold()]
        if same:
            self.problems.append(
                f"{path} differs from the table's {at}{same[0]} only in case, which Spark ignores"
            )
        elif not field.nullable and field.default is None:
            self.problems.append(
                f"{path} is new and required, without a default for the records before it"
            )
        else:
            self._change(f"add {path} ({kind})", "add_columns")
        number = next(self._ids)
        # Rows that are there have no value for it, so it is never a required one.
        numbered = assign_fresh_schema_ids(kind, lambda: next(self._ids))
        return NestedField(number, field.name, numbered, required=False, doc=field.doc)  # type: ignore[arg-type]  # a type in, a type out

    def _type(self, held: IcebergType, wanted: Type, path: str) -> IcebergType:
        match held, wanted:
            case StructType(), Record():
                return StructType(*self.fields(held.fields, wanted, f"{path}."))
            case ListType(), Array():
                item = self._type(held.element_type, wanted.item, at := f"{path}[]")
                required = self._required(at, held.element_required, wanted.item_nullable)
                return ListType(held.element_id, item, element_required=required)
            case MapType(key_type=StringType()), Map():
                value = self._type(held.value_type, wanted.item, at := f"{path}{{}}")
                required = self._required(at, held.value_required, wanted.item_nullable)
                return MapType(
                    held.key_id, held.key_type, held.value_id, value, value_required=required
                )
        return self._leaf(held, wanted, path)

    def _leaf(self, held: IcebergType, wanted: Type, path: str) -> IcebergType:
        kind = iceberg_type(wanted)
        is_time = wanted in _TIMES_OF_DAY
        if held == kind or (_is_wider(held, kind) and not is_time):
            return held
        if _is_wider(kind, held) and not is_time:
            self._change(f"widen {path} from {held} to {kind}", "widen")
            return kind
        self.problems.append(f"{path} is {held}, but the schema has {kind}")
        return held

    def _required(self, path: str, required: bool, nullable: bool) -> bool:
        if required and nullable:
            self._change(f"allow null in {path}", "widen")
        return required and not nullable

    def _change(self, text: str, needs: Follows) -> None:
        self.changes.append(SchemaChange(text, needs))


def _is_wider(one: IcebergType, other: IcebergType) -> bool:
    """Whether every value of the other is one of this, as Iceberg has it."""
    match one, other:
        case (LongType(), IntegerType()) | (DoubleType(), FloatType()):
            return True
        case DecimalType(), DecimalType():
            return one.scale == other.scale and one.precision > other.precision
    return False
