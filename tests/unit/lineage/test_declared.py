from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.config.load import load_app, load_lake_table, load_stream
from headrace.config.stream.effective import effective
from headrace.lineage.declared import app_job, stream_job, table_job
from headrace.lineage.naming import DatasetNames, by_location, catalog_namespace, first_server
from tests.unit.config.workspaces import FULL_STREAM

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.config.workspace.workspace import Workspace
    from headrace.lineage.jobs import LineageDataset


def places(datasets: Any) -> list[str]:  # noqa: ANN401 - a sequence
    return [one.location for one in datasets]


def test_a_stream_reads_its_topic_and_writes_its_outputs_and_its_quarantine(
    workspace: Callable[..., Workspace],
) -> None:
    home = workspace()
    stream = effective(load_stream(home.root / "streams/playback.yaml", home), home, None)
    job = stream_job(stream, home)
    assert (job.name, job.kind, job.is_lasting) == ("stream.playback", "STREAM", True)
    assert places(job.inputs) == ["kafka:fronting/playback_raw"]
    assert places(job.outputs) == [
        "kafka:consumer/playback_starts",
        "kafka:fronting/playback_raw.quarantine",
    ]
    starts, quarantine = job.outputs
    assert starts.counted == {"stream": "playback", "output": "starts"}
    assert quarantine.counted == {"stream": "playback", "output": "quarantine"}
    # What an expression gives is known to Spark alone.
    assert {name: kind is None for name, kind in starts.columns.items()} == {
        "event_id": False,
        "user_id": False,
        "title_id": False,
        "event_ts": False,
        "country": True,
    }


def test_outputs_of_each_kind_have_their_place_without_a_password(
    workspace: Callable[..., Workspace],
) -> None:
    home = workspace()
    text = FULL_STREAM.replace("api_key: aWQ6a2V5, ", "")
    text = text.replace("https://elastic:9200", "https://me:pepper@elastic:9200")
    (home.root / "streams/full.yaml").write_text(text, encoding="utf-8")
    (home.root / "streams/house.pem").write_text("", encoding="utf-8")
    stream = effective(load_stream(home.root / "streams/full.yaml", home), home, None)
    job = stream_job(stream, home)
    assert places(job.outputs) == [
        "kafka:consumer/full_avro",
        "iceberg:lake.d.full",
        "search:elastic:9200/full",
        # What the other stream reads.
        "kafka:fronting/playback_raw",
        "kafka:fronting/full.quarantine",
    ]
    named = DatasetNames(home).named(job.outputs[2])
    assert (named.namespace, named.name) == ("search://elastic:9200", "full")
    assert "pepper" not in repr(job)


def test_a_lake_table_reads_its_topic_and_writes_its_table(
    workspace: Callable[..., Workspace],
) -> None:
    home = workspace()
    job = table_job(load_lake_table(home.root / "tables/starts.yaml", home), is_lasting=False)
    assert job.name.startswith("lake_table.")
    assert not job.is_lasting
    assert places(job.inputs) == ["kafka:consumer/playback_starts"]
    assert places(job.outputs)[0] == "iceberg:lake.playback.starts"


def test_an_application_reads_the_candidate_that_is_selected(
    workspace: Callable[..., Workspace],
) -> None:
    home = workspace()
    app = load_app(home.root / "apps/rmi.yaml", home)
    live, past = app_job(app), app_job(app, {"impressions": "backfill-impressions"})
    assert places(live.inputs) == ["kafka:consumer/impressions"]
    (topic,) = live.inputs
    assert "event_ts" in topic.columns
    # The query counts the rows of all its sources together, and this is the only one.
    assert topic.counted == {"app": "rmi"}
    assert places(past.inputs) == ["iceberg:lake.playback.impressions"]
    assert places(live.outputs) == ["iceberg:lake.playback.rmi_out"]


@pytest.mark.parametrize(
    ("servers", "name"),
    [
        ("broker1:9092,broker2:9092", "broker1:9092"),
        (" broker1 , broker2", "broker1:9092"),
        ("SASL_SSL://broker1:9094", "broker1:9094"),
    ],
)
def test_a_cluster_is_named_by_its_first_server(servers: str, name: str) -> None:
    assert first_server(servers) == name


@pytest.mark.parametrize(
    ("location", "name"),
    [
        ("s3://lake/db/starts", ("s3://lake", "db/starts")),
        ("s3a://lake/db/starts/", ("s3://lake", "db/starts")),
        ("gs://lake/starts", ("gs://lake", "starts")),
        ("hdfs://me:pepper@names:8020/db/starts", ("hdfs://names:8020", "db/starts")),
        (
            "abfss://box@store.dfs.core.windows.net/a",
            ("abfss://box@store.dfs.core.windows.net", "a"),
        ),
        ("file:///srv/lake/starts", ("file", "/srv/lake/starts")),
        ("/srv/lake/starts", ("file", "/srv/lake/starts")),
    ],
)
def test_a_table_is_named_by_where_its_files_are(location: str, name: tuple[str, str]) -> None:
    assert by_location(location) == name


def test_a_catalog_is_named_by_its_warehouse_unless_that_may_hold_a_password() -> None:
    assert catalog_namespace({"warehouse": "s3://lake/house"}, "s3://lake") == "s3://lake/house"
    assert catalog_namespace({"warehouse": "/srv/house"}, "file") == "file:/srv/house"
    assert catalog_namespace({"warehouse": "hdfs://me:pepper@a/b"}, "hdfs://a") == "hdfs://a"
    assert catalog_namespace({}, "s3://lake") == "s3://lake"


def dataset(location: str) -> LineageDataset:
    from headrace.lineage.jobs import LineageDataset

    return LineageDataset(location)


def test_files_are_named_by_their_folder(workspace: Callable[..., Workspace]) -> None:
    home = workspace()
    named = DatasetNames(home).named(dataset("jsonl:out/again"))
    assert (named.namespace, named.name) == ("file", str(home.root / "out/again"))
