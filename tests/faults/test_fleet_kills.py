"""`headrace up` and its workers, killed while records come to all streams: none is lost, none is there twice."""

from __future__ import annotations

import contextlib
import random
from contextlib import ExitStack
from typing import TYPE_CHECKING

import psutil
import pytest
import structlog

from headrace.embedded.broker import Broker, BrokerOptions
from headrace.embedded.process import wait_until
from tests.faults.fleet_process import Events, Ground, Up
from tests.faults.router_process import are_gone
from tests.limits import LONG_LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SEED = 20_261_120
log = structlog.get_logger(__name__)


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(tmp_path / "broker", BrokerOptions(heap_mb=512)) as running:
        yield running


def test_killed_under_traffic(own_broker: Broker, tmp_path: Path) -> None:
    kill_again_and_again(own_broker, tmp_path, streams=3, tables=1, kills=1, per_s=40)


@pytest.mark.long
def test_ten_kills_of_twenty_streams_and_of_workers(own_broker: Broker, tmp_path: Path) -> None:
    kill_again_and_again(own_broker, tmp_path, streams=20, tables=4, kills=10, per_s=40)


def kill_again_and_again(
    broker: Broker, folder: Path, *, streams: int, tables: int, kills: int, per_s: int
) -> None:
    names = [f"s{number:02}" for number in range(streams)]
    servers = broker.bootstrap_servers
    ground = Ground(folder / "ws", servers, names, names[:tables])
    ground.make()
    chance = random.Random(SEED)
    orphans: list[psutil.Process] = []
    with ExitStack() as held, Events(servers, names, per_s) as events:
        for number in range(kills):
            up = Up(ground, number)
            held.callback(up.clear)
            if number % 2 == 0:
                # A worker first: all jobs of its batch get over that.
                kill_worker(up, chance)
            # At the next start, in the first batches, or later.
            meet(up, events, chance, chance.randrange(3) * streams)
            orphans += up.kill()
            log.info("killed headrace up", number=number, batches=up.batches())
        events.end()
        last = Up(ground, kills)
        held.callback(last.clear)
        last.wait_for(lambda: "all files are at work" in last.said)
        assert wait_until(lambda: not ground.flaws(events.sent), LONG_LIMIT_S), (
            ground.flaws(events.sent),
            last.said[-4000:],
        )
        last.stop()
    assert ground.flaws(events.sent) == {}
    ground.are_audited()
    assert are_gone(orphans), orphans
    log.info("counted", records=events.sent.total(), lost=0, doubled=0)


def kill_worker(up: Up, chance: random.Random) -> None:
    up.wait_for(lambda: up.batches() > 0 and bool(up.workers()))
    found = up.workers()
    with contextlib.suppress(psutil.NoSuchProcess):
        chance.choice(found).kill()
    before = up.batches()
    up.wait_for(lambda: up.batches() > before)
    log.info("killed a worker", of=len(found))


def meet(up: Up, events: Events, chance: random.Random, batches: int) -> None:
    """Wait for so many batches, and for some moment after them, told by what was sent."""
    begun = up.batches()
    up.wait_for(lambda: up.batches() - begun >= batches)
    enough = events.sent.total() + chance.randrange(20) * len(events.names)
    up.wait_for(lambda: events.sent.total() >= enough)
