"""What is to run of a file for many topics, as topics come and go and the file changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from fleet.follow import Follower, Seen
from fleet.topics import TopicWatch
from tests.unit.fleet.files import EVENT, HEADRACE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from headrace.config.workspace.workspace import Cluster

MANY = r"""kind: stream
name: ${rest_}
for_each: {cluster: here, topics: 'events\.(?P<rest>.*)'}
source: {type: kafka, format: json, schema: "schemas/${rest_}.avsc"}
outputs:
  - {name: starts, filter: "kind = 'start'", sink: {type: kafka, cluster: here, topic: "${topic}.out", format: json}}
"""
TABLES = r"""kind: lake_table
name: ${topic_}
for_each: {cluster: here, topics: 'landed\..*'}
source: {type: kafka, format: raw}
table: {catalog: lake, database: tv, table: "${topic_}"}
"""


@dataclass
class KnownTopics(TopicWatch):
    """The topics of clusters, as the test says."""

    topics: dict[str, frozenset[str] | None] = field(default_factory=dict)
    wanted: set[str] = field(default_factory=set)

    def want(self, clusters: Mapping[str, Cluster]) -> None:
        self.wanted = set(clusters)

    def known(self) -> dict[str, frozenset[str] | None]:
        return dict(self.topics)


@dataclass
class Ground:
    root: Path
    known: KnownTopics
    follower: Follower

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(text)

    def topics(self, *names: str) -> None:
        self.known.topics = {"here": frozenset(names)}

    def look(self) -> Seen:
        """Look until nothing is new any more; return what was seen last."""
        last = self.follower.look()
        assert last is not None
        while (seen := self.follower.look()) is not None:
            last = seen
        return last

    def names(self) -> set[str]:
        return {name for _, name in self.look().wanted}


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    known = KnownTopics()
    found = Ground(tmp_path, known, Follower(tmp_path, topics=known))
    found.write("headrace.yaml", HEADRACE)
    found.write("many.yaml", MANY)
    for name in ("a", "b", "c", "d_e"):
        found.write(f"schemas/{name}.avsc", EVENT)
    return found


def test_nothing_is_wanted_until_the_cluster_has_answered(ground: Ground) -> None:
    seen = ground.look()
    assert (seen.wanted, seen.problems, seen.empty) == ({}, [], [])
    assert ground.known.wanted == {"here"}
    ground.topics("other")
    assert [one.name for one in ground.look().empty] == ["many.yaml"]


def test_topics_come_and_go_and_the_others_stay_as_they_are(ground: Ground) -> None:
    ground.topics("events.a", "events.b")
    before = ground.look().wanted
    assert set(before) == {("stream", "a"), ("stream", "b")}
    assert before["stream", "a"].topic == "events.a"
    assert before["stream", "a"].fingerprint != before["stream", "b"].fingerprint
    ground.topics("events.b", "events.c", "events.b.out", "events.b.quarantine")
    after = ground.look().wanted
    assert set(after) == {("stream", "b"), ("stream", "c")}
    assert after["stream", "b"].fingerprint == before["stream", "b"].fingerprint
    assert ground.follower.look() is None


def test_a_cluster_that_is_away_takes_nothing_away(ground: Ground) -> None:
    ground.topics("events.a")
    assert ground.names() == {"a"}
    ground.known.topics = {"here": None}
    assert ground.names() == {"a"}


def test_a_broken_file_lets_all_of_its_topics_go_on(ground: Ground) -> None:
    ground.topics("events.a", "events.b")
    before = ground.look().wanted
    ground.write("many.yaml", MANY.replace("kind = 'start'", "kind = ${missing}"))
    seen = ground.look()
    assert seen.wanted == before
    assert [one.line for one in seen.problems] == [6]
    assert seen.of_topics == {}
    ground.write("many.yaml", MANY.replace("'start'", "'stop'"))
    after = ground.look()
    assert after.problems == []
    assert set(after.wanted) == set(before)
    assert all(after.wanted[key].fingerprint != before[key].fingerprint for key in before)


def test_what_is_broken_for_one_topic_is_that_topics_alone(ground: Ground) -> None:
    ground.topics("events.a", "events.b")
    before = ground.look().wanted
    ground.write("schemas/a.avsc", "{")
    seen = ground.look()
    # Its last good form goes on.
    assert seen.wanted == before
    assert set(seen.of_topics.values()) == {"events.a"}
    ground.topics("events.a", "events.b", "events.new")
    seen = ground.look()
    assert set(seen.wanted) == set(before)
    assert set(seen.of_topics.values()) == {"events.a", "events.new"}
    ground.write("schemas/new.avsc", EVENT)
    assert ground.names() == {"a", "b", "new"}


def test_of_two_topics_with_one_name_the_one_that_runs_goes_on(ground: Ground) -> None:
    ground.topics("events.d-e", "events.a")
    before = ground.look().wanted
    ground.topics("events.d-e", "events.d_e", "events.a")
    seen = ground.look()
    assert seen.wanted == before
    assert set(seen.of_topics.values()) == {"events.d-e", "events.d_e"}
    ground.topics("events.d_e", "events.a")
    after = ground.look()
    assert after.problems == []
    assert after.wanted["stream", "d_e"].topic == "events.d_e"


def test_from_the_start_neither_of_the_two_is_wanted(ground: Ground) -> None:
    ground.topics("events.d-e", "events.d_e", "events.a")
    assert ground.names() == {"a"}


def test_a_file_that_is_removed_or_becomes_one_for_one_topic_lets_all_go(ground: Ground) -> None:
    ground.write("tables.yaml", TABLES)
    ground.topics("events.a", "landed.x", "landed.y")
    assert ground.names() == {"a", "landed_x", "landed_y"}
    (ground.root / "tables.yaml").unlink()
    assert ground.names() == {"a"}
    plain = MANY.replace("for_each: {cluster: here, topics: 'events\\.(?P<rest>.*)'}\n", "")
    plain = plain.replace("${rest_}", "b").replace("${topic}", "b")
    ground.write(
        "many.yaml",
        plain.replace("type: kafka, format", "type: kafka, cluster: here, topic: t, format"),
    )
    assert ground.names() == {"b"}


def test_a_pattern_that_matches_less_lets_the_others_go(ground: Ground) -> None:
    ground.topics("events.a", "events.b")
    assert ground.names() == {"a", "b"}
    ground.write("many.yaml", MANY.replace("(?P<rest>.*)", "(?P<rest>b)"))
    assert ground.names() == {"b"}


def test_one_file_alone_is_followed(ground: Ground) -> None:
    ground.write("tables.yaml", TABLES)
    ground.topics("events.a", "landed.x")
    only = Follower(ground.root, only=ground.root / "tables.yaml", topics=ground.known)
    seen = only.look()
    assert seen is not None
    assert set(seen.wanted) == {("lake_table", "landed_x")}
