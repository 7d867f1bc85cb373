"""`python -m benchmarks.scale`: the three orders on up to 1,000 readers."""

from __future__ import annotations

import tempfile
from pathlib import Path

import rich_click as click

from backfill.plan.steps import STEP_LIMITS
from benchmarks.measure import ROOT
from benchmarks.scale.a_day import (
    MINUTE_US,
    TABLES,
    in_any_order,
    in_bounded_order,
    in_strict_order,
)
from benchmarks.scale.measure_cost import unit_and_mib_s
from benchmarks.scale.picture import as_svg
from benchmarks.scale.simulate import Cost, replay_s, speed_ups
from headrace.cli.command import run

READERS = (1, 2, 4, 8, 16, 32, 64, 125, 250, 500, 1_000)
ROUNDS = 5
PICTURE = ROOT / "docs" / "images" / "replay-scale.svg"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--step-ms",
    default=100.0,
    show_default=True,
    help="What a step costs however much it holds.",
)
@click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    default=PICTURE,
    help="Where the picture goes. [default: docs/images/replay-scale.svg]",
)
def scale(*, step_ms: float, picture: Path) -> int:
    """Simulate the replay of a day on 1 to 1,000 readers, in each of the orders.

    The day is planned by the planner itself. What a reader costs is measured here, by reading
    files of two sizes; that readers do not get into each other's way is assumed.
    """
    with tempfile.TemporaryDirectory() as folder:
        cost = Cost(*unit_and_mib_s(Path(folder), ROUNDS), step_ms / 1000)
    window_us = 15 * MINUTE_US
    orders = {
        "any": in_any_order(),
        "bounded, 15 min": in_bounded_order(window_us),
        "bounded, 1 min": in_bounded_order(MINUTE_US),
        f"bounded, {STEP_LIMITS.max_rows // 10**6} M rows a step": in_bounded_order(
            window_us, STEP_LIMITS
        ),
        "strict, 15 min": in_strict_order(window_us),
    }
    files = sum(table.minutes * table.files_a_minute for table in TABLES)
    rows = sum(step.rows for step in orders["any"])
    click.echo(
        f"{files:,} files, {rows / 1e9:.1f} billion rows; a unit {cost.unit_s * 1000:.1f} ms,"
        f" a MiB {cost.mib_s * 1000:.1f} ms, a step {step_ms:g} ms"
    )
    click.echo("| readers | " + " | ".join(orders) + " |")
    click.echo("| ---: |" + " ---: |" * len(orders))
    found = {name: speed_ups(steps, cost, READERS) for name, steps in orders.items()}
    for number, count in enumerate(READERS):
        cells = (f"{values[number]:,.1f}" for values in found.values())
        click.echo(f"| {count:,} | " + " | ".join(cells) + " |")
    for name, steps in orders.items():
        alone_h = replay_s(steps, cost, 1) / 3600
        click.echo(f"{name}: {len(steps):,} steps, one reader takes {alone_h:.1f} h", err=True)
    picture.write_text(as_svg("A day replayed: how much faster", READERS, found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    run(scale, "python -m benchmarks.scale")
