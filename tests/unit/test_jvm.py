from __future__ import annotations

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]

from headrace.errors import Transient
from headrace.jvm import failures


@pytest.mark.parametrize(
    "problem",
    [
        ConnectionRefusedError(111, "Connection refused"),
        Py4JNetworkError("Answer from Java side is empty"),
        Py4JError("An error occurred while calling o92.isActive"),
    ],
)
def test_nobody_answers(problem: Exception) -> None:
    assert failures.has_ended(problem)


@pytest.mark.parametrize(
    "problem",
    [
        None,
        Transient("no"),
        Py4JError("An error occurred while calling o92.nothing. Trace:\npy4j.Py4JException: no"),
    ],
)
def test_an_answer_that_is_an_error_is_an_answer(problem: Exception | None) -> None:
    assert not failures.has_ended(problem)
