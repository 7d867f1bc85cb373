from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
import structlog

from headrace.config.secret import Secret
from headrace.errors import Terminal
from headrace.registry.address import RegistryAddress
from headrace.registry.client import Registry, UnknownSchema, UnusableSchema
from headrace.registry.http import TRIES, RegistrySilent
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


def test_an_unknown_id_is_not_asked_for_by_every_record(registry_server: RegistryServer) -> None:
    client = registry(registry_server)
    for _ in range(3):
        with pytest.raises(UnknownSchema, match="schema id 77 is not in the registry"):
            client.schema_by_id(77)
    assert len(registry_server.asked) == 1


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
    assert [one["log_level"] for one in logs if "known of old" in one["event"]] == ["warning"] * 2
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


@pytest.mark.parametrize(("status", "body"), [(404, b"<html>"), (200, b"<html>"), (404, b"{}")])
def test_somebody_elses_404_is_no_unknown_id(
    registry_server: RegistryServer, status: int, body: bytes
) -> None:
    registry_server.fail_next(1, status, body)
    with pytest.raises(Terminal, match="is no schema registry") as raised:
        registry(registry_server).schema_by_id(1)
    assert not isinstance(raised.value, UnknownSchema)


def test_the_newest_version_of_a_subject(registry_server: RegistryServer) -> None:
    registry_server.put("a/b value", EVENT)
    more = schema(ID, {"name": "kind", "type": "string", "default": ""})
    held = registry_server.put("a/b value", more)
    found = registry(registry_server).latest("a/b value")
    assert (found.id, found.version, found.text, found.guid) == (held.id, 2, more, held.guid)


def test_a_subject_that_is_not_there(registry_server: RegistryServer) -> None:
    with pytest.raises(UnknownSchema, match="subject events-value is not in the registry"):
        registry(registry_server).latest("events-value")


def test_registering_twice_is_registering_once(registry_server: RegistryServer) -> None:
    client = registry(registry_server)
    assert client.register("events-value", EVENT) == client.register("events-value", EVENT) == 1


def test_a_schema_that_does_not_fit_is_refused_with_the_registrys_reason(
    registry_server: RegistryServer,
) -> None:
    client = registry(registry_server)
    client.register("events-value", EVENT)
    with pytest.raises(Terminal, match="subject events-value: READER_FIELD_MISSING_DEFAULT_VALUE"):
        client.register("events-value", schema(ID, {"name": "kind", "type": "string"}))
    with pytest.raises(Terminal, match="takes no such schema for subject others-value"):
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
        with pytest.raises(Terminal, match="does not know the user or the password") as raised:
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
    with pytest.raises(Terminal, match="is none that can be asked"):
        Registry(RegistryAddress(Secret(url)))


def test_a_guid_that_the_registry_does_not_know(registry_server: RegistryServer) -> None:
    with pytest.raises(UnknownSchema, match="is not in the registry"):
        registry(registry_server).schema_by_guid(UUID(int=7))


@pytest.mark.parametrize("host", ["127.0.0.1:9", "no.such.host.invalid", "a..b"])
def test_a_host_that_cannot_be_reached_is_a_silent_registry(host: str) -> None:
    with pytest.raises(RegistrySilent) as raised:
        Registry(RegistryAddress(Secret(f"https://{host}"))).schema_by_id(1)
    assert host not in str(raised.value)
