"""A hybrid source that hands over while the topic is written to: nothing lost, doubled or turned."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from headrace.embedded.process import wait_until
from tests.end_to_end.commands import run
from tests.faults.hybrid_process import PLACES, HybridProcess
from tests.integration.app.hybrid_events import PARTITIONS, records
from tests.integration.pipelines import Pipelines
from tests.limits import LONG_LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from headrace.config.workspace.workspace import Workspace

EVERY_MS = 10
A_MINUTE = 60_000 // EVERY_MS
PIECE = 5_000
BETWEEN_S = 0.25
COUNTS = "SELECT count(*) AS events FROM events GROUP BY window(at, '1 minute')"


class Traffic:
    """Sends records piece by piece, until all are sent."""

    def __init__(self, pipelines: Pipelines, topic: str, numbers: range) -> None:
        self._pipelines, self._topic, self._numbers = pipelines, topic, numbers
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> Traffic:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def finish(self) -> None:
        """Wait until all is sent."""
        self._thread.join()

    def _send(self) -> None:
        for begin in range(self._numbers.start, self._numbers.stop, PIECE):
            piece = range(begin, min(begin + PIECE, self._numbers.stop))
            self._pipelines.send(self._topic, records(piece, EVERY_MS))
            if self._over.wait(BETWEEN_S):
                return


@pytest.mark.long
@pytest.mark.parametrize("each", [1_000_000])
def test_handed_over_in_the_middle_of_traffic(
    spark: SparkSession, workspace: Workspace, unique: Callable[[str], str], each: int
) -> None:
    pipelines, topic = Pipelines(workspace), unique("busy_hybrid")
    pipelines.make_topic(topic, PARTITIONS)
    pipelines.send(topic, records(range(each), EVERY_MS))
    places = HybridProcess(pipelines, topic, PLACES, "5min", order="strict", name=f"{topic}_places")
    counts = HybridProcess(
        pipelines, topic, COUNTS, "5min", order="bounded", name=f"{topic}_counts"
    )
    with Traffic(pipelines, topic, range(each, 2 * each)) as traffic:
        landed = pipelines.land(spark, pipelines.table(topic, topic))
        with ExitStack() as stack:
            started = [stack.enter_context(app.running()) for app in (places, counts)]
            traffic.finish()
            wait_until(lambda: places.count() >= 2 * each or started[0].poll() is not None, 600)
            for process, app in zip(started, (places, counts), strict=True):
                process.send_signal(signal.SIGTERM)
                assert process.wait(LONG_LIMIT_S) == 0, app.said()
    assert each <= landed.rows < 2 * each
    for app in (places, counts):
        ended = run("headrace", "run", "-c", app.file, "--once", cwd=app.root)
        assert ended.returncode == 0, ended.stderr
    in_order(places, each)
    # The hand-over is within a window, and no window has more or less than its minute.
    counted = [one["events"] for one in counts.lines()]
    assert set(counted) == {A_MINUTE}
    assert len(counted) >= 2 * each // A_MINUTE - 10


def in_order(app: HybridProcess, each: int) -> None:
    seen = app.lines()
    assert sorted(one["id"] for one in seen) == list(range(2 * each))
    for number in range(PARTITIONS):
        found = [one["place"] for one in seen if one["part"] == number]
        assert found == list(range(2 * each // PARTITIONS))
