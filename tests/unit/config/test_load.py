from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.config.common.kafka_parts import QuarantineTopic
from headrace.config.lake_table.partitioning import Partition
from headrace.config.load import (
    find_workspace,
    load_app,
    load_lake_table,
    load_stream,
    load_workspace,
)
from headrace.errors import BadConfig, UsageError

if TYPE_CHECKING:
    from tests.unit.config.workspaces import Files


def test_a_sound_workspace_has_no_problem(files: Files) -> None:
    assert files.problems() == []


def test_the_workspace_is_found_from_a_folder_below(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files.root / "streams")
    assert find_workspace(None) == files.root
    assert load_workspace().root == files.root


def test_no_workspace_is_said_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        find_workspace(None)
    assert "headrace init" in caught.value.advice
    with pytest.raises(UsageError, match="has no headrace"):
        find_workspace(tmp_path)


def test_the_workspace_gives_absolute_places(files: Files) -> None:
    workspace = load_workspace(files.root)
    assert workspace.state_dir == files.root / ".headrace/state"
    lake = workspace.catalog("lake")
    assert lake.properties() == {
        "type": "sql",
        "uri": f"sqlite:///{files.root}/.headrace/catalog.db",
        "warehouse": f"{files.root}/.headrace/warehouse",
    }
    assert workspace.cluster("fronting").region == "us-east-1"
    assert workspace.cluster("consumer").region is None
    with pytest.raises(UsageError, match="defines no cluster fronti"):
        workspace.cluster("fronti")


@pytest.mark.parametrize(
    ("line", "key", "expected"),
    [
        ('{type: sql, uri: "sqlite:////abs/c.db?x=1"}', "uri", "sqlite:////abs/c.db?x=1"),
        ('{type: sql, uri: "sqlite:///c.db?x=1"}', "uri", "sqlite:///{root}/c.db?x=1"),
        ('{type: sql, uri: "sqlite:///:memory:"}', "uri", "sqlite:///:memory:"),
        ('{type: rest, uri: "http://h", warehouse: prod}', "warehouse", "prod"),
        ('{type: sql, warehouse: "s3://b/w"}', "warehouse", "s3://b/w"),
        ("{type: sql, s3.port: 0900}", "s3.port", "0900"),
        ("{type: sql, version: 1.10}", "version", "1.10"),
    ],
)
def test_places_that_stay_as_they_are(files: Files, line: str, key: str, expected: str) -> None:
    files.write("headrace.yaml", f"catalogs:\n  lake: {line}\n")
    properties = load_workspace(files.root).catalog("lake").properties()
    assert properties[key] == expected.format(root=files.root)


@pytest.mark.parametrize("state_dir", ["state", "a/../state", "~nobody-of-that-name/x", "/state"])
def test_the_state_has_an_absolute_place(files: Files, state_dir: str) -> None:
    files.write("headrace.yaml", f"state_dir: {state_dir}\n")
    place = load_workspace(files.root).state_dir
    assert place.is_absolute()
    assert place == files.root / state_dir.replace("a/../", "")


def test_a_stream_is_loaded_with_its_schema(files: Files) -> None:
    loaded = load_stream(Path("streams/playback.yaml"), load_workspace())
    assert loaded.config.hygiene.as_rules().future_skew == timedelta(minutes=10)
    assert loaded.config.quarantine == QuarantineTopic(
        cluster="fronting", topic="playback_raw.quarantine"
    )
    assert loaded.schema is not None
    assert [field.name for field in loaded.schema.fields][:2] == ["event_id", "event_type"]
    assert loaded.path == files.root / "streams/playback.yaml"


def test_bad_records_have_a_place_even_where_none_is_named(files: Files) -> None:
    files.spoil(
        "streams/playback.yaml",
        "  quarantine: {cluster: fronting, topic: playback_raw.quarantine}\n",
        "",
    )
    stream = load_stream(Path("streams/playback.yaml"), load_workspace()).config
    assert stream.quarantine == QuarantineTopic(cluster="fronting", topic="playback_raw.quarantine")
    files.spoil("streams/playback.yaml", "on_bad_record: quarantine ", "on_bad_record: drop ")
    assert load_stream(Path("streams/playback.yaml"), load_workspace()).config.quarantine is None


@pytest.mark.usefixtures("files")
def test_a_lake_table_is_loaded() -> None:
    table = load_lake_table(Path("tables/starts.yaml"), load_workspace()).config
    assert table.table.partition_by == (Partition("day", None, "__metadata__.kafka_ingestion_ts"),)
    assert table.table.target_file_size == 128 * 2**20
    assert table.batch.max_interval == timedelta(minutes=1)
    assert table.table.identifier == "lake.playback.starts"


@pytest.mark.usefixtures("files")
def test_an_app_is_loaded() -> None:
    loaded = load_app(Path("apps/rmi.yaml"), load_workspace())
    assert loaded.query is None
    assert set(loaded.schemas) == {"live-impressions"}
    live = loaded.config.sources["live-impressions"]
    assert live.type == "kafka"
    assert live.topics == ("impressions",)
    assert loaded.config.watermarks["impressions"].delay == timedelta(minutes=10)


def test_an_app_may_have_its_query_in_a_file(files: Files) -> None:
    files.spoil("apps/rmi.yaml", '{python: "rmi:build"}', "{sql_file: rmi.sql}")
    files.write("apps/rmi.sql", "SELECT *\nFROM impressions")
    assert load_app(Path("apps/rmi.yaml"), load_workspace()).query == "SELECT *\nFROM impressions"
    files.write("apps/rmi.sql", "SELECT *\nFROM impressions WHERE")
    assert files.problems() == ["apps/rmi.sql:2:18: does not parse: something is missing here"]


def test_format_raw_has_no_schema(files: Files) -> None:
    files.spoil(
        "streams/playback.yaml", "format: json, schema: schemas/playback.avsc", "format: raw"
    )
    files.spoil("streams/playback.yaml", "[event_id, event_ts]", "[value]")
    files.spoil("streams/playback.yaml", "event_type = 'start'", "length(value) > 0")
    files.spoil(
        "streams/playback.yaml",
        '[event_id, user_id, title_id, event_ts, "upper(country) AS country"]',
        "[value, key]",
    )
    files.spoil("streams/playback.yaml", "format: json, key: user_id", "format: raw, key: key")
    assert files.problems() == []
    assert load_stream(Path("streams/playback.yaml"), load_workspace()).schema is None


@pytest.mark.usefixtures("files")
def test_another_kind_than_expected_is_said() -> None:
    with pytest.raises(BadConfig) as caught:
        load_stream(Path("apps/rmi.yaml"), load_workspace())
    assert str(caught.value) == 'apps/rmi.yaml:1:7: kind is "app", expected "stream"'
    assert caught.value.exit_code == 78


def test_loading_raises_with_all_problems(files: Files) -> None:
    files.spoil("streams/playback.yaml", "name: starts", "nam: starts")
    files.spoil("streams/playback.yaml", "event_type = ", "evnt_type = ")
    with pytest.raises(BadConfig) as caught:
        load_stream(Path("streams/playback.yaml"), load_workspace())
    assert [(one.line, one.column) for one in caught.value.problems] == [
        (10, 5),
        (10, 5),
        (11, 14),
    ]


def test_a_key_may_be_merged_in(files: Files) -> None:
    files.write(
        "headrace.yaml",
        "clusters:\n"
        "  fronting: &base {bootstrap_servers: a, properties: {client.id: x}}\n"
        "  consumer: {<<: *base, region: NO}\n"
        "  third: *base\n"
        "catalogs: {lake: {type: sql}}\n",
    )
    workspace = load_workspace()
    assert workspace.cluster("consumer").bootstrap_servers == "a"
    # Norway, and not the false of older YAML
    assert workspace.cluster("consumer").region == "NO"
    assert workspace.cluster("third").client_properties() == {
        "bootstrap.servers": "a",
        "client.id": "x",
    }
