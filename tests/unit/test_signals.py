"""Real signals, to this very process."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest

from headrace.log import FORMAT_VARIABLE
from headrace.signals import STOPPING, Drain
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


def test_a_signal_in_the_midst_of_a_wait_holds_nobody_up() -> None:
    with Drain() as drain:
        # As the main thread holds it for a moment at each begin and end of a wait.
        with drain._asked._cond:  # type: ignore[attr-defined]  # noqa: SLF001 - the very lock
            os.kill(os.getpid(), signal.SIGTERM)
            assert drain.requested
        assert drain.wait(LIMIT_S)


def test_nobody_asked() -> None:
    with Drain() as drain:
        assert not drain.wait(0.0)


def test_among_lines_of_json_the_answer_to_a_signal_is_one(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", sys.__stderr__)
    for form in ("json", "console"):
        monkeypatch.setenv(FORMAT_VARIABLE, form)
        with Drain() as drain:
            os.kill(os.getpid(), signal.SIGTERM)
            assert drain.wait(LIMIT_S)
    said, empty, shown = capfd.readouterr().err.splitlines()
    assert json.loads(said)["event"] == STOPPING
    assert (empty, shown) == ("", STOPPING)
