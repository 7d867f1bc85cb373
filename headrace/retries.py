"""Trying again what failed for now: later each time, and not at the same moment as others."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import stamina

if TYPE_CHECKING:
    from collections.abc import Callable

    On: TypeAlias = type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], bool]

T = TypeVar("T")
LONGEST_WAIT_S: Final = 60.0


def retry(do: Callable[[], T], on: On, attempts: int, first_wait_s: float) -> T:
    """Return what `do` returns; an error of these kinds is raised after the last attempt."""
    caller = stamina.RetryingCaller(
        attempts=attempts,
        timeout=None,
        wait_initial=first_wait_s,
        wait_max=LONGEST_WAIT_S,
        wait_jitter=first_wait_s,
    )
    return caller(on, do)


def pause_s(failures: int, first_s: float) -> float:
    """Return how long to wait after so many failures in a row, for what must not block meanwhile."""
    whole_s: float = min(LONGEST_WAIT_S, first_s * 2 ** (failures - 1))
    return whole_s * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
