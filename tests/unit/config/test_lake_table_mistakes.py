"""What a lake table's file says of changed schemas, tombstones and keys, and cannot mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.load import load_lake_table, load_workspace

if TYPE_CHECKING:
    from tests.unit.config.workspaces import Files

TABLE = "tables/starts.yaml"
EVOLUTION = "schema_evolution: add_columns        # none | add_columns | widen\n"


def test_going_on_after_a_change_needs_changes_and_a_quarantine(files: Files) -> None:
    files.spoil(TABLE, EVOLUTION, "on_incompatible_schema: quarantine\n")
    text = (files.root / TABLE).read_text()
    files.write(TABLE, f"{text}hygiene: {{on_bad_record: drop}}\n")
    assert files.problems() == [
        (
            f'{TABLE}:6:25: hygiene does not quarantine rejected records: on_bad_record is "drop"'
            " — choose stop, or hygiene.on_bad_record: quarantine"
        ),
        (
            f"{TABLE}:6:25: on_incompatible_schema has no effect without schema_evolution"
            " — remove it, or add schema_evolution: add_columns"
        ),
    ]


def test_a_tombstone_is_a_row_only_where_all_columns_may_be_null(files: Files) -> None:
    files.spoil(TABLE, EVOLUTION, "hygiene: {tombstones: keep}\n")
    (problem,) = files.problems()
    assert problem.endswith(
        ":6:23: a tombstone cannot be kept as a row: event_id, event_type, user_id, title_id,"
        ' event_ts cannot be null — use ["null", …] in the schema, or choose quarantine or drop'
    )


def test_both_as_they_are_meant(files: Files) -> None:
    files.spoil(
        TABLE,
        EVOLUTION,
        "schema_evolution: widen\non_incompatible_schema: quarantine\n"
        "hygiene: {tombstones: drop}\n",
    )
    assert files.problems() == []
    loaded = load_lake_table(files.root / TABLE, load_workspace(files.root))
    assert loaded.config.on_incompatible_schema == "quarantine"
    assert loaded.config.hygiene.tombstones == "drop"
    assert loaded.schema_file == files.root / "schemas" / "playback.avsc"


def test_a_partition_is_named_once(files: Files) -> None:
    twice = "[user_id, days(event_ts), day(event_ts)]"
    files.spoil(TABLE, '["day(__metadata__.kafka_ingestion_ts)"]', twice)
    (problem,) = files.problems()
    assert problem.endswith("day(event_ts) is listed twice — remove one of them")


def test_no_partitions_are_not_the_same_as_nothing_said_of_them(files: Files) -> None:
    workspace = load_workspace(files.root)

    def partitions() -> object:
        return load_lake_table(files.root / TABLE, workspace).config.table.partition_by

    files.spoil(TABLE, '["day(__metadata__.kafka_ingestion_ts)"]', "[]")
    assert partitions() == ()
    files.spoil(TABLE, ", partition_by: []", "")
    assert partitions() is None


def test_what_is_kept_is_key_and_headers_each_once(files: Files) -> None:
    text = (files.root / TABLE).read_text()
    files.write(TABLE, f"{text}keep: [headers, key]\n")
    assert files.problems() == []
    workspace = load_workspace(files.root)
    assert load_lake_table(files.root / TABLE, workspace).config.keep == ("headers", "key")
    files.write(TABLE, f"{text}keep: [key, key]\n")
    assert files.problems() == [f"{TABLE}:7:13: key is listed twice — remove one of them"]
    files.write(TABLE, f"{text}keep: [value]\n")
    (problem,) = files.problems()
    assert "key" in problem
    assert "headers" in problem


def test_no_field_of_a_schema_has_the_name_of_what_is_kept(files: Files) -> None:
    text = (files.root / TABLE).read_text()
    files.write(TABLE, f"{text}keep: [key]\n")
    schema = files.root / "schemas/playback.avsc"
    own = '"fields": [{"name": "__Record__", "type": ["null", "string"]}, '
    schema.write_text(schema.read_text().replace('"fields": [', own, 1))
    assert any(
        "the name __record__ is reserved for headrace's own struct" in p for p in files.problems()
    )
