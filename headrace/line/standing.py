"""The state of a job, for readers outside its line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from headrace.line.job import Job

if TYPE_CHECKING:
    from headrace.errors import HeadraceError

AnyJob_co = TypeVar("AnyJob_co", bound=Job, covariant=True)


@dataclass(frozen=True, slots=True)
class JobStanding(Generic[AnyJob_co]):
    """A job, the reason why it does not run, and whether it has begun."""

    job: AnyJob_co
    problem: HeadraceError | None
    has_begun: bool

    @property
    def state(self) -> Literal["failed", "starting", "running"]:
        """Its state, in the words of `headrace status`."""
        if self.problem is not None:
            return "failed"
        return "running" if self.has_begun else "starting"

    @property
    def not_ready(self) -> str | None:
        """Why it is not at work, in a sentence; None where it is."""
        if self.problem is not None:
            return self.problem.message
        return None if self.has_begun else "it has not begun yet"

    @property
    def advice(self) -> str | None:
        """What to do about that; None where it is at work, or where nobody knows."""
        return None if self.problem is None else self.problem.advice or None
