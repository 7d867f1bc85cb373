"""What becomes of a table's partitions when its file names others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import (
    AddPartitionSpecUpdate,
    SetDefaultSpecUpdate,
    update_table_metadata,
)
from pyiceberg.transforms import VoidTransform

from headrace.config.lake_table.partitioning import parse_partition
from headrace.contract import with_metadata
from headrace.iceberg.specs import first_spec, next_spec, shown
from headrace.schema.avro import parse_avro
from headrace.schema.iceberg import to_iceberg

TIME = "__metadata__.kafka_ingestion_ts"
PLACE = {"type": "record", "name": "Place", "fields": [{"name": "id", "type": "int"}]}
FIELDS = [
    {"name": "id", "type": "long"},
    {"name": "region", "type": "string"},
    # As if to be in the way of a partition's name.
    {"name": "id_bucket", "type": "int"},
    {"name": "at", "type": PLACE},
]
SCHEMA, _ = to_iceberg(with_metadata(parse_avro({"type": "record", "name": "E", "fields": FIELDS})))
PARTITIONS = (
    *(f"{unit}({TIME})" for unit in ("year", "month", "day", "hour")),
    *("id", "at.id", "__metadata__.region", "region", "truncate(2, region)", "truncate(4, region)"),
    *("bucket(16, id)", "bucket(32, id)", "bucket(16, at.id)"),
)
wishes = st.lists(st.sampled_from(PARTITIONS), max_size=4, unique=True)


def table(partitions: list[str], version: int) -> TableMetadata:
    return new_table_metadata(
        SCHEMA,
        first_spec([parse_partition(one) for one in partitions], SCHEMA),
        UNSORTED_SORT_ORDER,
        "file:///nowhere",
        {"format-version": str(version)},
    )


def changed(metadata: TableMetadata, partitions: list[str]) -> TableMetadata:
    spec = next_spec(metadata, [parse_partition(one) for one in partitions])
    if spec.spec_id in metadata.specs():
        return update_table_metadata(metadata, (SetDefaultSpecUpdate(spec_id=spec.spec_id),))
    updates = (AddPartitionSpecUpdate(spec=spec), SetDefaultSpecUpdate(spec_id=-1))
    return update_table_metadata(metadata, updates)


@given(st.sampled_from([1, 2]), st.lists(wishes, min_size=1, max_size=6))
def test_files_are_partitioned_as_was_said_last_and_fields_are_never_mistaken(
    version: int, said_one_by_one: list[list[str]]
) -> None:
    metadata = table(said_one_by_one[0], version)
    for wanted in said_one_by_one:
        metadata = changed(metadata, wanted)
        alive = [
            one for one in metadata.spec().fields if not isinstance(one.transform, VoidTransform)
        ]
        sources = {(one.source_id, str(one.transform)) for one in alive}
        expected = first_spec([parse_partition(one) for one in wanted], metadata.schema())
        assert sources == {(one.source_id, str(one.transform)) for one in expected.fields}
        assert len(alive) == len(wanted)
        # Said again, it is nothing new.
        assert changed(metadata, wanted[::-1]).default_spec_id == metadata.default_spec_id
    meaning: dict[int, tuple[int, str]] = {}
    names: dict[str, int] = {}
    for spec in metadata.partition_specs:
        assert len({one.name for one in spec.fields}) == len(spec.fields)
        for one in spec.fields:
            assert names.setdefault(one.name, one.field_id) == one.field_id
            if not isinstance(one.transform, VoidTransform):
                source = (one.source_id, str(one.transform))
                assert meaning.setdefault(one.field_id, source) == source
    if version == 2:
        assert len(set(meaning.values())) == len(meaning)


def test_what_was_there_before_is_used_again() -> None:
    by_day, by_hour = [f"day({TIME})"], [f"hour({TIME})", "bucket(16, id)"]
    metadata = table(by_day, 2)
    first = metadata.spec()
    metadata = changed(metadata, by_hour)
    assert [str(one) for one in metadata.spec().fields] == [
        f"1001: kafka_ingestion_ts_hour: hour({first.fields[0].source_id})",
        "1002: id_bucket_16: bucket[16](1)",
    ]
    assert changed(metadata, by_day).spec() == first
    assert changed(metadata, [f"day({TIME})", "bucket(16, id)"]).last_partition_id == 1002


@pytest.mark.parametrize("partition", PARTITIONS)
def test_a_spec_is_told_in_the_words_of_the_file(partition: str) -> None:
    metadata = table([partition], 2)
    assert shown(metadata.spec(), metadata.schema()) == partition


def test_no_partitions_are_told_as_well() -> None:
    assert shown(UNPARTITIONED_PARTITION_SPEC, SCHEMA) == "nothing"
