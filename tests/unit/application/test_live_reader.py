"""Where a live source says that its topics end, in batches of a bounded size."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from headrace.application import live_source
from headrace.application.live_source import LiveReader
from headrace.application.live_task import LivePlan
from headrace.config.workspace.workspace import Cluster
from headrace.contract import RAW_SCHEMA
from headrace.errors import ClusterUnreachable, Terminal
from headrace.kafka.groups import ShownOffsets
from headrace.kafka.leaders import TopicEnds
from headrace.kafka.source_topic import TopicRecreated
from headrace.landing.topic_values import Values
from headrace.records.hygiene.rules import HygieneRules
from headrace.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

NOWHERE = Cluster("nowhere", "127.0.0.1:1", None, {})


class Reader(LiveReader):
    """A reader whose topic holds what the test says; None is a cluster that does not answer."""

    held: dict[int, range] | None
    epochs: Mapping[int, int] = MappingProxyType({})
    topic_id = "first"

    def __init__(
        self, *, fresh: bool, starting: str = "earliest", until: int | None = None
    ) -> None:
        values = Values("v", "raw", RAW_SCHEMA, HygieneRules(), None)
        plan = LivePlan("app.live", ("t",), {}, None, values, {}, Path(), None)
        ends = None if until is None else {"t": {0: until}}
        super().__init__(plan, NOWHERE, starting, ends, fresh=fresh)

    def _held(self) -> dict[str, TopicEnds]:
        if self.held is None:
            raise ClusterUnreachable("nowhere", "127.0.0.1:1", "away")
        return {"t": TopicEnds(self.held, self.epochs)}

    def _identities(self) -> dict[str, str]:
        return {"t": self.topic_id}


@pytest.fixture(autouse=True)
def asked_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_source, "ASK_EVERY_S", 0.0)
    monkeypatch.setattr(live_source, "MOST_RECORDS", 10)
    # There is no cluster to tell; to try takes the client a quarter of a minute.
    monkeypatch.setattr(ShownOffsets, "show", lambda *_: None)


@pytest.mark.parametrize(("starting", "begin", "first"), [("earliest", 5, 15), ("latest", 40, 40)])
def test_the_first_batch_of_all_is_bounded_too(starting: str, begin: int, first: int) -> None:
    reader = Reader(fresh=True, starting=starting)
    reader.held = {0: range(5, 40)}
    # In Spark's order: the end of the first batch before its beginning.
    assert reader.latestOffset() == {"t": {"0": first}}
    assert reader.initialOffset() == {"t": {"0": begin}}


def test_batches_go_on_from_the_last_one_that_spark_knows() -> None:
    reader = Reader(fresh=False)
    reader.held = {0: range(5, 40)}
    reader.partitions({"t": {"0": 12}}, {"t": {"0": 22}})
    assert reader.latestOffset() == {"t": {"0": 32}}
    assert reader.latestOffset() == {"t": {"0": 40}}
    assert reader.latestOffset() == {"t": {"0": 40}}


def test_it_never_goes_back_and_never_beyond_where_it_is_to_end() -> None:
    reader = Reader(fresh=False, until=25)
    reader.held = {0: range(5, 40), 1: range(3)}
    reader.partitions({"t": {}}, {"t": {"0": 22}})
    assert reader.latestOffset() == {"t": {"0": 25}}
    reader.partitions({"t": {"0": 22}}, {"t": {"0": 30}})
    assert reader.latestOffset() == {"t": {"0": 30}}


def test_a_cluster_that_is_away_for_a_while_ends_nothing() -> None:
    reader = Reader(fresh=True)
    reader.held = None
    with pytest.raises(ClusterUnreachable):
        reader.latestOffset()
    reader.held = {0: range(8)}
    assert reader.latestOffset() == {"t": {"0": 8}}
    reader.held = None
    assert reader.latestOffset() == {"t": {"0": 8}}
    reader.held = {0: range(9)}
    assert reader.latestOffset() == {"t": {"0": 9}}


@pytest.mark.parametrize("until", [None, 20])
def test_it_is_not_waited_for_without_end(
    until: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Reader(fresh=True, until=until)
    reader.held = {0: range(8)}
    reader.latestOffset()
    reader.held = None
    monkeypatch.setattr(live_source, "PATIENCE_S", 300.0 if until else 0.0)
    with pytest.raises(ClusterUnreachable):
        reader.latestOffset()


@pytest.mark.parametrize(
    ("held", "sentence"),
    [
        ({0: range(23, 25)}, r"no longer has the records that had to be read next: t-0 @ 22 to 22"),
        ({0: range(5)}, "t-0 up to 21, but the partition ends at 5"),
        ({}, "t-0, but the topic has no such partition"),
    ],
)
def test_what_is_gone_is_told(held: dict[int, range], sentence: str) -> None:
    reader = Reader(fresh=False)
    reader.held = held
    reader.partitions({"t": {}}, {"t": {"0": 22}})
    with pytest.raises(Terminal, match=f"app.live.*{sentence}"):
        reader.latestOffset()


def test_a_topic_that_is_made_anew_is_told_however_long_it_is() -> None:
    reader = Reader(fresh=True)
    reader.held = {0: range(10)}
    assert reader.latestOffset() == {"t": {"0": 10}}
    for stop in (5, 10, 30):
        reader.held, reader.topic_id = {0: range(stop)}, "second"
        with pytest.raises(TopicRecreated, match=r"app\.live has read the old topic"):
            reader.latestOffset()


def test_an_empty_partition_that_was_read_to_its_end_is_not_gone() -> None:
    reader = Reader(fresh=False)
    reader.held = {0: range(22, 22)}
    reader.partitions({"t": {}}, {"t": {"0": 22}})
    assert reader.latestOffset() == {"t": {"0": 22}}


def test_the_epoch_of_a_leader_goes_along_and_is_no_news_of_its_own() -> None:
    reader = Reader(fresh=True)
    reader.held, reader.epochs = {0: range(5)}, {0: 7}
    reader.latestOffset()
    reader.partitions({"t": {"0": 0}}, {"t": {"0": [5, 7]}})
    reader.epochs = {}
    # Spark would run a batch of nothing.
    assert reader.latestOffset() == {"t": {"0": [5, 7]}}
    reader.held, reader.epochs = {0: range(20)}, {0: 7}
    assert reader.latestOffset({"t": {"0": [5, 7]}}) == {"t": {"0": [15, 7]}}


def test_what_goes_to_its_tasks_holds_nothing_secret() -> None:
    values = Values("v", "raw", RAW_SCHEMA, HygieneRules(), None)
    plan = LivePlan("app.live", ("t",), {}, None, values, {}, Path(), None)
    guarded = Cluster("c", "127.0.0.1:1", None, {"sasl.password": Secret("hush")})
    reader = LiveReader(plan, guarded, "earliest", None, fresh=True)
    there = pickle.loads(pickle.dumps(reader))  # noqa: S301 - our own, as Spark does it
    assert list(there.read(live_source.Share([]))) == []
