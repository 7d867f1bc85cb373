"""A hybrid source killed in its history, at the hand-over and live: each record once, in order."""

from __future__ import annotations

from collections import Counter
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

LANDED, LIVE = 600, 300


def kill_when(app: HybridProcess, count: int) -> None:
    """Run until so many rows came out, then kill the process with all it has started."""
    with app.running() as process:
        wait_until(lambda: process.poll() is not None or app.count() >= count, LONG_LIMIT_S)
        assert process.poll() is None, app.said()
    assert app.count() >= count, app.said()


@pytest.mark.long
def test_killed_in_every_phase_it_gives_each_record_once(
    spark: SparkSession, workspace: Workspace, unique: Callable[[str], str]
) -> None:
    pipelines, name = Pipelines(workspace), unique("killed_hybrid")
    pipelines.make_topic(name, PARTITIONS)
    pipelines.send(name, records(range(LANDED)))
    pipelines.land(spark, pipelines.table(name, name))
    pipelines.send(name, records(range(LANDED, LANDED + LIVE // 2)))
    # A step for about twenty seconds of the history.
    app = HybridProcess(pipelines, name, PLACES, "20s", order="bounded", name=name)
    for count in (LANDED // 2, LANDED + 1):
        kill_when(app, count)
    pipelines.send(name, records(range(LANDED + LIVE // 2, LANDED + LIVE)))
    ended = run("headrace", "run", "-c", app.file, "--once", cwd=app.root)
    assert ended.returncode == 0, ended.stderr
    seen = app.lines()
    assert Counter(one["id"] for one in seen) == dict.fromkeys(range(LANDED + LIVE), 1)
    for number in range(PARTITIONS):
        live = [one["place"] for one in seen if one["part"] == number and one["id"] >= LANDED]
        assert live == sorted(live)
