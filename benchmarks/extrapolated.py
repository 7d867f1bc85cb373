"""Replays of an example's past: what each used, and what a billion events a day would take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from benchmarks.measure import Measured

DAY_HOURS: Final = 24
EVENTS_OF_A_PLAY: Final = 11
A_BILLION: Final = 1_000_000_000
ROWS_OF_A_STEP: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Past:
    """So many plays, and ten times as many impressions, over so many hours."""

    name: str
    hours: int
    plays: int
    # What a user watches in an hour is the same in both pasts.
    users: int

    @property
    def events(self) -> int:
        """How many records the two topics get, without the last of each."""
        return self.plays * EVENTS_OF_A_PLAY


@dataclass(frozen=True, slots=True)
class Replayed:
    """One replay: what it used, and into how many steps it was cut."""

    past: Past
    app: str
    measured: Measured
    work_s: float
    steps: int
    rows_out: int

    @property
    def times_real_time(self) -> float:
        """How many seconds of the past went by in one."""
        return self.past.hours * 3_600 / self.measured.wall_s

    def shown(self) -> str:
        """Return a line of the report."""
        used = self.measured
        return (
            f"{self.app}, {self.past.events:,} events of {self.past.hours} h: wall"
            f" {used.wall_s:.1f} s ({self.times_real_time:.0f} x real time), in Spark's batches"
            f" {self.work_s:.1f} s, CPU {used.cpu_s:.1f} s, others' CPU {used.elsewhere_cpu_s:.1f}"
            f" s, steps {self.steps}, rows out {self.rows_out:,}"
        )


@dataclass(frozen=True, slots=True)
class Billion:
    """What a day of a billion events would take: extrapolated, not measured."""

    event_cpu_s: float
    step_cpu_s: float
    steps: int

    @property
    def cpu_s(self) -> float:
        """The work of all events, and of all steps however much they hold."""
        return A_BILLION * self.event_cpu_s + self.steps * self.step_cpu_s


def report(app: str, day: Replayed, hour: Replayed, idle: Replayed) -> dict[str, object]:
    """Print what a billion would take; returns the figures."""
    facts: dict[str, object] = {
        "wall_s": round(day.measured.wall_s, 1),
        "cpu_s": round(day.measured.cpu_s, 1),
        "times_real_time": round(day.times_real_time),
    }
    billion = extrapolated(day, hour, idle)
    if billion is None:
        print(f"{app}: what an event costs is lost in the noise, nothing is extrapolated")
        return facts
    hours = billion.cpu_s / 3_600
    print(
        f"{app}, EXTRAPOLATED, not measured: a day of {A_BILLION:,} events takes {hours:.1f}"
        f" CPU-hours, so {hours / 2:.1f} h on two cores that never wait"
        f" ({DAY_HOURS / (hours / 2):.1f} x real time), from {billion.event_cpu_s * 1e6:.1f} us of"
        f" CPU an event and {billion.step_cpu_s:.2f} s for each of {billion.steps} steps. Taken"
        " for granted: an event costs the same when the state is a thousand times as large"
    )
    return {**facts, "extrapolated_billion_cpu_h": round(hours, 2)}


def extrapolated(day: Replayed, hour: Replayed, idle: Replayed) -> Billion | None:
    """Tell the cost of an event from that of a step; None where there is no telling.

    Two pasts that differ by their events alone have the same steps, and the same start of Spark.
    """
    more = hour.past.events - idle.past.events
    event_s = (hour.measured.cpu_s - idle.measured.cpu_s) / more
    step_s = (day.measured.cpu_s - hour.measured.cpu_s) / (day.steps - hour.steps)
    if step_s <= 0 or event_s <= 0:
        return None
    # A step ends with the threshold, or with the most rows that one may hold.
    each = math.ceil(A_BILLION / day.steps / ROWS_OF_A_STEP)
    return Billion(event_s, step_s, day.steps * each)
