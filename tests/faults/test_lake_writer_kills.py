"""Lake writers that are killed at any moment while events come in: none lost, none doubled."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
import structlog

from headrace.config.load import load_workspace
from headrace.kafka.cluster import KafkaCluster
from tests.faults.lake_writer_process import Writer, audit, in_files, in_topic
from tests.faults.router_process import Traffic, are_gone
from tests.integration.pipelines import Pipelines, event

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import psutil

PARTITIONS = 3
SEED = 20_260_301
# Whoever is killed again and again is behind.
DRAIN_LIMIT_S = 900.0
log = structlog.get_logger(__name__)


@dataclass
class Killing:
    """A table under traffic, and the writers that are killed over it."""

    path: Path
    root: Path
    traffic: Traffic
    each: int
    chance: random.Random
    orphans: list[psutil.Process]

    def kill(self) -> None:
        """Start a writer, and kill it at some moment: while it starts, in a batch, or between two."""
        writer = Writer(self.path, self.root)
        self.traffic.allow(self.each)
        batches, more = self.chance.randrange(5), self.chance.randrange(self.each // 2)
        # Where nothing comes any more, the first will do.
        writer.wait_for(
            lambda: writer.landed() >= (min(batches, 1) if self.traffic.rests() else batches)
        )
        # And at some moment after it, told by how much has come meanwhile.
        enough = min(self.traffic.sent + more, self.traffic.allowed)
        writer.wait_for(lambda: self.traffic.sent >= enough)
        if self.chance.random() < 0.5:
            self.orphans += writer.kill_alone()
        else:
            writer.kill()
        log.info("killed a lake writer", after=writer.landed(), sent=self.traffic.sent)


def killed_again_and_again(
    pipelines: Pipelines, name: str, kills: int, events: int, per_s: int
) -> None:
    began = time.monotonic()
    root, cluster = pipelines.workspace.root, pipelines.workspace.cluster("fronting")
    pipelines.make_topic(name, PARTITIONS)
    # More than one batch of what comes between two kills.
    each = events // (kills + 1)
    path = pipelines.table(name, name, batch={"max_rows": each // 3, "max_interval": "200ms"})
    at_once = max(100, per_s // 20)
    with Traffic(cluster, name, event, events, at_once, at_once / per_s) as traffic:
        killing = Killing(path, root, traffic, each, random.Random(SEED), [])
        for _ in range(kills):
            killing.kill()
        traffic.join()
        last = Writer(path, root, "--once")
        assert last.end(DRAIN_LIMIT_S) == 0, last.said
    assert are_gone(killing.orphans), killing.orphans
    code, found = audit(path, root)
    assert (code, found["ok"], found["rows"]) == (0, True, events)
    assert_the_same(pipelines, name, events)
    log.info("counted", kills=kills, rows=events, wall_s=round(time.monotonic() - began))


def assert_the_same(pipelines: Pipelines, name: str, events: int) -> None:
    """Compare files and topic record by record, without a line of the writer's own code."""
    cluster = pipelines.workspace.cluster("fronting")
    landed, sent = in_files(pipelines.workspace, name), in_topic(cluster.bootstrap_servers, name)
    assert len(sent) == events
    assert np.array_equal(landed, sent)
    for number, span in KafkaCluster(cluster).offsets(name).items():
        offsets = landed[landed[:, 0] == number, 1]
        assert np.array_equal(offsets, np.arange(span.start, span.stop))


def test_killed_twice_under_traffic(
    make_workspace: Callable[[], Path], unique: Callable[[str], str]
) -> None:
    pipelines = Pipelines(load_workspace(make_workspace()))
    killed_again_and_again(pipelines, unique("killed"), 2, 60_000, per_s=6_000)


@pytest.mark.long
def test_killed_fifty_times_during_two_million_events(
    make_workspace: Callable[[], Path], unique: Callable[[str], str]
) -> None:
    pipelines = Pipelines(load_workspace(make_workspace()))
    killed_again_and_again(pipelines, unique("killed"), 50, 2_000_000, per_s=10_000)
