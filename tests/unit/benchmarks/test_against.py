"""A contest between two checkouts of headrace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from benchmarks.bench_lake_writer import LAKE_WRITER
from benchmarks.bench_router import ROUTER
from benchmarks.measure import Command
from benchmarks.model import Benchmark, Competitor, Run

if TYPE_CHECKING:
    from benchmarks.arena import Arena


def test_both_run_the_same_command_each_with_its_own_script(tmp_path: Path) -> None:
    command = Command(["/here/.venv/bin/router", "start", "--once"], tmp_path)

    def prepare(_arena: Arena, _folder: Path) -> Run:
        return Run(command, lambda _: None, lambda _: None, lambda: None, warm_rows=7)

    ours = Competitor("ours", "a command", "warm", prepare, 5, is_our_command=True)
    peer = Competitor("peer", "another", "cold", prepare)
    whole = Benchmark("router", "a title", "peer", "peer", (ours, peer), lambda _: 0)
    (pair,) = whole.against(tmp_path / "old")
    assert pair.name == "router-warm-against-old"
    assert [one.name for one in pair.competitors] == ["ours", "ours of old"]
    assert pair.baseline == "ours of old"
    nowhere = cast("Arena", None)
    first, second = (one.prepare(nowhere, tmp_path) for one in pair.competitors)
    assert first.command == command
    script = tmp_path / "old" / ".venv" / "bin" / "router"
    assert second.command.argv == [str(script), "start", "--once"]
    assert second.warm_rows == 7


def test_what_needs_no_command_of_ours_stays_out() -> None:
    names = [pair.competitors[0].name for pair in LAKE_WRITER.against(Path("before"))]
    assert names == ["headrace", "headrace warm"]


def test_a_contest_without_some_keeps_the_baseline_and_ours() -> None:
    left = ROUTER.without(["headrace", ROUTER.baseline, "Kafka Streams", "byte copy"])
    names = [one.name for one in left.competitors]
    assert {"headrace", ROUTER.baseline} <= set(names)
    assert not {"Kafka Streams", "byte copy"} & set(names)
    assert ("headrace", "Kafka Streams") not in left.pairs
    assert left.pairs
    assert all(set(pair) <= set(names) for pair in left.pairs)
