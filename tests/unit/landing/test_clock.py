from __future__ import annotations

from headrace.landing.completeness import Completeness, NeverAhead

S = 1_000_000_000
NOON = 43_200


class Clocks:
    """A machine's clock, which somebody sets, and a steady one."""

    def __init__(self) -> None:
        self.machine_s, self.steady_s = NOON, 100

    def goes_on(self, seconds: int) -> None:
        self.machine_s += seconds
        self.steady_s += seconds

    def clock(self) -> NeverAhead:
        return NeverAhead(lambda: self.machine_s * S, lambda: self.steady_s * S)


def seconds(clock: NeverAhead) -> int:
    return clock.now_us() // 1_000_000 - NOON


def test_it_goes_on_as_the_machine_does() -> None:
    clocks = Clocks()
    clock = clocks.clock()
    assert seconds(clock) == 0
    clocks.goes_on(10)
    assert seconds(clock) == 10


def test_a_jump_ahead_is_not_followed_and_one_back_is() -> None:
    clocks = Clocks()
    clock = clocks.clock()
    clocks.machine_s += 3_600
    clocks.goes_on(10)
    assert seconds(clock) == 10
    clocks.machine_s -= 3_600
    assert seconds(clock) == 10
    clocks.machine_s -= 60
    assert seconds(clock) == -50
    # Set right again, which nobody can tell from a jump ahead.
    clocks.machine_s += 60
    clocks.goes_on(5)
    assert seconds(clock) == -45


def test_what_an_earlier_clock_said_of_a_time_to_come_is_not_known() -> None:
    said = Completeness(time_us=100)
    assert said.not_after(100) == said
    assert said.not_after(99) == Completeness()
