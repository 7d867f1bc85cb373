from __future__ import annotations

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]

from headrace import jvm
from headrace.errors import Transient


@pytest.mark.parametrize(
    "problem",
    [
        ConnectionRefusedError(111, "Connection refused"),
        Py4JNetworkError("Answer from Java side is empty"),
        Py4JError("An error occurred while calling o92.isActive"),
    ],
)
def test_nobody_answers(problem: Exception) -> None:
    assert jvm.has_ended(problem)


@pytest.mark.parametrize(
    "problem",
    [
        None,
        Transient("no"),
        Py4JError("An error occurred while calling o92.nothing. Trace:\npy4j.Py4JException: no"),
    ],
)
def test_an_answer_that_is_an_error_is_an_answer(problem: Exception | None) -> None:
    assert not jvm.has_ended(problem)
