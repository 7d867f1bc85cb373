"""Real signals, to this very process."""

from __future__ import annotations

import os
import signal

import pytest

from headrace.signals import Drain
from tests.limits import LIMIT_S


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with Drain() as drain:
        assert not drain.requested
        os.kill(os.getpid(), number)
        assert drain.wait(LIMIT_S)
        assert drain.requested
    assert signal.getsignal(number) is before


def test_a_second_ctrl_c_insists_and_a_second_sigterm_does_not() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Drain() as drain:
        for number in (signal.SIGTERM, signal.SIGTERM):
            os.kill(os.getpid(), number)
            assert drain.wait(LIMIT_S)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_nobody_asked() -> None:
    with Drain() as drain:
        assert not drain.wait(0.0)
