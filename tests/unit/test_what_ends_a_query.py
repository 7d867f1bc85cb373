from __future__ import annotations

import pytest

from headrace.errors import Terminal, Transient
from headrace.queries.streaming import explained


def test_a_machine_too_busy_to_begin_a_python_process_is_told() -> None:
    text = "Job aborted\nCaused by: SparkException: Python worker failed to connect back."
    told = explained("sessions", RuntimeError(text))
    assert isinstance(told, Transient)
    assert str(told).startswith("sessions stopped: a Python process did not start")
    assert "start it again" in told.advice


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        (
            (
                'IOException: Cannot run program "./environment/bin/python": error=2, No such file\n'
                "Caused by: java.io.IOException: error=2, No such file or directory"
            ),
            'Cannot run program "./environment/bin/python"',
        ),
        (
            (
                "Error from python worker:\n  /usr/bin/python3: Error while finding module "
                "specification (ModuleNotFoundError: No module named 'headrace')"
            ),
            "No module named 'headrace'",
        ),
        (
            "Error from python worker:\n  headrace: this machine has no python3.11, for which",
            "this machine has no python3.11",
        ),
    ],
)
def test_a_machine_without_the_environment_is_told(text: str, lacks: str) -> None:
    told = explained("starts", RuntimeError(text))
    assert isinstance(told, Terminal)
    assert lacks in str(told)
    assert "headrace package" in told.advice
