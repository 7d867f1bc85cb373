"""How a job that was asked to end counts: as done, or as failed."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, NoReturn

import pytest

from headrace.errors import Transient
from headrace.queries.supervision import raise_failures, supervise
from headrace.signals import Drain

if TYPE_CHECKING:
    from headrace.queries.streaming import Job


def test_one_that_waits_for_its_next_try_when_asked_to_end_has_failed() -> None:
    tries = []

    def make() -> Job:
        tries.append(1)
        os.kill(os.getpid(), signal.SIGTERM)
        raise Transient("the catalog is away", "start it when it is back")

    with Drain() as drain:
        ended = supervise({"one": make}, drain, once=False)
    with pytest.raises(Transient, match="the catalog is away"):
        raise_failures(ended)
    assert len(tries) == 1


def test_one_that_was_never_started_has_not() -> None:
    def make() -> NoReturn:
        raise AssertionError

    with Drain() as drain:
        os.kill(os.getpid(), signal.SIGTERM)
        ended = supervise({"one": make}, drain, once=False)
    raise_failures(ended)
