"""Rates, with a clock that the test moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill.run.pace import Adaptive, Drained, Pace, Rate, Throttle, TokenBucket, parse_rate
from headrace.errors import UsageError


class Clock:
    """Time passes when somebody waits, or when the target is slow."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def wait(self, seconds: float) -> bool:
        self.now_s += seconds
        return False


@given(st.lists(st.floats(0, 5), max_size=30), st.floats(1, 1_000), st.integers(1, 500))
def test_over_any_time_no_more_passes_than_the_rate_and_what_a_second_saves_up(
    pauses: list[float], per_s: float, amount: int
) -> None:
    bucket, now, taken = TokenBucket(per_s, 0.0), 0.0, 0
    for pause in pauses:
        now += pause
        now += bucket.take(amount, now)
        taken += amount
        assert taken <= per_s * (now + 1) + amount * 1e-6


def test_a_clock_that_goes_back_gives_nothing_away() -> None:
    bucket = TokenBucket(10, 100.0)
    bucket.take(1, 100.0)
    waited = bucket.take(10, 40.0)
    assert waited == pytest.approx(1.0)
    assert bucket.take(10, 100.0) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("rate", "seconds"), [(Rate(1_000, "rows"), 5), (Rate(50_000, "bytes"), 10)]
)
def test_rows_come_at_the_rate_in_small_pieces(rate: Rate, seconds: float) -> None:
    clock = Clock()
    pace = Pace(rate, clock, clock.wait)
    sent = [end - start for start, end in pace.pieces(5_000, 500_000)]
    assert sum(sent) == 5_000
    assert max(sent) <= 100
    assert clock.now_s == pytest.approx(seconds, abs=0.3)


def test_without_a_rate_nothing_waits_and_nothing_is_cut() -> None:
    clock = Clock()
    assert list(Pace(None, clock, clock.wait).pieces(9, 100)) == [(0, 9)]
    assert list(Pace(None, clock, clock.wait).pieces(0, 0)) == []
    assert clock.now_s == 0


def test_asked_to_end_while_it_waits_it_ends() -> None:
    pace = Pace(Rate(1, "rows"), Clock(), lambda _: True)
    with pytest.raises(Drained):
        list(pace.pieces(5, 5))


def test_it_halves_when_the_target_slows_and_rises_again_when_it_recovers() -> None:
    found = Adaptive()
    assert found.took(10_000, 1.0) is None
    assert found.took(10_000, 1.5) is None
    slowed = found.took(10_000, 10.0)
    assert slowed == pytest.approx(500)
    rates = [found.took(10_000, 1.0) for _ in range(20)]
    risen = [rate for rate in rates if rate is not None]
    assert risen == sorted(risen)
    assert rates[-1] is None


def test_a_slow_target_is_given_less_than_it_was_seen_to_take() -> None:
    clock = Clock()
    pace = Pace("auto", clock, clock.wait)
    for start, end in pace.pieces(10_000, 1):
        clock.now_s += (end - start) / 10_000
    began = clock.now_s
    for start, end in pace.pieces(200_000, 1):
        clock.now_s += (end - start) / 1_000
    busy = 200_000 / 1_000
    assert clock.now_s - began > 1.5 * busy


def test_a_few_rows_say_nothing_of_a_target() -> None:
    found = Adaptive()
    found.took(10_000, 0.1)
    assert found.took(20, 0.1) is None
    found.took(10_000, 10_000.0)
    assert found.took(10_000, 10_000.0) == pytest.approx(1_000, rel=0.1)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        (None, None),
        ("auto", "auto"),
        ("5000", Rate(5_000, "rows")),
        ("0.5", Rate(0.5, "rows")),
        ("10MiB", Rate(10 * 2**20, "bytes")),
        ("10MiB/s", Rate(10 * 2**20, "bytes")),
    ],
)
def test_what_is_a_rate(text: str | None, rate: object) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["0", "-5", "fast", "10 minutes", "", "0MiB"])
def test_what_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="--rate-limit"):
        parse_rate(text)


def test_each_step_waits_for_the_rows_of_the_ones_before_it() -> None:
    clock = Clock()
    pace = Throttle(Rate(100, "rows"), clock, clock.wait)
    for _ in range(10):
        pace.before(500, 1)
        clock.now_s += 1
    # The rate lets 500 rows through in five seconds, of which a step takes one by itself.
    assert clock.now_s == pytest.approx(10 * 5 + 1, rel=0.05)


def test_a_step_may_be_counted_in_bytes() -> None:
    clock = Clock()
    pace = Throttle(Rate(2**20, "bytes"), clock, clock.wait)
    for _ in range(10):
        pace.before(1, 2**20)
    assert clock.now_s == pytest.approx(10, rel=0.05)


def test_steps_wait_when_a_sink_slows_and_no_longer_when_it_recovers() -> None:
    clock = Clock()
    pace = Throttle("auto", clock, clock.wait)

    def waited_s(step_s: float) -> float:
        before = clock.now_s
        pace.before(100_000, 1)
        passed = clock.now_s - before
        clock.now_s += step_s
        return passed

    assert [waited_s(1.0) for _ in range(5)] == [0] * 5
    slow = [waited_s(10.0) for _ in range(6)]
    assert slow[0] == 0
    assert all(one > 5 for one in slow[2:])
    again = [waited_s(1.0) for _ in range(60)]
    assert again[-20:] == [0] * 20


def test_a_small_step_says_nothing_of_a_sink() -> None:
    clock = Clock()
    pace = Throttle("auto", clock, clock.wait)
    for rows, step_s in ((500_000, 1.0), (10_000, 1.0), (500_000, 1.0), (500_000, 1.0)):
        pace.before(rows, 1)
        clock.now_s += step_s
    assert clock.now_s == 4


@pytest.mark.parametrize("text", ["5000", "0.5", "10MiB"])
def test_a_rate_is_read_as_it_was_written(text: str) -> None:
    rate = parse_rate(text)
    assert parse_rate(str(rate)) == rate
