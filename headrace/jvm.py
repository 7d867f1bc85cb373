"""Whether the JVM behind a session has ended, told by what a call into it raises."""

from __future__ import annotations

from py4j.protocol import (  # type: ignore[import-untyped]  # it ships no types
    Py4JError,
    Py4JNetworkError,
)


def has_ended(problem: BaseException | None) -> bool:
    """Whether a call failed because nobody answers it any more.

    A call whose answer was cut off raises py4j's plain error; one that Java refused has its trace.
    """
    if isinstance(problem, ConnectionError | Py4JNetworkError):
        return True
    return type(problem) is Py4JError and "Trace:" not in str(problem)
