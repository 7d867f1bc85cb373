"""Router and lake writer on a standalone cluster: two workers of one core each, and one."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.bench_lake_writer import landed_by
from benchmarks.bench_router import routed_by
from benchmarks.model import Benchmark, Competitor, Run
from benchmarks.spark_workers import standalone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from benchmarks.arena import Arena


def _on(
    workers: int, prepare: Callable[[str, Arena, Path], Run], arena: Arena, folder: Path
) -> Run:
    """Start a cluster for one run; it ends with it."""
    with ExitStack() as held:
        run = prepare(held.enter_context(standalone(folder, workers)), arena, folder)
        cluster = held.pop_all()

    def clean_up() -> None:
        with cluster:
            run.clean_up()

    return replace(run, clean_up=clean_up)


def _contest(name: str, title: str, prepare: Callable[[str, Arena, Path], Run]) -> Benchmark:
    return Benchmark(
        name=name,
        title=f"{title}, on a standalone cluster",
        baseline="one worker",
        limit="one worker",
        competitors=(
            Competitor("two workers", "a core each", "cold", partial(_on, 2, prepare)),
            Competitor("one worker", "of one core", "cold", partial(_on, 1, prepare)),
        ),
        load=lambda arena: arena.loaded.rows,
    )


ROUTER_WORKERS = _contest(
    "router-workers", "one JSON topic into another: half of it, five of nine fields", routed_by
)
LAKE_WRITER_WORKERS = _contest(
    "lake_writer-workers", "one JSON topic into an Iceberg table", landed_by
)
