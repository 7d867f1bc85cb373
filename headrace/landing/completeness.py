"""What a table says beside its rows: up to when it has everything, and which offsets are lost."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from headrace.kafka.offset_set import OffsetSet
from headrace.times import format_time_us, parse_time_us

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Ends that were seen and not reached yet: a writer far behind remembers no more than these.
MOST_PENDING: Final = 64


def completeness_property(writer: str) -> str:
    """Return the name of the table's property that says up to when it is complete."""
    return f"headrace.complete-up-to.{writer}"


@dataclass(frozen=True, slots=True)
class Ends:
    """Where the partitions of a topic ended, and a time at which they certainly had."""

    time_us: int
    next_offsets: Mapping[int, int]

    def reached_by(self, next_offsets: Mapping[int, int]) -> bool:
        """Whether all that the topic held then has landed."""
        return all(next_offsets.get(number, 0) >= end for number, end in self.next_offsets.items())


@dataclass(frozen=True, slots=True)
class Completeness:
    """All that the topic held at `time_us` is in the table; None where that is not known yet."""

    time_us: int | None = None
    pending: tuple[Ends, ...] = ()

    def not_after(self, now_us: int) -> Completeness:
        """Return the same, or without its time where that is still to come: a clock was wrong."""
        if self.time_us is None or self.time_us <= now_us:
            return self
        return Completeness(None, self.pending)

    def seen(self, ends: Ends) -> Completeness:
        """Return the same, with ends to reach."""
        if len(self.pending) >= MOST_PENDING:
            return self
        return Completeness(self.time_us, (*self.pending, ends))

    def landed(self, next_offsets: Mapping[int, int]) -> Completeness:
        """Return what is complete when the table holds everything before these offsets."""
        reached = [ends for ends in self.pending if ends.reached_by(next_offsets)]
        pending = tuple(ends for ends in self.pending if ends not in reached)
        times = [ends.time_us for ends in reached]
        if self.time_us is not None:
            times.append(self.time_us)
        return Completeness(max(times, default=None), pending)

    def to_json(self, next_offsets: Mapping[int, int]) -> str:
        """Return the property's value."""
        time = None if self.time_us is None else format_time_us(self.time_us)
        ordered = {str(number): next_offsets[number] for number in sorted(next_offsets)}
        said: dict[str, object] = {"time": time, "next": ordered}
        return json.dumps(said, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | None) -> Completeness:
        """Read what the property says."""
        time = json.loads(text)["time"] if text else None
        return cls(None if time is None else parse_time_us(time))


def complete_up_to(properties: Mapping[str, str]) -> Completeness | None:
    """Return up to when a table has everything, by all of its writers.

    None where no writer says anything; no time is known where one has never caught up.
    """
    prefix = completeness_property("")
    said = [
        Completeness.from_json(text) for name, text in properties.items() if name.startswith(prefix)
    ]
    return min(said, key=lambda one: -1 if one.time_us is None else one.time_us, default=None)


def _since_boot_ns() -> int:
    # Linux has one that goes on while the machine sleeps.
    own = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic_ns() if own is None else time.clock_gettime_ns(own)


class NeverAhead:
    """A clock that follows the machine's back, and does not follow it when it jumps ahead.

    It goes by the least that the machine's clock ever was before a steady one since the start: set
    forward by mistake it would say that a table is complete up to a time that is still to come.
    """

    def __init__(
        self,
        machine_ns: Callable[[], int] = time.time_ns,
        steady_ns: Callable[[], int] = _since_boot_ns,
    ) -> None:
        self._machine_ns, self._steady_ns = machine_ns, steady_ns
        self._before_ns = machine_ns() - steady_ns()

    def now_us(self) -> int:
        """Return the time in microseconds since 1970."""
        steady_ns = self._steady_ns()
        self._before_ns = min(self._before_ns, self._machine_ns() - steady_ns)
        return (steady_ns + self._before_ns) // 1_000


def losses_property(writer: str) -> str:
    """Return the name of the table's property that says what was lost."""
    return f"headrace.lost.{writer}"


def losses_of(said: str | None) -> dict[int, list[range]]:
    """Read what the property says."""
    found = {} if said is None else json.loads(said)
    return {int(number): [range(*span) for span in spans] for number, spans in found.items()}


def with_losses(said: str | None, lost: Mapping[int, range]) -> str:
    """Return what the property says after more was lost; what touches becomes one."""
    found = {number: OffsetSet(*spans) for number, spans in losses_of(said).items()}
    for number, span in lost.items():
        found.setdefault(number, OffsetSet()).add(span)
    shown = {
        str(number): [[span.start, span.stop] for span in found[number]] for number in sorted(found)
    }
    return json.dumps(shown, separators=(",", ":"))
