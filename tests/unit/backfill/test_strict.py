"""Strict order on random layouts, against an oracle that knows only records and steps."""

from __future__ import annotations

import random  # noqa: TC003 - hypothesis reads the annotation
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from backfill.plan.steps import Limits, Step
from backfill.plan.strict import Stretch, cell_us, strict
from backfill.plan.units import Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOMY = Limits(max_rows=10**9, max_bytes=10**12)
POISON = 4_000_000


@dataclass(frozen=True, order=True)
class Record:
    """A record: its table, Kafka partition, offset and time."""

    source: str
    partition: int
    offset: int
    time: int


@dataclass(frozen=True)
class File:
    name: str
    source: str
    groups: tuple[tuple[Record, ...], ...]

    def unit(self) -> Unit:
        times = [record.time for group in self.groups for record in group]
        return Unit(self.source, self.name, min(times), max(times), len(times), 100 * len(times))

    def row_group(self, index: int) -> Unit:
        times = [record.time for record in self.groups[index]]
        groups = (index, index + 1)
        bounds = min(times), max(times)
        return Unit(self.source, self.name, *bounds, len(times), 100, row_groups=groups)


@st.composite
def layouts(draw: st.DrawFn) -> list[File]:
    """Kafka partitions whose times mostly rise, spread over files of any mixture."""
    chance = draw(st.randoms(use_true_random=False))
    jitter = draw(st.sampled_from([0, 0, 30, 2_000]))
    poison = draw(st.booleans())
    files = []
    for source in draw(st.lists(st.sampled_from("ab"), min_size=1, max_size=2, unique=True)):
        records = []
        for partition in range(draw(st.integers(1, 3))):
            time = chance.randrange(300)
            for offset in range(5, 5 + draw(st.integers(0, 12))):
                time += chance.choice([0, 1, 50, 400])
                far = poison and chance.random() < 0.1
                at = POISON if far else max(0, time - chance.randint(0, jitter))
                records.append(Record(source, partition, offset, at))
        chance.shuffle(records)
        files += files_of(source, records, chance)
    return files


def files_of(source: str, records: list[Record], chance: random.Random) -> list[File]:
    files: list[File] = []
    while records:
        groups = []
        for _ in range(chance.randint(1, 3)):
            size = chance.randint(1, 5)
            groups.append(tuple(records[:size]))
            del records[:size]
        kept = tuple(group for group in groups if group)
        files.append(File(f"{source}-{len(files)}", source, kept))
    return files


def stretches(files: Sequence[File], threshold: int, *, whole: bool) -> list[Stretch]:
    found = []
    for file in files:
        groups: dict[tuple[int | None, int, int], list[Record]] = defaultdict(list)
        for number, group in enumerate(file.groups):
            for record in group:
                cell = record.time // cell_us(threshold)
                groups[None if whole else number, record.partition, cell].append(record)
        for (index, partition, cell), inside in groups.items():
            offsets = [record.offset for record in inside]
            times = [record.time for record in inside]
            found.append(
                Stretch(
                    file.unit() if index is None else file.row_group(index),
                    "events",
                    partition,
                    cell,
                    min(offsets),
                    max(offsets),
                    min(times),
                    max(times),
                    len(inside),
                )
            )
    return found


def delivered(steps: Sequence[Step], files: Sequence[File]) -> list[list[Record]]:
    """Read the units as they say, keep what the step's ranges ask for, put it in order."""
    by_name = {file.name: file for file in files}
    read = []
    for step in steps:
        inside = []
        for unit in step.units:
            groups = by_name[unit.path].groups
            first, last = unit.row_groups or (0, len(groups))
            inside += [
                record
                for group in groups[first:last]
                for record in group
                if any(
                    (one.source, one.partition) == (record.source, record.partition)
                    and one.first <= record.offset < one.end_exclusive
                    for one in step.ranges
                )
            ]
        read.append(sorted(inside))
    return read


thresholds = st.one_of(st.integers(0, 50), st.integers(1, 10_000))
limits = st.one_of(st.just(ROOMY), st.builds(Limits, st.integers(1, 20), st.integers(100, 3_000)))


@given(layouts(), thresholds, limits, st.booleans())
@settings(max_examples=300, deadline=None)
def test_every_partition_comes_once_by_its_offsets(
    files: list[File], threshold: int, limit: Limits, whole: bool
) -> None:
    steps = list(strict(stretches(files, threshold, whole=whole), threshold, limit))
    read = delivered(steps, files)
    everything = [record for file in files for group in file.groups for record in group]
    assert Counter(record for step in read for record in step) == Counter(everything)
    assert all(read), "a step without a record makes no progress"
    assert [step.number for step in steps] == list(range(len(steps)))
    seen: dict[tuple[str, int], list[int]] = defaultdict(list)
    for record in (record for step in read for record in step):
        seen[record.source, record.partition].append(record.offset)
    assert all(offsets == sorted(offsets) for offsets in seen.values())


@given(layouts(), thresholds, limits)
@settings(max_examples=300, deadline=None)
def test_it_is_no_more_out_of_order_than_kafka_was(
    files: list[File], threshold: int, limit: Limits
) -> None:
    everything = [record for file in files for group in file.groups for record in group]
    of_kafka = max(
        (
            before.time - after.time
            for before in everything
            for after in everything
            if (before.source, before.partition) == (after.source, after.partition)
            and before.offset < after.offset
        ),
        default=0,
    )
    newest = None
    for step in delivered(
        list(strict(stretches(files, threshold, whole=False), threshold, limit)), files
    ):
        oldest = min(record.time for record in step)
        assert newest is None or newest - oldest <= max(0, of_kafka)
        newest = max(newest or 0, *(record.time for record in step))


@given(layouts(), thresholds, limits, st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_a_plan_does_not_depend_on_the_order_in_which_files_are_listed(
    files: list[File], threshold: int, limit: Limits, chance: random.Random
) -> None:
    found = stretches(files, threshold, whole=False)
    shuffled = list(found)
    chance.shuffle(shuffled)
    assert list(strict(found, threshold, limit)) == list(strict(shuffled, threshold, limit))


@given(layouts(), thresholds, limits)
@settings(max_examples=100, deadline=None)
def test_the_rows_of_all_steps_are_those_of_all_files(
    files: list[File], threshold: int, limit: Limits
) -> None:
    steps = list(strict(stretches(files, threshold, whole=False), threshold, limit))
    assert sum(step.rows for step in steps) == sum(file.unit().rows for file in files)


def test_a_record_from_far_ahead_comes_in_its_turn_and_holds_nobody() -> None:
    times = (0, 100, POISON, 200, 300)
    records = tuple(Record("a", 0, offset, time) for offset, time in enumerate(times))
    files = [File("one", "a", (records,))]
    read = delivered(list(strict(stretches(files, 50, whole=False), 50, ROOMY)), files)
    assert [[record.time for record in step] for step in read] == [[0], [100], [POISON, 200], [300]]
