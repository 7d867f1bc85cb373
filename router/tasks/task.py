"""What a Spark task does: fetch its ranges, route every record, wait for all acknowledgements.

Compiled functions are kept between tasks. An error that has a name goes back as a value, so that
no stack trace stands around it.
"""

from __future__ import annotations

import gc
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from headrace.contract import QUARANTINE
from headrace.errors import HeadraceError, Terminal, Transient
from headrace.expressions.compiled.compiler import NotCompiled
from headrace.kafka.bulk import NotTaken, not_taken
from headrace.kafka.quarantine import EVALUATING
from router.ledger.entries import Counts
from router.plan.model import ToTopic
from router.tasks.compile import compile_outlet, compile_route
from router.tasks.sending import (
    Refusal,
    Sending,
    SentRecord,
    by_what_was_sent,
    readers,
    reason_of,
    sent_as,
)
from router.tasks.sent_lines import without_queue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headrace.kafka.bulk import RefusedRecord
    from headrace.kafka.message import Message
    from headrace.kafka.ranges import RangeReader
    from headrace.records.hygiene.rules import Broken
    from headrace.records.rows import HeadersToSend
    from router.ledger.places import Place
    from router.plan.model import RoutePlan
    from router.tasks.compile import Route
    from router.tasks.sent_lines import Sendable

_compiling: Final = threading.Lock()
_routes: Final[dict[tuple[str, tuple[str, ...]], Route]] = {}


@dataclass(frozen=True, slots=True)
class RoutingWork:
    """Ranges of offsets for the members of one query; each member begins at its own position.

    `places` are where members will be, by partition, with nothing counted yet; members are names of
    outputs, and QUARANTINE. A partition that a member has no place for is not its work. `refused`
    are records that the target of an output did not take in an earlier try, and why.
    """

    plan: RoutePlan
    ends: Mapping[int, int]
    places: Mapping[str, Mapping[int, Place]]
    refused: Sequence[Refusal] = ()

    @property
    def starts(self) -> dict[str, dict[int, int]]:
        """The first offset that is there for each member and partition."""
        return {
            name: {number: one.stretch.start + one.stretch.lost for number, one in own.items()}
            for name, own in self.places.items()
        }

    @property
    def weight(self) -> int:
        """How many offsets it is about."""
        return sum(map(len, ranges_of(self).values()))

    @property
    def is_apart(self) -> bool:
        """Whether all that it sends goes through producers of its claims."""
        targets = [one.target for one in self.plan.outlets if one.name in self.places]
        if self.plan.quarantine is not None:
            targets.append(self.plan.quarantine)
        return all(isinstance(one, ToTopic) and one.claim is not None for one in targets)

    def do(self) -> Done:
        """Do it; all of it is acknowledged when this returns without a problem."""
        return work(self)


@dataclass(frozen=True, slots=True)
class Done:
    """What became of it: for each member and partition. `problem` is why it did not end.

    With `refused`, nothing of it counts: it is to be done again without these records. `partitions`
    are those that it is through with.
    """

    counts: Mapping[str, Mapping[int, Counts]] = field(default_factory=dict)
    problem: HeadraceError | None = None
    records: int = 0
    bytes: int = 0
    partitions: Sequence[int] = ()
    refused: Sequence[Refusal] = ()


def work(task: RoutingWork) -> Done:
    """Do a task's work; all of it is acknowledged when this returns without a problem."""
    if (problem := again_by_spark()) is not None:
        return Done(problem=problem)
    # A batch makes no cycles, and its messages by the thousand would be looked through for them.
    gc.disable()
    run = None
    try:
        run = _Run(task)
        refused = run.run()
        if refused:
            run.give_up()
            return Done(records=run.records, bytes=run.bytes, refused=refused)
        return Done(run.counts, None, run.records, run.bytes, list(task.ends))
    except HeadraceError as problem:
        _give_up(run)
        return Done(problem=problem)
    except BaseException:
        _give_up(run)
        raise
    finally:
        gc.enable()


def again_by_spark() -> Transient | None:
    """Return what stands against a task that Spark does a second time, as on another executor.

    The first one may have committed, or still be at it: only a new claim tells.
    """
    from pyspark import TaskContext  # noqa: PLC0415 - the driver plans this work before it needs Spark

    context = TaskContext.get()
    if context is None or context.attemptNumber() == 0:
        return None
    return Transient("Spark lost a task and tried it again", "the job begins again where it is")


def _give_up(run: _Run | None) -> None:
    if run is not None:
        run.give_up()


class _Run(Sending):
    """One task's work, from the first fetch to the last acknowledgement."""

    def __init__(self, task: RoutingWork) -> None:
        super().__init__(task.plan, task.places)
        self._task = task
        self._starts = task.starts
        self._refused_at: dict[tuple[int, int], dict[str, str]] = {}
        for one in task.refused:
            self._refused_at.setdefault((one.partition, one.offset), {})[one.output] = one.reason
        self.records = 0
        self.bytes = 0

    def run(self) -> list[Refusal]:
        """Route everything, wait until it has arrived, and make it true; or return what stands against it."""
        source = self.plan.source
        with readers.reader(source.properties) as reader:
            self.begin()
            broken: NotTaken | None = None
            try:
                for number, messages in reader.chunks(source.topic, ranges_of(self._task)):
                    self.records += len(messages)
                    self.bytes += sum(map(len, messages))
                    for names, run in self._by_members(number, messages):
                        self._route(names, number, run)
            except NotTaken as problem:
                # A transaction that a record has broken takes no more: which one, is known below.
                broken = problem
            refused = self.settle(reader, lambda refused: self._find(refused, reader))
            if refused:
                return refused
            if broken is not None:
                raise not_taken(broken)
            self.commit(self._task.places)
        return []

    def _by_members(
        self, number: int, messages: Sequence[Message]
    ) -> Iterator[tuple[frozenset[str], Sequence[Message]]]:
        """Split records where a member's own position lies between them."""
        positions = {name: at[number] for name, at in self._starts.items() if number in at}
        first, last = messages[0].offset(), messages[-1].offset()
        alone = [at for one, at in self._refused_at if one == number]
        cuts = {*positions.values(), *alone, *(at + 1 for at in alone)}
        edges = sorted(at for at in cuts if first < at <= last)
        for low, high in zip([first, *edges], [*edges, last + 1], strict=True):
            names = frozenset(name for name, at in positions.items() if at <= low)
            run = [one for one in messages if low <= one.offset() < high] if edges else messages
            if names and run:
                yield names, run

    def _route(self, names: frozenset[str], number: int, messages: Sequence[Message]) -> None:
        refused = self._refused_at.get((number, messages[0].offset()), {})
        for name in refused.keys() & names:
            (message,) = messages
            self.count(name, number, self.refused(name, message, refused[name]) + Counts(read=1))
        outlets = [name for name in self.outlets if name in names and name not in refused]
        sends = [self.sends(name) for name in outlets]
        bad: list[tuple[Message, Broken]] = []
        failed: list[tuple[int, Message, Exception]] = []
        now_ms = time.time_ns() // 1_000_000
        route = _route_of(self.plan, tuple(outlets))
        written = route(messages, number, now_ms, sends, bad, failed)
        self.poll()
        shared = self.bad(bad, keep=QUARANTINE in names)
        own = self._failed(failed, outlets)
        for index, name in enumerate(outlets):
            gone = shared + own.get(index, Counts())
            rest = len(messages) - gone.accounted - written[index]
            self.count(name, number, gone + Counts(len(messages), written[index], rest))
        if QUARANTINE in names:
            good = len(messages) - shared.accounted
            self.count(QUARANTINE, number, shared + Counts(len(messages), 0, good))

    def _find(
        self, refused: Sequence[RefusedRecord], reader: RangeReader
    ) -> Iterator[tuple[RefusedRecord, SentRecord]]:
        """Route the task's ranges once more, sending nothing, until it is known which they were."""
        wanted = by_what_was_sent(refused)
        found: list[tuple[RefusedRecord, SentRecord]] = []
        partition = offset = 0

        def look(topic: str, value: Sendable, key: Sendable, headers: HeadersToSend) -> None:
            same = wanted.get(sent_as(topic, value, key))
            if same and topic not in self._refused_by(partition, offset):
                found.append((same.pop(), SentRecord(partition, offset, headers)))

        names = tuple(self.outlets)
        route = _route_of(self.plan, names)
        now_ms = time.time_ns() // 1_000_000
        sends = [without_queue(look)] * len(names)
        for partition, messages in reader.chunks(self.plan.source.topic, ranges_of(self._task)):
            # One by one: what is sent does not say what it was made from.
            for message in messages:
                offset = message.offset()
                route([message], partition, now_ms, sends, [], [])
            if len(found) == len(refused):
                break
        yield from found

    def _refused_by(self, partition: int, offset: int) -> list[str]:
        refused = self._refused_at.get((partition, offset), {})
        return [self.outlets[name].sent_to for name in refused]

    def _failed(
        self, failed: Sequence[tuple[int, Message, Exception]], outlets: Sequence[str]
    ) -> dict[int, Counts]:
        """Do with records that an output's own expressions fail on as with other bad ones."""
        counts: dict[int, Counts] = {}
        action = self.plan.hygiene.on_bad_record
        for index, message, problem in failed:
            reason = reason_of(problem)
            one = self.rejected(message, action, "expression", reason)
            if one.quarantined:
                self.keep(message, EVALUATING, reason, f"{self.plan.stream}.{outlets[index]}")
            counts[index] = counts.get(index, Counts()) + one
        return counts


def ranges_of(task: RoutingWork) -> dict[int, range]:
    """Return what of each partition a task has to read: from the member that is furthest back."""
    positions = [position for at in task.starts.values() for position in at.items()]
    return {
        number: range(min(at for one, at in positions if one == number), end)
        for number, end in task.ends.items()
    }


def _route_of(plan: RoutePlan, names: tuple[str, ...]) -> Route:
    """Return the compiled function for these outputs; made once in a process."""
    with _compiling:
        known = _routes.get((plan.id, names))
        if known is not None:
            return known
        compiled = []
        for name in names:
            outlet = next(one for one in plan.outlets if one.name == name)
            made = compile_outlet(outlet, plan.source.schema)
            if isinstance(made, NotCompiled):
                raise Terminal(f"output {name} cannot be evaluated here: {made.reason}")
            compiled.append(made)
        route = _routes[plan.id, names] = compile_route(plan, compiled)
        return route
