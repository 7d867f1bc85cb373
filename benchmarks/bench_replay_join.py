"""A join of two streams of the past, ten impressions for a play: its time, and its state."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from benchmarks.checks import METADATA, require
from benchmarks.events import END_EXCLUSIVE, SPAN, START
from benchmarks.model import Benchmark, Competitor, Run
from benchmarks.peer import peer_command, said, said_work_s, spark_settings
from benchmarks.replay_tables import (
    FILES,
    NAMESPACE,
    SPAN_US,
    START_US,
    arrivals_us,
    home,
    make_table,
    metadata,
)
from headrace.contract import with_metadata
from headrace.schema.arrow import to_arrow
from headrace.schema.model import Field, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.arena import Arena
    from benchmarks.measure import Measured

TABLES: Final = (f"lake.{NAMESPACE}.impressions", f"lake.{NAMESPACE}.plays")
IMPRESSIONS_OF_A_PLAY: Final = 10
PLAY_FILES: Final = FILES // IMPRESSIONS_OF_A_PLAY
# A play follows its impression within half an hour; live, a record may come a minute late.
MINUTES, LATE_MINUTES, THRESHOLD_MINUTES = 30, 1, 15
MOST_DELAY_US = 30_000_000
DELAY_MINUTES = LATE_MINUTES + THRESHOLD_MINUTES
IMPRESSION = Record(
    "headrace.benchmarks.Impression",
    (
        Field("id", Primitive.LONG, nullable=False),
        Field("user_id", Primitive.STRING, nullable=False),
        Field("at", Primitive.TIMESTAMP_MICROS, nullable=False),
    ),
)
PLAY = Record(
    "headrace.benchmarks.Play",
    (
        Field("impression_id", Primitive.LONG, nullable=False),
        Field("at", Primitive.TIMESTAMP_MICROS, nullable=False),
    ),
)


def make(arena: Arena) -> int:
    """Make both tables; returns their rows."""
    each = _each(arena)
    make_table(
        arena, TABLES[0], IMPRESSION, (impressions_of(part, each) for part in range(FILES)), each
    )
    plays = _plays(arena)
    make_table(arena, TABLES[1], PLAY, plays_in_files(plays), each)
    return FILES * each + len(plays)


def inside_window(impressions: int, plays: int) -> float:
    """Return how many records a join has to keep at the least, at the end of a step.

    An impression is kept until no play of it can come any more, a play until its impression can
    not: the watermark lies behind by the delay, and is that of the step before.
    """
    behind = DELAY_MINUTES + THRESHOLD_MINUTES
    kept_minutes = impressions * (MINUTES + behind) + plays * behind
    return kept_minutes / (SPAN.total_seconds() / 60)


def competitor(how: str, arena: Arena, folder: Path) -> Run:
    """Prepare a join: `aligned`, `unaligned` or as a `batch`."""
    settings = {
        "how": how,
        "tables": TABLES,
        "delay": f"{DELAY_MINUTES} minutes",
        "minutes": MINUTES,
        "threshold": f"{THRESHOLD_MINUTES}min",
        "start": START.isoformat(),
        "end": END_EXCLUSIVE.isoformat(),
        "workspace": str(home(arena)),
        "run": folder.name,
        "checkpoint": str(folder / "checkpoint"),
        "spark": spark_settings(home(arena), folder.name),
    }
    return Run(
        peer_command("replay_join", settings, folder),
        check=partial(_complete, how, arena),
        work_s=said_work_s,
        clean_up=lambda: None,
        facts=partial(_facts, arena),
    )


def _complete(how: str, arena: Arena, measured: Measured) -> None:
    if how == "unaligned":
        # What it loses is what there is to see.
        return
    require("matches", int(said(measured)["matches"]), _plays(arena).num_rows)
    require("rows dropped as late", int(said(measured).get("dropped", 0)), 0)


def _facts(arena: Arena, measured: Measured) -> dict[str, float]:
    told = said(measured)
    shown = ("matches", "dropped")
    facts: dict[str, float] = {name: float(told[name]) for name in shown if name in told}
    if "peak_state_rows" in told:
        inside = inside_window(FILES * _each(arena), _plays(arena).num_rows)
        facts["peak state rows"] = float(told["peak_state_rows"])
        facts["of those inside the window"] = round(told["peak_state_rows"] / inside, 3)
    return facts


def _plays(arena: Arena) -> pa.Table:
    return plays_of(_each(arena), arena.seed)


def _each(arena: Arena) -> int:
    """Return how many impressions a file has: with the plays as many events as asked for."""
    return arena.events * IMPRESSIONS_OF_A_PLAY // (IMPRESSIONS_OF_A_PLAY + 1) // FILES


def shown_us(arrived_us: np.ndarray, first: int) -> np.ndarray:
    """Return when impressions were shown, the same for the same number."""
    numbers = first + np.arange(len(arrived_us))
    return np.asarray(arrived_us - numbers * 7_919 % MOST_DELAY_US)


def impressions_of(part: int, rows: int) -> pa.Table:
    """Return the impressions of a file."""
    arrived_us = arrivals_us(part, rows)
    numbers = part * rows + np.arange(rows)
    columns = {
        "id": pa.array(numbers),
        "user_id": pa.array(numbers % 50_000).cast(pa.string()),
        "at": pa.array(shown_us(arrived_us, part * rows)),
        METADATA: metadata(arrived_us, part * rows),
    }
    return pa.table(columns).cast(to_arrow(with_metadata(IMPRESSION)))


def plays_of(each: int, seed: int) -> pa.Table:
    """Return the plays in the order of their arrival: every tenth impression has one."""
    chance = np.random.default_rng(seed)
    arrived = np.concatenate([arrivals_us(part, each) for part in range(FILES)])
    chosen = np.arange(0, len(arrived), IMPRESSIONS_OF_A_PLAY)
    after_us = chance.integers(0, MINUTES * 60_000_000, len(chosen))
    played_us = shown_us(arrived, 0)[chosen] + after_us
    arrived_us = played_us + chance.integers(0, MOST_DELAY_US, len(chosen))
    inside = (arrived_us >= START_US) & (arrived_us < START_US + SPAN_US)
    order = np.argsort(arrived_us[inside], kind="stable")
    found = (values[inside][order] for values in (chosen, played_us, arrived_us))
    return pa.table(dict(zip(("impression_id", "at", "arrived"), found, strict=True)))


def plays_in_files(plays: pa.Table) -> Iterator[pa.Table]:
    """Yield the plays, file by file."""
    each = -(-plays.num_rows // PLAY_FILES)
    for first in range(0, plays.num_rows, each):
        part = plays.slice(first, each)
        place = metadata(part["arrived"].to_numpy(), first)
        whole = part.drop_columns(["arrived"]).append_column(METADATA, place)
        yield whole.cast(to_arrow(with_metadata(PLAY)))


REPLAY_JOIN = Benchmark(
    name="replay-join",
    title="impressions joined with plays, ten to one, out of the lake",
    baseline="batch join",
    limit="",
    competitors=(
        Competitor("aligned", "stream-stream, 15 min", "cold", partial(competitor, "aligned")),
        Competitor("batch join", "of the same tables", "cold", partial(competitor, "batch")),
        Competitor(
            "unaligned",
            "stream-stream over Spark's own Iceberg streams",
            "cold",
            partial(competitor, "unaligned"),
        ),
    ),
    load=make,
)
