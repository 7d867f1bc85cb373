"""A quarantine as the control room shows it: what waits, what replays have finished, what is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fleet.quarantine_edits import try_change
from fleet.quarantine_rows import quarantine_row
from fleet.stream_origin import StreamOrigin
from headrace.config.load import load_stream
from headrace.config.stream.effective import effective
from headrace.embedded.process import wait_until
from headrace.kafka.cluster import KafkaCluster
from tests.integration.pipelines import Pipelines
from tests.integration.router.test_quarantine import NOT_ABOVE_100, Stream
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace
    from headrace.http.quarantine_rows import QuarantineRow, TriedOutput


@pytest.fixture
def stream(workspace: Workspace, unique: Callable[[str], str]) -> Stream:
    pipelines, name = Pipelines(workspace), unique("shown")
    pipelines.make_topic(name, partitions=2)
    return Stream(pipelines, name)


def origin_of(stream: Stream, path: Path) -> StreamOrigin:
    workspace = stream.pipelines.workspace
    loaded = load_stream(path, workspace)
    return StreamOrigin(effective(loaded, workspace, None), workspace, path)


def row_of(stream: Stream, path: Path) -> QuarantineRow:
    origin = origin_of(stream, path)
    return quarantine_row(origin.workspace, origin.stream)


def counts(row: QuarantineRow) -> dict[str, tuple[int, int]]:
    return {one.reason: (one.count, one.replayed) for one in row.groups}


def test_what_a_replay_has_finished_waits_no_more(stream: Stream) -> None:
    path = stream.write({"name": "one"}, {"name": "two"}, hygiene=NOT_ABOVE_100)
    assert not row_of(stream, path).is_there
    for number in (1, 200):
        stream.keep(number)
    stream.keep(3, output="two")
    stream.pipelines.send(f"{stream.name}.quarantine", [b"somebody else's"])
    before = row_of(stream, path)
    assert counts(before) == {"why 1": (1, 0), "why 200": (1, 0), "why 3": (1, 0)}
    assert (before.records, before.replayed, before.others, before.is_there) == (3, 0, 1, True)
    # Output one is done with record 1, and output two is not.
    stream.replay(path, "--output", "one")
    assert counts(row_of(stream, path))["why 1"] == (1, 0)
    tried = {one.output: (one.written, one.rejected) for one in try_of(stream, path)}
    assert tried == {"one": (0, 1), "two": (2, 1)}
    stream.replay(path)
    after = row_of(stream, path)
    assert counts(after) == {"why 200": (1, 0), "why 1": (0, 1), "why 3": (0, 1)}
    assert (after.records, after.replayed) == (1, 2)
    kafka = KafkaCluster(stream.pipelines.workspace.cluster("fronting"))
    topic = f"{stream.name}.quarantine"
    kafka.admin.delete_topics([topic])[topic].result()
    assert wait_until(lambda: topic not in kafka.topics(), LIMIT_S)
    # Another topic of that name holds other records.
    stream.keep(7)
    again = row_of(stream, path)
    assert (counts(again), again.replayed) == ({"why 7": (1, 0)}, 0)


def try_of(stream: Stream, path: Path) -> Sequence[TriedOutput]:
    return try_change(origin_of(stream, path), {}).outputs
