from __future__ import annotations

from headrace.errors import Transient
from headrace.queries.streaming import explained


def test_a_machine_too_busy_to_begin_a_python_process_is_told() -> None:
    text = "Job aborted\nCaused by: SparkException: Python worker failed to connect back."
    told = explained("sessions", RuntimeError(text))
    assert isinstance(told, Transient)
    assert str(told).startswith("sessions stopped: a Python process did not start")
    assert "start it again" in told.advice
