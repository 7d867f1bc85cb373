from __future__ import annotations

import itertools
import json
import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
import structlog

from headrace.errors import Terminal
from headrace.registry.address import RegistryAddress
from headrace.registry.answers import UnknownSchema, UnusableSchema
from headrace.registry.client import Registry
from headrace.registry.http import TRIES, NoRegistry, RegistrySilent
from headrace.secret import Secret
from tests.registry_server import RegistryServer

if TYPE_CHECKING:
    from pathlib import Path


def schema(*fields: object, name: str = "tv.Event") -> str:
    return json.dumps({"type": "record", "name": name, "fields": list(fields)})


ID = {"name": "id", "type": "long"}
EVENT = schema(ID)


def registry(server: RegistryServer, cache_dir: Path | None = None) -> Registry:
    return Registry(RegistryAddress(Secret(server.url), cache_dir))


def test_a_schema_by_its_id_and_its_guid(registry_server: RegistryServer) -> None:
    held = registry_server.put("events-value", EVENT)
    client = registry(registry_server)
    assert client.schema_by_id(held.id) == EVENT
    assert client.schema_by_guid(held.guid) == EVENT


def test_an_id_is_asked_for_once(registry_server: RegistryServer) -> None:
    held = registry_server.put("events-value", EVENT)
    client = registry(registry_server)
    assert client.schema_by_id(held.id) == client.schema_by_id(held.id)
    assert len(registry_server.asked) == 1


@dataclass
class Clock:
    now_s: float = 1_000.0

    def __call__(self) -> float:
        return self.now_s


def failing(server: RegistryServer, how: str) -> tuple[int, str]:
    """Put what no record can be read with; return its id, and what is said of it."""
    match how:
        case "unknown":
            return 77, "schema id 77 is not in the registry"
        case "protobuf":
            return server.put("s", "message", form="PROTOBUF").id, "is PROTOBUF, not Avro"
        case "no JSON":
            leaf = reference("Place", "place")
            server.put("place", schema(ID, name="Place"))
            return server.put("s", "{", references=[leaf]).id, "is not a schema in JSON"
    held = server.put("s", EVENT, references=[reference("Place", "place")])
    return held.id, "refers to version 1 of place, which is not in the registry"


@pytest.mark.parametrize("how", ["unknown", "protobuf", "no JSON", "broken reference"])
def test_what_cannot_be_read_is_asked_for_again_later_and_later(
    registry_server: RegistryServer, how: str
) -> None:
    """Not by every record; and not never, for somebody may mend it."""
    schema_id, reason = failing(registry_server, how)
    clock = Clock()
    client = Registry(RegistryAddress(Secret(registry_server.url)), clock)
    moments: list[float] = []
    for second in range(2_000):
        clock.now_s = 1_000.0 + second
        for _ in range(3):
            before = len(registry_server.asked)
            with pytest.raises(UnusableSchema, match=reason):
                client.schema_by_id(schema_id)
            if len(registry_server.asked) > before:
                moments.append(second)
    waits = [later - earlier for earlier, later in itertools.pairwise(moments)]
    assert waits[:9] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert set(waits[9:]) == {300}


@pytest.mark.parametrize("how", ["unknown", "broken reference"])
def test_what_can_be_read_by_now_is_found(registry_server: RegistryServer, how: str) -> None:
    schema_id, _ = failing(registry_server, how)
    clock = Clock()
    client = Registry(RegistryAddress(Secret(registry_server.url)), clock)
    with pytest.raises(UnusableSchema):
        client.schema_by_id(schema_id)
    registry_server.put("place", schema(ID, name="Place"))
    if how == "unknown":
        registry_server.first_id = schema_id
        registry_server.forget()
        registry_server.put("s", EVENT)
    clock.now_s += 1.0
    assert json.loads(client.schema_by_id(schema_id))["name"] == "tv.Event"


def test_a_silent_registry_is_not_remembered_as_a_refusal(registry_server: RegistryServer) -> None:
    held = registry_server.put("s", EVENT)
    client = Registry(RegistryAddress(Secret(registry_server.url)), Clock())
    registry_server.stop()
    with pytest.raises(RegistrySilent):
        client.schema_by_id(held.id)
    registry_server.start()
    assert client.schema_by_id(held.id) == EVENT


def test_an_id_that_no_registry_gives_is_not_asked_for(registry_server: RegistryServer) -> None:
    with pytest.raises(UnknownSchema):
        registry(registry_server).schema_by_id(2**31)
    assert registry_server.asked == []


def test_a_registry_without_guids_is_still_one(registry_server: RegistryServer) -> None:
    """Any byte may begin a record that is none: that one is bad, and the registry is not."""
    registry_server.fail_next(1, 404, b"")
    with pytest.raises(
        UnusableSchema, match="is a GUID, but the registry supports only numeric ids"
    ):
        registry(registry_server).schema_by_guid(UUID(int=7))
    registry_server.fail_next(2, 404, b"")
    with pytest.raises(NoRegistry, match="is not a schema registry"):
        registry(registry_server).schema_by_guid(UUID(int=7))


def test_a_registry_that_was_re_created_is_believed(
    registry_server: RegistryServer, tmp_path: Path
) -> None:
    """The same id at the same place, and another schema: only the registry knows which it is."""
    other = schema(ID, name="tv.Other")
    held = registry_server.put("s", EVENT)
    assert registry(registry_server, tmp_path).schema_by_id(held.id) == EVENT
    registry_server.forget()
    with pytest.raises(UnknownSchema):
        registry(registry_server, tmp_path).schema_by_id(held.id)
    assert registry_server.put("s", other).id == held.id
    with structlog.testing.capture_logs() as logs:
        assert registry(registry_server, tmp_path).schema_by_id(held.id) == other
    assert [one["log_level"] for one in logs if "re-created" in one["event"]] == ["warning"]
    # From now on that is what is known of old.
    registry_server.stop()
    assert registry(registry_server, tmp_path).schema_by_id(held.id) == other


def test_a_silent_registry_is_asked_once_for_all_that_is_known_of_old(
    registry_server: RegistryServer, tmp_path: Path
) -> None:
    ids = [registry_server.put("s", schema(ID, name=f"tv.E{number}")).id for number in range(20)]
    first = registry(registry_server, tmp_path)
    texts = [first.schema_by_id(one) for one in ids]
    clock = Clock()
    second = Registry(RegistryAddress(Secret(registry_server.url), tmp_path), clock)
    registry_server.fail_next(100, 503)
    registry_server.asked.clear()
    assert [second.schema_by_id(one) for one in ids] == texts
    assert len(registry_server.asked) == TRIES


def test_references_are_asked_for_once(registry_server: RegistryServer) -> None:
    """A diamond ten deep: each of two types refers to both of the level below."""
    names: list[str] = []
    for level in range(11):
        below = names
        names = [f"L{level}a", f"L{level}b"] if level < 10 else ["Top"]
        for name in names:
            fields = [{"name": one.lower(), "type": one} for one in below] or [ID]
            references = [reference(one, one) for one in below]
            held = registry_server.put(name, schema(*fields, name=name), references=references)
    client = registry(registry_server)
    text = client.schema_by_id(held.id)
    assert len(registry_server.asked) == 1 + 20
    defined = [f"L{level}{side}" for level in range(10) for side in "ab"]
    assert all(text.count(f'"name": "{name}"') == 1 for name in defined)
    again = registry_server.put(
        "again",
        schema({"name": "x", "type": "L9a"}, name="Again"),
        references=[reference("L9a", "L9a")],
    )
    client.schema_by_id(again.id)
    assert len(registry_server.asked) == 1 + 20 + 1


def test_references_without_end_are_a_fault_of_the_schema(registry_server: RegistryServer) -> None:
    registry_server.put("a", schema(ID, name="A"), references=[reference("B", "b")])
    registry_server.put("b", schema(ID, name="B"), references=[reference("A", "a")])
    held = registry_server.put("top", EVENT, references=[reference("A", "a")])
    with pytest.raises(UnusableSchema, match="references go too deep or in a circle"):
        registry(registry_server).schema_by_id(held.id)


def test_what_was_asked_outlives_an_outage_and_a_restart(
    registry_server: RegistryServer, tmp_path: Path
) -> None:
    held = registry_server.put("events-value", EVENT)
    first = registry(registry_server, tmp_path)
    first.schema_by_id(held.id)
    first.schema_by_guid(held.guid)
    newest = first.latest("events-value")
    assert first.register("events-value", EVENT) == held.id
    registry_server.stop()

    second = registry(registry_server, tmp_path)
    assert second.schema_by_id(held.id) == EVENT
    assert second.schema_by_guid(held.guid) == EVENT
    with structlog.testing.capture_logs() as logs:
        assert second.latest("events-value") == newest
        assert second.register("events-value", EVENT) == held.id
    assert [one["log_level"] for one in logs if "the stored schema is used" in one["event"]] == [
        "warning"
    ] * 2
    with pytest.raises(RegistrySilent):
        second.schema_by_id(held.id + 1)
    with pytest.raises(RegistrySilent):
        second.latest("others-value")
    with pytest.raises(RegistrySilent):
        second.register("events-value", schema(ID, name="tv.Other"))

    registry_server.start()
    assert registry(registry_server).schema_by_id(held.id) == EVENT


def test_registries_do_not_share_what_they_said(tmp_path: Path) -> None:
    other = schema(ID, name="tv.Other")
    with RegistryServer() as one, RegistryServer() as two:
        assert one.put("s", EVENT).id == two.put("s", other).id == 1
        assert registry(one, tmp_path).schema_by_id(1) == EVENT
        assert registry(two, tmp_path).schema_by_id(1) == other


@pytest.mark.parametrize(
    "damage", [b"", b"\xff", b"[]", b'{"answer": {"schema": "x"}, "sha256": "0"}', b"[" * 100_000]
)
def test_a_damaged_answer_is_asked_for_anew(
    registry_server: RegistryServer, tmp_path: Path, damage: bytes
) -> None:
    held = registry_server.put("events-value", EVENT)
    registry(registry_server, tmp_path).schema_by_id(held.id)
    (kept,) = tmp_path.rglob("*.json")
    whole = kept.read_bytes()
    kept.write_bytes(damage)
    assert registry(registry_server, tmp_path).schema_by_id(held.id) == EVENT
    assert kept.read_bytes() == whole
    assert len(registry_server.asked) == 2


def test_a_folder_that_cannot_be_written_is_no_obstacle(
    registry_server: RegistryServer, tmp_path: Path
) -> None:
    held = registry_server.put("events-value", EVENT)
    (tmp_path / "file").touch()
    client = registry(registry_server, tmp_path / "file")
    with structlog.testing.capture_logs() as logs:
        assert client.schema_by_id(held.id) == EVENT
        assert client.schema_by_guid(held.guid) == EVENT
    assert [one["log_level"] for one in logs] == ["warning"]


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_registry_in_trouble_is_asked_again(registry_server: RegistryServer, status: int) -> None:
    held = registry_server.put("events-value", EVENT)
    registry_server.fail_next(TRIES - 1, status)
    assert registry(registry_server).schema_by_id(held.id) == EVENT


def test_a_registry_that_stays_in_trouble_is_silent_and_its_ids_are_not_unknown(
    registry_server: RegistryServer,
) -> None:
    held = registry_server.put("events-value", EVENT)
    registry_server.fail_next(TRIES, 502)
    client = registry(registry_server)
    with pytest.raises(RegistrySilent, match="HTTP 502"):
        client.schema_by_id(held.id)
    assert client.schema_by_id(held.id) == EVENT


def test_a_request_that_is_refused_without_a_word(registry_server: RegistryServer) -> None:
    registry_server.fail_next(1, 400, b"")
    with pytest.raises(
        NoRegistry, match=r"rejects the request without a reason \(HTTP 400\)"
    ) as raised:
        registry(registry_server).latest("play")
    assert "correct the subject" in str(raised.value)


@pytest.mark.parametrize(("status", "body"), [(404, b"<html>"), (200, b"<html>"), (404, b"{}")])
def test_somebody_elses_404_is_no_unknown_id(
    registry_server: RegistryServer, status: int, body: bytes
) -> None:
    registry_server.fail_next(1, status, body)
    with pytest.raises(Terminal, match="is not a schema registry") as raised:
        registry(registry_server).schema_by_id(1)
    assert not isinstance(raised.value, UnknownSchema)


def test_the_newest_version_of_a_subject(registry_server: RegistryServer) -> None:
    registry_server.put("a/b value", EVENT)
    more = schema(ID, {"name": "kind", "type": "string", "default": ""})
    registry_server.put("a/b value", more)
    assert registry(registry_server).latest("a/b value") == more


def test_a_subject_that_is_not_there(registry_server: RegistryServer) -> None:
    with pytest.raises(UnknownSchema, match="subject events-value is not in the registry"):
        registry(registry_server).latest("events-value")


def test_registering_twice_is_registering_once(registry_server: RegistryServer) -> None:
    client = registry(registry_server)
    first = client.register("events-value", EVENT)
    assert first == client.register("events-value", EVENT) == registry_server.first_id


def test_a_schema_that_does_not_fit_is_refused_with_the_registrys_reason(
    registry_server: RegistryServer,
) -> None:
    client = registry(registry_server)
    client.register("events-value", EVENT)
    with pytest.raises(Terminal, match="subject events-value: READER_FIELD_MISSING_DEFAULT_VALUE"):
        client.register("events-value", schema(ID, {"name": "kind", "type": "string"}))
    with pytest.raises(Terminal, match="rejects the schema for subject others-value"):
        client.register("others-value", "{")


def test_a_schema_of_another_format_is_named(registry_server: RegistryServer) -> None:
    held = registry_server.put("events-value", 'syntax = "proto3";', form="PROTOBUF")
    with pytest.raises(UnusableSchema, match=f"schema id {held.id} is PROTOBUF, not Avro"):
        registry(registry_server).schema_by_id(held.id)


def reference(name: str, subject: str, version: int = 1) -> dict[str, object]:
    return {"name": name, "subject": subject, "version": version}


def test_what_a_schema_refers_to_is_put_into_it(registry_server: RegistryServer) -> None:
    country = {"type": "enum", "name": "geo.Country", "symbols": ["US", "BR"]}
    place: dict[str, Any] = {
        "type": "record",
        "name": "Place",
        "namespace": "geo",
        "fields": [{"name": "country", "type": "Country"}],
    }
    event: dict[str, Any] = {
        "type": "record",
        "name": "tv.Event",
        "fields": [
            {"name": "at", "type": ["null", "geo.Place"]},
            {"name": "was", "type": {"type": "array", "items": "geo.Place"}},
            {"name": "of", "type": "geo.Country"},
        ],
    }
    registry_server.put("country", country)
    registry_server.put("place", place, references=[reference("geo.Country", "country")])
    held = registry_server.put("event", event, references=[reference("geo.Place", "place")])
    text = json.loads(registry(registry_server).schema_by_id(held.id))
    at, was, of = (one["type"] for one in text["fields"])
    assert at[1]["name"] == "geo.Place"
    assert at[1]["fields"][0]["type"]["symbols"] == ["US", "BR"]
    assert was["items"] == "geo.Place"
    assert of == "geo.Country"


def test_a_reference_that_leads_nowhere_is_named(registry_server: RegistryServer) -> None:
    held = registry_server.put("event", EVENT, references=[reference("geo.Place", "place")])
    with pytest.raises(UnusableSchema, match="refers to version 1 of place, which is not"):
        registry(registry_server).schema_by_id(held.id)


def test_the_user_and_the_password_in_the_url() -> None:
    with RegistryServer(user="reader", password="p@ss:word") as server:  # noqa: S106 - a test's own
        held = server.put("events-value", EVENT)
        assert registry(server).schema_by_id(held.id) == EVENT
        wrong = RegistryAddress(Secret(server.url.replace("p%40ss", "guess")))
        with pytest.raises(Terminal, match="does not accept the user, the password or") as raised:
            Registry(wrong).schema_by_id(held.id)
        assert "guess" not in str(raised.value)


def test_the_url_is_shown_to_nobody(tmp_path: Path) -> None:
    with RegistryServer() as server:
        url = server.url.replace("http://", "http://reader:hush@")
    address = RegistryAddress(Secret(url), tmp_path)
    client = Registry(address)
    with structlog.testing.capture_logs() as logs, pytest.raises(RegistrySilent) as raised:
        client.schema_by_id(1)
    port = url.rpartition(":")[2]
    for shown in (repr(address), str(raised.value), repr(raised.value), repr(logs), repr(client)):
        assert "hush" not in shown
        assert port not in shown


def test_an_address_goes_to_a_task(registry_server: RegistryServer, tmp_path: Path) -> None:
    held = registry_server.put("events-value", EVENT)
    sent = pickle.loads(pickle.dumps(RegistryAddress(Secret(registry_server.url), tmp_path)))  # noqa: S301 - our own
    assert Registry(sent).schema_by_id(held.id) == EVENT


@pytest.mark.parametrize("url", ["", "registry:8081", "ftp://registry", "http://", "http://a:b:c"])
def test_what_is_no_url_is_told_without_it(url: str) -> None:
    with pytest.raises(Terminal, match="URL is not valid"):
        Registry(RegistryAddress(Secret(url)))


def test_a_guid_that_the_registry_does_not_know(registry_server: RegistryServer) -> None:
    with pytest.raises(UnknownSchema, match="is not in the registry"):
        registry(registry_server).schema_by_guid(UUID(int=7))


@pytest.mark.parametrize("host", ["127.0.0.1:9", "no.such.host.invalid", "a..b"])
def test_a_host_that_cannot_be_reached_is_a_silent_registry(host: str) -> None:
    with pytest.raises(RegistrySilent) as raised:
        Registry(RegistryAddress(Secret(f"https://{host}"))).schema_by_id(1)
    assert host not in str(raised.value)
