from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backfill.run.measurements import DisorderMeter

_BATCHES = st.lists(st.integers(-50, 50), min_size=1, max_size=5)
_STEPS = st.lists(st.lists(_BATCHES, max_size=3), max_size=6)


def worst_pair(steps: list[list[list[int]]]) -> int:
    """Return the most by which a record lies behind one of an earlier step, pair by pair."""
    flat = [(n, time) for n, step in enumerate(steps) for batch in step for time in batch]
    return max((b - a for i, b in flat for j, a in flat if i < j), default=0)


@given(_STEPS)
def test_the_meter_finds_the_worst_pair(steps: list[list[list[int]]]) -> None:
    meter = DisorderMeter()
    for step in steps:
        meter.begin_step()
        for batch in step:
            meter.see(min(batch), max(batch))
    assert meter.max_disorder_us == max(0, worst_pair(steps))


@given(_STEPS, st.integers(0, 6))
def test_a_resumed_meter_finds_it_too(steps: list[list[list[int]]], cut: int) -> None:
    meter = DisorderMeter()
    for number, step in enumerate(steps):
        if number == cut:
            meter = DisorderMeter(meter.newest_us, meter.max_disorder_us)
        meter.begin_step()
        for batch in step:
            meter.see(min(batch), max(batch))
    assert meter.max_disorder_us == max(0, worst_pair(steps))
