from __future__ import annotations

import json
import pickle
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.config.load import load_stream, load_target, load_workspace
from headrace.config.origins import as_json, as_text, settings_of
from headrace.config.stream.effective import Effective, effective
from headrace.config.stream.sinks import StreamSink
from headrace.errors import UsageError

if TYPE_CHECKING:
    from tests.unit.config.workspaces import Files

PASSWORD = "hunter2secret"  # noqa: S105 - the secret under test
HEADRACE = """\
clusters:
  fronting: {bootstrap_servers: a, region: us-east-1}
  abroad: {bootstrap_servers: b, region: eu-west-1}
  nowhere: {bootstrap_servers: c}
  far: {bootstrap_servers: d, region: ap-south-1}
spark: {conf: {spark.a: home, spark.b: home, spark.my.password: "open"}}
"""
STREAM = """\
kind: stream
name: events
source: {type: kafka, cluster: fronting, topic: events, format: json, schema: schemas/playback.avsc}
hygiene:
  required: [event_id, event_ts]
  max_size: 1MiB
  max_future_skew: {limit: 10min, on_bad_record: drop}
  mask:
    user_id: {sha256: {salt: "${PW}"}}
    title_id: redact
outputs:
  - name: all
    sink: {type: kafka, cluster: nowhere, topic: "out-${PLACE:here}", format: json}
  - name: found
    starting_offsets: latest
    sink: {type: search, url: "http://h", api_key: hunter2secret, index: events}
overrides:
  eu-west-1:
    source: {cluster: abroad, topic: events_eu, starting_offsets: latest}
    trigger: 30s
    spark: {conf: {spark.b: there, spark.c: "${PW}"}}
    resources: {memory: 4GiB, cores: 2}
  canary: {region: test}
"""


@pytest.fixture(autouse=True)
def _files(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW", PASSWORD)
    files.write("headrace.yaml", HEADRACE)
    files.write("events.yaml", STREAM)


def run_as(region: str | None) -> Effective:
    workspace = load_workspace()
    return effective(load_stream(Path("events.yaml"), workspace), workspace, region)


def shown(region: str | None) -> dict[str, tuple[object, str]]:
    settings = settings_of(run_as(region), load_workspace())
    assert len({one.key for one in settings}) == len(settings)
    return {one.key: (one.value, one.origin) for one in settings}


@pytest.mark.parametrize("region", [None, "us-east-1"])
def test_the_file_is_run_as_it_is_at_home(region: str | None) -> None:
    run = run_as(region)
    assert (run.deployment, run.region) == (None, "us-east-1")
    assert run.config.source.topic == "events"
    assert run.config.quarantine is not None
    assert run.config.quarantine.topic == "events.quarantine"
    assert [one.starting_offsets for one in run.config.outputs] == ["earliest", "latest"]
    assert dict(run.spark_conf) == {
        "spark.a": "home",
        "spark.b": "home",
        "spark.my.password": "open",
    }


def test_a_deployment_goes_before_the_file() -> None:
    run = run_as("eu-west-1")
    assert (run.deployment, run.region) == ("eu-west-1", "eu-west-1")
    assert (run.config.source.cluster, run.config.source.topic) == ("abroad", "events_eu")
    assert run.config.trigger == timedelta(seconds=30)
    # What follows from the source follows from the deployment's.
    assert run.config.hygiene.quarantine == run.config.quarantine
    assert run.config.quarantine is not None
    assert run.config.quarantine.topic == "events_eu.quarantine"
    assert [one.starting_offsets for one in run.config.outputs] == ["latest", "latest"]
    assert dict(run.spark_conf) == {
        "spark.a": "home",
        "spark.b": "there",
        "spark.c": PASSWORD,
        "spark.my.password": "open",
        "spark.driver.memory": "4096m",
        "spark.master": "local[2]",
    }


def test_resources_are_an_executors_on_a_cluster(files: Files) -> None:
    files.spoil("headrace.yaml", "spark: {conf", 'spark: {master: "spark://h:7077", conf')
    conf = run_as("eu-west-1").spark_conf
    assert (conf["spark.executor.memory"], conf["spark.executor.cores"]) == ("4096m", "2")
    assert "spark.master" not in conf


def test_a_deployment_may_name_another_region() -> None:
    run = run_as("canary")
    assert (run.deployment, run.region, run.config.source.cluster) == ("canary", "test", "fronting")


@pytest.mark.parametrize(
    ("region", "message", "advice"),
    [
        ("eu-west-2", "no deployment eu-west-2", 'did you mean "eu-west-1"?'),
        ("moon", "no cluster is in", "known: ap-south-1, canary, eu-west-1, us-east-1"),
        (
            "ap-south-1",
            "does not read a cluster of region",
            "add overrides.ap-south-1: {source: {cluster: far}}",
        ),
    ],
)
def test_a_deployment_that_is_none(region: str, message: str, advice: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        run_as(region)
    assert advice in caught.value.advice


def test_every_setting_says_where_it_comes_from() -> None:
    assert shown("eu-west-1") == {
        "name": ("events", "events.yaml:2"),
        "source.type": ("kafka", "events.yaml:3"),
        "source.cluster": ("abroad", "overrides.eu-west-1 (events.yaml:19)"),
        "source.topic": ("events_eu", "overrides.eu-west-1 (events.yaml:19)"),
        "source.format": ("json", "events.yaml:3"),
        "source.schema": ("schemas/playback.avsc", "events.yaml:3"),
        "source.starting_offsets": ("latest", "overrides.eu-west-1 (events.yaml:19)"),
        "source.on_data_loss": ("fail", "default"),
        "hygiene.required": (["event_id", "event_ts"], "events.yaml:5"),
        "hygiene.max_size": ("1MiB", "events.yaml:6"),
        "hygiene.max_future_skew.limit": ("10min", "events.yaml:7"),
        "hygiene.max_future_skew.on_bad_record": ("drop", "events.yaml:7"),
        "hygiene.mask.user_id.sha256.salt": ("***", "events.yaml:9, ${PW} from the environment"),
        "hygiene.mask.title_id": ("redact", "events.yaml:10"),
        "hygiene.on_bad_record": ("quarantine", "default"),
        "hygiene.quarantine.cluster": ("abroad", "default"),
        "hygiene.quarantine.topic": ("events_eu.quarantine", "default"),
        "outputs.all.name": ("all", "events.yaml:12"),
        "outputs.all.starting_offsets": ("latest", "overrides.eu-west-1 (events.yaml:19)"),
        "outputs.all.sink.type": ("kafka", "events.yaml:13"),
        "outputs.all.sink.cluster": ("nowhere", "events.yaml:13"),
        "outputs.all.sink.topic": ("out-here", "events.yaml:13"),
        "outputs.all.sink.format": ("json", "events.yaml:13"),
        "outputs.all.sink.compression": ("lz4", "default"),
        "outputs.all.sink.origin": ("header", "default"),
        "outputs.found.name": ("found", "events.yaml:14"),
        "outputs.found.starting_offsets": ("latest", "events.yaml:15"),
        "outputs.found.sink.type": ("search", "events.yaml:16"),
        "outputs.found.sink.url": ("***", "events.yaml:16"),
        "outputs.found.sink.api_key": ("***", "events.yaml:16"),
        "outputs.found.sink.index": ("events", "events.yaml:16"),
        "outputs.found.sink.id": ("topic-partition-offset", "default"),
        "outputs.found.sink.batch_rows": (1000, "default"),
        "isolation": ("output", "default"),
        "delivery": ("exactly_once", "default"),
        "on_conflict": ("take_over", "default"),
        "trigger": ("30s", "overrides.eu-west-1 (events.yaml:20)"),
        "region": ("eu-west-1", "headrace.yaml:3"),
        "spark.master": ("local[2]", "overrides.eu-west-1 (events.yaml:22)"),
        "spark.conf.spark.a": ("home", "headrace.yaml:6"),
        "spark.conf.spark.b": ("there", "overrides.eu-west-1 (events.yaml:21)"),
        "spark.conf.spark.my.password": ("***", "headrace.yaml:6"),
        "spark.conf.spark.driver.memory": ("4096m", "overrides.eu-west-1 (events.yaml:22)"),
        "spark.conf.spark.c": (
            "***",
            "overrides.eu-west-1 (events.yaml:21), ${PW} from the environment",
        ),
    }


def test_at_home_the_defaults_are_told_as_such() -> None:
    found = shown(None)
    assert found["source.topic"] == ("events", "events.yaml:3")
    assert found["outputs.all.starting_offsets"] == ("earliest", "default")
    assert found["spark.master"] == ("local[*]", "default")
    assert found["region"] == ("us-east-1", "headrace.yaml:2")
    assert shown("canary")["region"] == ("test", "overrides.canary (events.yaml:23)")


def test_no_secret_is_shown_in_either_form() -> None:
    run = run_as("eu-west-1")
    settings = settings_of(run, load_workspace())
    assert json.loads(as_json(settings))["source.topic"]["value"] == "events_eu"
    said = as_text(settings) + as_json(settings)
    assert PASSWORD not in said
    assert "source.topic: events_eu" in as_text(settings)


def test_the_rules_of_a_stream_reach_a_task() -> None:
    hygiene = run_as(None).config.hygiene.as_rules()
    assert pickle.loads(pickle.dumps(hygiene)) == hygiene  # noqa: S301 - our own
    assert PASSWORD not in repr(hygiene)


def test_the_target_of_an_output_is_loaded(files: Files) -> None:
    workspace = load_workspace()
    stream = load_stream(Path("events.yaml"), workspace)
    sink = StreamSink(type="stream", stream="streams/playback.yaml")
    files.spoil("streams/playback.yaml", "consumer, topic", "nowhere, topic")
    assert load_target(stream, sink, workspace).config.name == "playback"
    (files.root / "streams/playback.yaml").unlink()
    with pytest.raises(UsageError, match="but that file is gone"):
        load_target(stream, sink, workspace)
