"""What a line runs: jobs, the work of a batch, and what comes back of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from headrace.errors import HeadraceError


class Answer(Protocol):
    """What became of a piece of work; with a problem, it did not end."""

    @property
    def problem(self) -> HeadraceError | None:
        """Why it did not end."""

    @property
    def records(self) -> int:
        """How many records were read."""

    @property
    def bytes(self) -> int:
        """How large their values were."""


class Work(Protocol):
    """What one task does. It is pickled, with everything that the task has to know."""

    def do(self) -> Answer:
        """Do it; an error that has a name is part of the answer."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The next batch of a job: its work, the next offsets after it, and how many records remain."""

    works: Sequence[Work]
    ends: Mapping[int, int]
    lag: int


class Job(Protocol):
    """One stream's outputs, or one table. All its methods are called by one thread at a time."""

    @property
    def name(self) -> str:
        """Its name, unique in the line."""

    @property
    def interval(self) -> timedelta | None:
        """The time between two batches; None: as soon as there is something to do."""

    @property
    def is_done(self) -> bool:
        """Whether a job that ends by itself has nothing left to do."""

    def begin(self) -> None:
        """Find out where it goes on: at its start, and again after each failure."""

    def next_batch(self) -> Batch | None:
        """Return what there is to do now, or None."""

    def finish(self, answers: Sequence[Any]) -> None:
        """Make the batch true: what it read is done with when this returns."""
