"""The form of a new stream: what is proposed, what is checked, and what is written."""

from __future__ import annotations

import io
import json
import struct
from typing import TYPE_CHECKING

import fastavro
import pytest

from fleet.new_streams import NewStreams
from fleet.topic_samples import Sampled, TopicSamples
from headrace.config.validate import check_workspace
from headrace.errors import BadConfig, ClusterUnreachable
from headrace.kafka.message import GivenMessage, RecordPosition
from tests.unit.config.workspaces import SOUND, STREAM, Files

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.workspace.workspace import Cluster
    from headrace.http.new_stream_rows import StreamForm
    from tests.registry_server import RegistryServer

EVENTS = [
    {"id": f"e{number}", "kind": "click" if number % 2 else "view", "at": "2026-03-01T00:00:00Z"}
    for number in range(10)
]


class Given(TopicSamples):
    """Records that a test gives in place of those that Kafka has."""

    def __init__(self, *values: bytes) -> None:
        super().__init__()
        self._values = values

    def of(self, cluster: Cluster, topic: str, *, fresh: bool = False) -> Sampled:
        del cluster, fresh
        records = [
            GivenMessage(RecordPosition(topic, 0, offset), 1_772_359_200_000, value, b"key")
            for offset, value in enumerate(self._values)
        ]
        return Sampled(records, len(records))


def forms(root: Path, *values: bytes) -> NewStreams:
    return NewStreams(root, Given(*(values or [json.dumps(one).encode() for one in EVENTS])))


def first(streams: NewStreams, topic: str = "clicks") -> StreamForm:
    return streams.form({"cluster": "fronting", "topic": topic}, is_first=True)


@pytest.fixture
def root(files: Files) -> Path:
    return files.root


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    monkeypatch.chdir(tmp_path)
    made = Files(tmp_path)
    for name, text in SOUND.items():
        made.write(name, text)
    return made


def test_what_is_proposed_can_be_saved_as_it_is(root: Path) -> None:
    streams = forms(root)
    form = first(streams)
    assert form.check is not None
    assert (form.check.ok, form.problems) == (True, {})
    assert (form.values["name"], form.values["sink_cluster"]) == ("clicks", "consumer")
    assert form.preview is not None
    assert form.preview["counts"] == {
        "all": {"written": 10, "filtered": 0, "rejected": 0, "unknown": 0}
    }
    assert form.sample is not None
    assert form.sample.records[0].value == json.dumps(EVENTS[0])
    assert not (root / "streams/clicks.yaml").exists()
    saved = streams.save(form.values, form.check.seen)
    assert list(saved.saved) == ["schemas/clicks.avsc", "streams/clicks.yaml"]
    assert check_workspace(root).problems == []


def test_mistakes_are_said_beside_their_fields_all_at_once(root: Path) -> None:
    streams = forms(root)
    values = {
        **first(streams).values,
        "name": "playback",
        "filter": "knd = 'click'",
        "required": "id, nope",
        "project": "id\nuper(kind) AS kind",
        "sink_topic": "not a topic",
        "key": "missing",
    }
    form = streams.form(values, is_first=False)
    assert form.check is not None
    assert not form.check.ok
    assert form.preview is None
    assert {*form.problems} >= {"name", "filter", "required", "project", "sink_topic"}
    assert 'did you mean "kind"?' in form.problems["filter"][0]
    # What another stream's file holds is not shown.
    assert form.check.files == ()
    assert streams.save(values, form.check.seen).saved == ()
    assert (root / "streams/playback.yaml").read_text() == STREAM
    form = streams.form({**values, "schema": '{"type": "record"}', "name": "../up"}, is_first=False)
    assert "name" in form.problems
    assert "schema" in form.problems
    assert [*root.parent.glob("up*")] == []


@pytest.mark.parametrize(
    "name", ["", "new", "Large", "../a", "a/b", "a b", "x" * 101, "-a", "a.b", "ä"]
)
def test_a_name_that_no_stream_can_have_reaches_no_file(root: Path, name: str) -> None:
    streams = forms(root)
    before = {*root.rglob("*")}
    values = {**first(streams).values, "name": name}
    form = streams.form(values, is_first=False)
    assert "name" in form.problems
    seen = {} if form.check is None else form.check.seen
    assert streams.save(values, seen).saved == ()
    assert {*root.rglob("*")} == before


def test_a_lake_table_lands_what_the_output_writes(root: Path) -> None:
    streams = forms(root)
    values = {
        **first(streams).values,
        "project": "id\nupper(kind) AS kind\nat",
        "filter": "kind = 'click'",
        "catalog": "lake",
        "database": "tv",
        "table": "clicks",
    }
    form = streams.form(values, is_first=False)
    assert form.check is not None
    assert form.problems == {}
    saved = streams.save(values, form.check.seen)
    assert {*saved.saved} == {
        "schemas/clicks.avsc",
        "schemas/clicks_all.avsc",
        "streams/clicks.yaml",
        "tables/clicks_all.yaml",
    }
    schema = json.loads((root / "schemas/clicks_all.avsc").read_text())
    assert [one["name"] for one in schema["fields"]] == ["id", "kind", "at"]
    assert check_workspace(root).problems == []


def test_a_table_without_a_name_and_columns_that_only_spark_knows_are_said(root: Path) -> None:
    streams = forms(root)
    values = {**first(streams).values, "catalog": "lake"}
    form = streams.form(values, is_first=False)
    assert {"database", "table"} <= {*form.problems}
    values |= {"database": "tv", "table": "clicks", "project": "soundex(kind) AS sound"}
    form = streams.form(values, is_first=False)
    assert "is not known" in form.problems["table"][0]
    assert form.preview is not None
    assert form.preview["counts"]["all"]["unknown"] == 10


def test_a_file_that_changed_meanwhile_is_not_overwritten(root: Path) -> None:
    streams = forms(root)
    form = first(streams)
    assert form.check is not None
    (root / "schemas/clicks.avsc").write_text(
        json.dumps({"type": "record", "name": "mine", "fields": []})
    )
    again = streams.save(form.values, form.check.seen)
    assert (again.saved, list(again.changed)) == ((), ["schemas/clicks.avsc"])
    assert again.check is not None
    assert any('-{"type": "record", "name": "mine"' in one.diff for one in again.check.files)
    assert not (root / "streams/clicks.yaml").exists()
    assert streams.save(form.values, again.check.seen).saved


def test_fields_that_another_stream_of_the_topic_masks_stay_masked(files: Files) -> None:
    masked = STREAM.replace("hygiene:\n", "hygiene:\n  mask: {user_id: redact}\n")
    files.write("streams/playback.yaml", masked)
    event = json.dumps({"event_id": "e", "user_id": "u-secret"}).encode()
    for topic in ("playback_raw", "playback_raw.quarantine"):
        form = first(forms(files.root, event), topic)
        assert form.sample is not None
        assert form.sample.hidden == "fields of this topic are masked by playback"
        assert form.preview is not None
        assert form.preview["counts"]["all"]["written"] == 1
        assert "user_id: redact" in form.check.files[0].diff  # type: ignore[union-attr]
        shown = json.dumps([form.preview, form.values, [one.diff for one in form.check.files]])  # type: ignore[union-attr]
        assert "u-secret" not in shown
    assert first(forms(files.root, event), "other").sample.hidden is None  # type: ignore[union-attr]
    # With a mistake in it, the file still says what is masked; so does one for many topics.
    for text, topic in (
        (masked.replace("upper(country)", "uper(country)"), "playback_raw"),
        (
            masked.replace(
                "name: playback\n",
                "name: ${topic}\nfor_each: {cluster: fronting, topics: 'raw_.*'}\n",
            )
            .replace("topic: playback_raw,", "topic: '${topic}',")
            .replace("playback_raw.quarantine", "${topic}.quarantine")
            .replace("topic: playback_starts", "topic: '${topic}.starts'")
            .replace("topic: ${topic}.quarantine", "topic: '${topic}.quarantine'"),
            "raw_1",
        ),
    ):
        files.write("streams/playback.yaml", text)
        assert first(forms(files.root, event), topic).sample.hidden is not None  # type: ignore[union-attr]


def test_topics_without_records_and_with_others_than_json(root: Path) -> None:
    empty = first(NewStreams(root, Given()))
    assert empty.check is not None
    assert empty.check.ok
    text = first(forms(root, b"plain text", b"<script>"))
    assert text.sample is not None
    assert "no sample is a JSON object" in text.sample.notes[0]
    assert text.preview is not None
    assert text.preview["counts"]["all"]["rejected"] == 2
    avro = first(forms(root, b"\0\0\0\0\x01\x02x", b"\0\0\0\0\x01\x02y"))
    assert avro.values["format"] == "avro"
    assert avro.sample is not None
    assert avro.sample.records[0].is_hex
    assert "registry" in avro.problems
    raw = forms(root, b"\0\xff").form({**avro.values, "format": "raw"}, is_first=False)
    assert raw.problems == {}


def test_avro_takes_the_schema_of_the_registry(root: Path, registry_server: RegistryServer) -> None:
    schema = {"type": "record", "name": "Click", "fields": [{"name": "id", "type": "string"}]}
    held = registry_server.put("clicks-value", schema)
    value = io.BytesIO()
    fastavro.schemaless_writer(value, fastavro.parse_schema(schema), {"id": "e1"})
    streams = forms(root, struct.pack(">bI", 0, held.id) + value.getvalue())
    proposed = first(streams)
    assert (proposed.values["format"], proposed.values["subject"]) == ("avro", "clicks-value")
    values = {**proposed.values, "registry": registry_server.url}
    form = streams.form(values, is_first=False)
    assert (form.problems, form.preview_problem) == ({}, None)
    assert json.loads(form.schema or "")["fields"] == [{"name": "id", "type": "string"}]
    assert form.preview is not None
    assert form.preview["records"][0]["read"] == {"id": "e1"}
    assert form.check is not None
    # The schema stays in the registry.
    assert [one.path for one in form.check.files] == ["streams/clicks.yaml"]
    assert streams.save(values, form.check.seen).saved == ["streams/clicks.yaml"]
    # The next stream begins with the registry that this one has.
    assert first(streams, "others").values["registry"] == registry_server.url
    missing = streams.form({**values, "name": "c2", "subject": "nobody"}, is_first=False)
    assert "nobody" in (missing.preview_problem or "")


def test_the_folders_are_those_of_the_workspace(files: Files) -> None:
    for folder, name in (("pipelines", "streams/playback.yaml"),):
        (files.root / folder).mkdir()
        (files.root / name).rename(files.root / folder / "playback.yaml")
    form = first(forms(files.root))
    assert form.check is not None
    assert [one.path for one in form.check.files] == [
        "pipelines/clicks.yaml",
        "schemas/clicks.avsc",
    ]


def test_a_workspace_that_cannot_be_read_is_said(files: Files) -> None:
    files.write("headrace.yaml", "clusters: 1\n")
    with pytest.raises(BadConfig):
        first(forms(files.root))


def test_what_was_typed_is_kept_while_the_cluster_is_away(root: Path) -> None:
    class Away(Given):
        def of(self, cluster: Cluster, topic: str, *, fresh: bool = False) -> Sampled:
            del fresh
            raise ClusterUnreachable(cluster.name, "127.0.0.1:9092", topic)

    values = {**first(forms(root)).values, "filter": "kind = 'click'"}
    streams = NewStreams(root, Away())
    assert first(streams).sample is None
    form = streams.form(values, is_first=False)
    assert form.values["filter"] == "kind = 'click'"
    assert form.sample is not None
    assert "no Kafka broker" in (form.problem or "")
    assert form.check is not None
    assert streams.save(values, form.check.seen).saved


def test_a_folder_that_is_a_link_is_said_and_what_was_typed_is_kept(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    streams = forms(root)
    values = first(streams).values
    outside = tmp_path_factory.mktemp("outside")
    (root / "streams").rename(outside / "streams")
    (root / "streams").symlink_to(outside / "streams")
    form = streams.form({**values, "filter": "kind = 'click'"}, is_first=False)
    assert "symbolic link" in (form.problem or "")
    assert form.values["filter"] == "kind = 'click'"
    assert form.sample is not None
    assert streams.save(values, {}).saved == ()


def test_a_cluster_that_the_workspace_has_not_is_not_asked(root: Path) -> None:
    form = forms(root).form({"cluster": "nowhere", "topic": "x"}, is_first=True)
    assert (form.sample, list(form.clusters)) == (None, ["consumer", "fronting"])
