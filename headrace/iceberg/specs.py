"""A table's partitions as its file names them, and what becomes of them when the file changes.

Files keep the spec that they were written by, so a new one touches none of them. A field that a
table has had before gets its old id again, as Iceberg has it.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final, TypeAlias

from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform, Transform, VoidTransform, parse_transform

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

    from headrace.config.lake_table.partitioning import Partition

FIRST_PARTITION_ID: Final = 1000
# The column's id, and what is made of its values.
_Source: TypeAlias = "tuple[int, Transform[Any, Any]]"


def first_spec(partitions: Sequence[Partition], schema: Schema) -> PartitionSpec:
    """Return the spec of a table that is made; columns by their names, nested ones included."""
    fields = _named(partitions, schema, (), itertools.count(FIRST_PARTITION_ID))
    return PartitionSpec(*fields)


def next_spec(metadata: TableMetadata, partitions: Sequence[Partition]) -> PartitionSpec:
    """Return the spec by which files are to be written from now on.

    It is the current one where that says the same in whatever order, one that the table has had
    before where there is one, and otherwise one of a new id.
    """
    schema, specs = metadata.schema(), metadata.specs()
    # In version 1 a field is known by its position: it is never removed, only made void.
    is_by_position = metadata.format_version == 1
    wanted = {_source(one, schema) for one in partitions}
    candidates: list[PartitionSpec] = [metadata.spec()]
    if not is_by_position:
        candidates += specs.values()
    for held in candidates:
        if wanted == {(one.source_id, one.transform) for one in _alive(held)}:
            return held
    last = max(metadata.last_partition_id or 0, FIRST_PARTITION_ID - 1)
    ids = itertools.count(last + 1)
    if is_by_position:
        silent: dict[str, object] = {"transform": VoidTransform()}
        kept = [
            one if (one.source_id, one.transform) in wanted else one.model_copy(update=silent)
            for one in metadata.spec().fields
        ]
        known = {(one.source_id, one.transform) for one in kept}
        new = [one for one in partitions if _source(one, schema) not in known]
        fields = [*kept, *_named(new, schema, kept, ids)]
    else:
        before = [field for spec in specs.values() for field in spec.fields]
        fields = [*_named(partitions, schema, before, ids)]
    return PartitionSpec(*fields, spec_id=max(specs) + 1)


def shown(spec: PartitionSpec, schema: Schema) -> str:
    """Return a spec in the words of a lake table's file."""
    return ", ".join(_shown(one, schema) for one in _alive(spec)) or "nothing"


def specs_in_use(table: Table) -> list[int]:
    """Return the ids of the specs that the files of a table's head were written by."""
    head = table.current_snapshot()
    manifests = () if head is None else head.manifests(table.io)
    return sorted({one.partition_spec_id for one in manifests})


def _source(partition: Partition, schema: Schema) -> _Source:
    argument = "" if partition.argument is None else f"[{partition.argument}]"
    column = partition.column.replace("`", "")
    number = schema.find_field(column, case_sensitive=False).field_id
    return number, parse_transform(f"{partition.transform}{argument}")


def _alive(spec: PartitionSpec) -> list[PartitionField]:
    return [one for one in spec.fields if not isinstance(one.transform, VoidTransform)]


def _named(
    partitions: Sequence[Partition],
    schema: Schema,
    before: Sequence[PartitionField],
    ids: Iterator[int],
) -> Iterator[PartitionField]:
    """Yield a field for each partition; what was there before keeps its id and its name."""
    known = {(one.source_id, one.transform): one for one in before}
    taken = {one.name for one in before}
    for partition in partitions:
        source, transform = _source(partition, schema)
        field = known.get((source, transform))
        if field is None:
            names = (one for one in _names(partition) if one not in taken)
            name = next(one for one in names if _is_free(one, source, transform, schema))
            field = PartitionField(source, next(ids), transform, name)
        taken.add(field.name)
        yield field


def _names(partition: Partition) -> Iterator[str]:
    """Yield names for a field, the best one first."""
    name = partition.column.replace("`", "").split(".")[-1]
    if partition.transform != "identity":
        name = f"{name}_{partition.transform}"
    yield name
    if partition.argument is not None:
        name = f"{name}_{partition.argument}"
        yield name
    yield from (f"{name}_{number}" for number in itertools.count(2))


def _is_free(name: str, source: int, transform: Transform[Any, Any], schema: Schema) -> bool:
    """Whether no column has the name; a column itself may be a partition under its own."""
    if name not in schema.column_names:
        return True
    is_itself = schema.find_field(name).field_id == source
    return is_itself and isinstance(transform, IdentityTransform)


def _shown(field: PartitionField, schema: Schema) -> str:
    column = schema.find_column_name(field.source_id) or str(field.source_id)
    if isinstance(field.transform, IdentityTransform):
        return column
    name, _, argument = str(field.transform).rstrip("]").partition("[")
    return f"{name}({argument}, {column})" if argument else f"{name}({column})"
