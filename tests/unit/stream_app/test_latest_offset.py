"""Where the next batch ends: Spark 4.1 asks with nothing, Spark 4.2 with a start and a limit."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from backfill.apps.spark_source import StepReader
from backfill.plan.period import Period
from backfill.plan.plan import Plan
from backfill.plan.steps import Step
from headrace.application.live_source import LiveReader
from headrace.application.live_task import LivePlan
from headrace.config.workspace.workspace import Cluster
from headrace.contract import RAW_SCHEMA
from headrace.kafka.groups import ShownOffsets
from headrace.kafka.leaders import TopicEnds
from headrace.landing.topic_values import Values
from headrace.records.hygiene.rules import HygieneRules
from stream_app.follow.source import FollowReader
from stream_app.hybrid_source import HybridReader

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamReader

TABLE = "lake.a.b"
STEPS = 2
HANDOVER = {"t": {"0": 5}}
LIMIT = object()


class Live(LiveReader):
    """The live half, whose topic holds so much."""

    def __init__(self) -> None:
        values = Values("v", "raw", RAW_SCHEMA, HygieneRules(), None)
        plan = LivePlan("app.live", ("t",), {}, None, values, {}, Path(), None)
        super().__init__(plan, Cluster("c", "127.0.0.1:1", None, {}), "earliest", None, fresh=True)

    def _held(self) -> dict[str, TopicEnds]:
        return {"t": TopicEnds({0: range(9)}, {})}

    def _identities(self) -> dict[str, str]:
        return {"t": "an id"}


def hybrid(folder: Path) -> HybridReader:
    steps = tuple(Step(number, number, ()) for number in range(STEPS))
    Plan(Period(0, 100), (), "bounded", 5, (), steps).write(folder / "plan.jsonl")
    chosen = {"plan": str(folder / "plan.jsonl"), "table": TABLE}
    return HybridReader(StepReader(chosen), Live(), HANDOVER, fresh=True)


@pytest.mark.parametrize("reader", [StepReader, LiveReader, HybridReader, FollowReader])
def test_every_source_takes_what_either_spark_gives(reader: type[DataSourceStreamReader]) -> None:
    asked = inspect.signature(reader.latestOffset)
    asked.bind(None)
    asked.bind(None, {}, LIMIT)


def test_a_hybrid_source_goes_by_the_start_that_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # There is no cluster to tell; to try takes the client a quarter of a minute.
    monkeypatch.setattr(ShownOffsets, "show", lambda *_: None)
    told, untold = hybrid(tmp_path), hybrid(tmp_path)
    at: dict[str, Any] = told.initialOffset()
    ends = []
    for _ in range(STEPS + 1):
        end = told.latestOffset(at, LIMIT)
        assert untold.latestOffset() == end
        untold.partitions(at, end)
        ends.append(end)
        at = end
    assert [end["past"]["step"] for end in ends] == [1, 2, 2]
    assert [end["live"] for end in ends] == [HANDOVER, HANDOVER, {"t": {"0": 9}}]
