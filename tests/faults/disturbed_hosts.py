"""Hosts that are cut off, and lose their power, while each has a task in mid-work."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.far_workspace import Command
    from tests.faults.router_process import Traffic
    from tests.hosts import Host, Hosts
    from tests.spark_pages import SparkPages, SparkTask

CUT_OFF_S: Final = 10.0
# A task's records take some seconds at this pace; with so many bytes a host has a part of them.
SLOW_KBIT_PER_S: Final = 512
PART_BYTES: Final = 96 * 2**10
# So many records are several times that for each host, compressed.
PORTION: Final = 100_000


@dataclass
class Disturbed:
    """A command whose hosts are disturbed while each has a task in mid-work."""

    hosts: Hosts
    pages: SparkPages
    running: Command
    traffic: Traffic
    done: Callable[[], int]

    def disturb(self) -> None:
        """Cut a host off for ten seconds; for longer than Spark waits; take the other's power."""
        first, second = self.hosts.hosts[-2:]
        # Slow hosts would be long over the jars.
        self.traffic.allow(PORTION)
        self.running.wait_for(lambda: self.done() > 0)
        # Shorter than Spark's patience: the task goes on where it was, when the network is back.
        task = self.caught_on(first)
        first.cut_off()
        self.require_running(first, task)
        time.sleep(CUT_OFF_S)
        self.require_running(first, task)
        first.join()
        first.speed_up()
        self.running.wait_for(lambda: self.pages.status_of(task)[0] == "SUCCESS")
        # For so long that Spark does not wait. The host comes back, and with it the old task.
        task = self.caught_on(first)
        first.cut_off()
        self.require_lost(task)
        first.join()
        first.speed_up()
        task = self.caught_on(second)
        self.hosts.power_off(second)
        self.require_lost(task)
        self.hosts.start_workers(1)

    def caught_on(self, host: Host) -> SparkTask:
        """Wait until a task on a host is in mid-work: it runs, and has a part of its records."""
        host.slow_down(SLOW_KBIT_PER_S)
        self.traffic.allow(PORTION)
        began: dict[SparkTask, int] = {}
        caught: list[SparkTask] = []

        def in_mid_work() -> bool:
            running = list(self.pages.running_on(host.address))
            for task in running:
                began.setdefault(task, host.received_bytes)
                if host.received_bytes - began[task] >= PART_BYTES:
                    caught.append(task)
            if not running and self.traffic.rests() and self.done() >= self.traffic.sent:
                # It went by in batches that were too small to be caught.
                assert self.traffic.sent < self.traffic.number
                self.traffic.allow(PORTION)
            return bool(caught)

        self.running.wait_for(in_mid_work)
        return caught[0]

    def require_running(self, host: Host, task: SparkTask) -> None:
        """Require that it was in flight when the host was cut off: Spark has no answer of it."""
        assert task in self.pages.running_on(host.address), self.pages.status_of(task)

    def require_lost(self, task: SparkTask) -> None:
        """Wait until Spark gives up the executor of a host, and this task with it."""
        self.running.wait_for(lambda: self.pages.status_of(task)[0] != "RUNNING")
        status, why = self.pages.status_of(task)
        assert (status, "ExecutorLostFailure" in why) == ("FAILED", True), why
