"""What a line runs: jobs, the work of a batch, and what comes back of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from headrace.errors import HeadraceError
    from headrace.line.pace import Pace


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

    @property
    def weight(self) -> int:
        """How many records it is about."""

    @property
    def is_apart(self) -> bool:
        """Whether it may be done beside other jobs' work in one process: it shares nothing with it."""

    def do(self) -> Answer:
        """Do it; an error that has a name is part of the answer."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The next batch of a job: its work, the next offsets after it, and how many records remain."""

    works: Sequence[Work]
    ends: Mapping[int, int]
    lag: int


class Outlook(Enum):
    """What is known of a job without asking anybody."""

    NOTHING = auto()  # there is nothing to do
    SOON = auto()  # it is asked elsewhere, together with others: look again in a moment
    ASK = auto()  # only the job itself can say, and that may take long


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


@runtime_checkable
class Watched(Protocol):
    """A job of which others may find out whether it has anything to do."""

    @property
    def soon_s(self) -> float:
        """How long that takes, as far as is known: it is not there before."""

    def outlook(self, since_s: float) -> Outlook:
        """Return what was found out since then; it does not wait."""


@runtime_checkable
class Paced(Protocol):
    """A job whose batches take about as long as it is told to."""

    pace: Pace
