"""The router's peers: what is asked of a machine, and what is asked of their output."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from benchmarks import java_peer
from benchmarks.bench_router import ROUTER
from benchmarks.checks import routed
from benchmarks.events import generate
from benchmarks.java_peer import Program, java_command
from benchmarks.model import LeftOut, WrongResult
from benchmarks.redpanda import redpanda_connect
from headrace.kafka.message import GivenMessage, RecordPosition

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.arena import Arena
    from headrace.records.rows import Headers

ORIGIN: Headers = [("headrace.origin", b"raw/0/7/1767571200000")]


def written(headers: Headers = (), **changed: str) -> GivenMessage:
    """A record as a router has to write it, or changed."""
    event = json.loads(next(iter(generate(1, seed=1))).value)
    kept = {
        "event_id": event["event_id"],
        "user_id": event["user_id"],
        "title_id": event["title_id"],
        "event_ts": event["event_ts"],
        "country": event["country"].upper(),
    }
    key = changed.pop("key", event["user_id"]).encode()
    value = json.dumps({**kept, **changed}).encode()
    return GivenMessage(RecordPosition("target", 0, 0), 0, value, key, headers)


def arena_of(*messages: GivenMessage, passing: int) -> Arena:
    kafka = SimpleNamespace(records=lambda _topic: iter(messages))
    loaded = SimpleNamespace(topic="raw", passing=passing)
    return cast("Arena", SimpleNamespace(kafka=kafka, loaded=loaded))


def test_what_is_right_with_and_without_an_origin_passes() -> None:
    routed(arena_of(written(), passing=1), "target")
    routed(arena_of(written(ORIGIN), passing=1), "target", has_origin=True)


@pytest.mark.parametrize(
    ("message", "has_origin", "reason"),
    [
        (written(device="tv"), False, "a record of target"),
        (written(country="de"), False, "a record of target"),
        (written(key="somebody"), False, "the key of"),
        (written(), True, "the headers of"),
        (written(ORIGIN), False, "the headers of"),
    ],
)
def test_a_record_that_is_not_as_asked_is_found(
    message: GivenMessage, has_origin: bool, reason: str
) -> None:
    with pytest.raises(WrongResult, match=reason):
        routed(arena_of(message, passing=1), "target", has_origin=has_origin)


def test_a_record_twice_is_found() -> None:
    with pytest.raises(WrongResult, match="records in target: 2, not 1"):
        routed(arena_of(written(), written(), passing=1), "target")


def test_pairs_and_roles_name_competitors() -> None:
    names = {one.name for one in ROUTER.competitors}
    assert {name for pair in ROUTER.pairs for name in pair} <= names
    assert {ROUTER.baseline, ROUTER.limit} <= names


def test_without_go_redpanda_connect_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    arena = cast("Arena", SimpleNamespace(root=tmp_path))
    with pytest.raises(LeftOut, match="no go on the PATH"):
        redpanda_connect(arena, tmp_path)


def test_without_a_compiler_a_java_program_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "java").touch()
    monkeypatch.setattr(java_peer, "java", lambda: str(tmp_path / "java"))
    arena = cast("Arena", SimpleNamespace(root=tmp_path))
    # A set of no jars: nothing is fetched for this test.
    program = Program("StreamsRouter", "routers.lock", "no such set")
    with pytest.raises(LeftOut, match="no javac"):
        java_command(arena, tmp_path, program, [])
