"""Entries of manifests read in part are what the Avro library makes of them as a whole."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import fastavro
from hypothesis import given
from hypothesis import strategies as st

from headrace.iceberg.manifest_scan import LiveFile, live_entries

LONG = st.integers(-(2**63), 2**63 - 1)
KEYS = st.integers(1, 6)


def by_column(name: str, value: str) -> dict[str, Any]:
    pair = {
        "type": "record",
        "name": f"pair_of_{name}",
        "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": value}],
    }
    return {
        "name": name,
        "type": ["null", {"type": "array", "items": pair, "logicalType": "map"}],
        "default": None,
    }


# With all that a partition may be, under names that other fields have, too.
PARTITION = {
    "type": "record",
    "name": "r102",
    "fields": [
        {"name": "status", "type": ["null", "string"]},
        {"name": "file_path", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {
            "name": "amount",
            "type": [
                "null",
                {
                    "type": "fixed",
                    "name": "amount_fixed",
                    "size": 5,
                    "logicalType": "decimal",
                    "precision": 9,
                    "scale": 2,
                },
            ],
        },
        {"name": "flag", "type": ["null", "boolean"]},
        {"name": "ratio", "type": ["null", "double"]},
        {"name": "small", "type": ["null", "float"]},
        {"name": "raw", "type": ["null", "bytes"]},
    ],
}
FILE_FIELDS = [
    {"name": "content", "type": "int"},
    {"name": "file_path", "type": "string"},
    {"name": "file_format", "type": "string"},
    {"name": "partition", "type": PARTITION},
    {"name": "record_count", "type": "long"},
    {"name": "file_size_in_bytes", "type": "long"},
    by_column("column_sizes", "long"),
    by_column("null_value_counts", "long"),
    by_column("nan_value_counts", "long"),
    by_column("lower_bounds", "bytes"),
    by_column("upper_bounds", "bytes"),
    {"name": "key_metadata", "type": ["null", "bytes"]},
    {"name": "split_offsets", "type": ["null", {"type": "array", "items": "long"}]},
    {"name": "tags", "type": ["null", {"type": "array", "items": "string"}]},
    {"name": "referenced_data_file", "type": ["null", "string"]},
]
SCHEMA = fastavro.parse_schema(
    {
        "type": "record",
        "name": "manifest_entry",
        "fields": [
            {"name": "status", "type": "int"},
            {"name": "snapshot_id", "type": ["null", "long"]},
            {
                "name": "data_file",
                "type": {"type": "record", "name": "r2", "fields": FILE_FIELDS},
            },
        ],
    }
)


def columns(value: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]] | None]:
    pairs = st.dictionaries(KEYS, value, max_size=6)
    return st.none() | pairs.map(
        lambda held: [{"key": key, "value": one} for key, one in held.items()]
    )


FILES = st.fixed_dictionaries(
    {
        "content": st.just(0),
        "file_path": st.text(),
        "file_format": st.sampled_from(["PARQUET", "ORC"]),
        "partition": st.fixed_dictionaries(
            {
                "status": st.none() | st.text(),
                "file_path": st.none(),
                "amount": st.none(),
                "flag": st.none() | st.booleans(),
                "ratio": st.none() | st.floats(allow_nan=False),
                "small": st.none() | st.just(0.5),
                "raw": st.none() | st.binary(),
            }
        ),
        "record_count": LONG,
        "file_size_in_bytes": LONG,
        "column_sizes": columns(LONG),
        "null_value_counts": columns(st.integers(0, 2**63 - 1)),
        "nan_value_counts": columns(LONG),
        "lower_bounds": columns(st.binary(max_size=8)),
        "upper_bounds": columns(st.binary(max_size=8)),
        "key_metadata": st.none() | st.binary(),
        "split_offsets": st.none() | st.lists(LONG),
        "tags": st.none() | st.lists(st.text()),
        "referenced_data_file": st.none() | st.text(),
    }
)
ENTRIES = st.lists(
    st.fixed_dictionaries(
        {"status": st.integers(0, 2), "snapshot_id": st.none() | LONG, "data_file": FILES}
    ),
    max_size=8,
)


@given(ENTRIES, st.lists(KEYS, min_size=1, max_size=3), st.sampled_from(["null", "deflate"]))
def test_an_entry_is_what_it_is_in_the_whole(
    entries: list[dict[str, Any]], field_ids: list[int], codec: str
) -> None:
    manifest = BytesIO()
    # Small blocks: an entry of the second is read as one of the first.
    fastavro.writer(manifest, SCHEMA, entries, codec, sync_interval=100)
    read = list(live_entries(manifest.getvalue(), *field_ids))
    assert read == [
        LiveFile(
            file["file_path"],
            file["file_format"],
            file["record_count"],
            file["file_size_in_bytes"],
            value(file["null_value_counts"], field_ids[0]),
            tuple(
                (value(file["lower_bounds"], one), value(file["upper_bounds"], one))
                for one in field_ids
            ),
        )
        for entry in entries
        for file in [entry["data_file"]]
        if entry["status"] != 2
    ]


def value(held: list[dict[str, Any]] | None, field_id: int) -> Any:  # noqa: ANN401 - bytes, or a number
    return next((one["value"] for one in held or () if one["key"] == field_id), None)
