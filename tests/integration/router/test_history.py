"""The last batches of a stream by its ledger in a real broker: as routed, and no more than asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.load import load_stream
from headrace.config.stream.effective import effective
from router.audit import history as histories
from router.audit.history import history
from tests.integration.pipelines import event

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest
    from pyspark.sql import SparkSession

    from tests.integration.pipelines import Pipelines


def test_each_batch_is_there_with_what_became_of_its_records(
    spark: SparkSession,
    pipelines: Pipelines,
    unique: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = unique("history")
    pipelines.make_topic(topic, 2)
    path = pipelines.stream(
        topic, [{"name": "starts", "filter": "kind = 'start'"}, {"name": "all"}]
    )
    stream = effective(load_stream(path, pipelines.workspace), pipelines.workspace, None)
    assert [one.batches for one in history(pipelines.workspace, stream)] == [[], [], []]
    for number in range(3):
        stops = [event(one, "stop") for one in range(number)]
        pipelines.send(topic, [event(1), event(2), *stops, b"no json"])
        pipelines.route(spark, path)
    starts, everything, quarantine = history(pipelines.workspace, stream)
    assert [one.output for one in (starts, everything, quarantine)] == [
        "starts",
        "all",
        "quarantine",
    ]
    # A start takes what is there: in as many batches as it likes.
    sums = [
        tuple(sum(getattr(one, name) for one in own.batches) for name in COUNTS)
        for own in (starts, everything, quarantine)
    ]
    assert sums == [(12, 6, 3, 0, 3, 0), (12, 9, 0, 0, 3, 0), (12, 0, 9, 0, 3, 0)]
    assert len(starts.batches) >= 3
    assert all(one.read == one.written + one.filtered + one.quarantined for one in starts.batches)
    assert [one.at for one in starts.batches] == sorted(one.at for one in starts.batches)
    assert not starts.is_cut
    monkeypatch.setattr(histories, "MOST_RECORDS", 4)
    newest, *_ = history(pipelines.workspace, stream)
    assert newest.is_cut
    assert len(newest.batches) < len(starts.batches)
    assert [*newest.batches] == starts.batches[len(starts.batches) - len(newest.batches) :]


COUNTS = ("read", "written", "filtered", "dropped", "quarantined", "lost")
