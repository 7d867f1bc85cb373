"""The bound, on random layouts, against an oracle that knows only records and steps."""

from __future__ import annotations

import random  # noqa: TC003 - hypothesis reads the annotation
from collections import Counter, defaultdict
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from backfill.plan.cutting import cut_at_times, fine_grid
from backfill.plan.steps import Limits, Step, bounded, unordered
from backfill.plan.units import Unit

ROOMY = Limits(max_rows=10**9, max_bytes=10**12)
POISON = 4_000_000


@dataclass(frozen=True)
class File:
    """A file as the oracle sees it: times, by row group."""

    name: str
    source: str
    groups: tuple[tuple[int, ...], ...]

    def unit(self) -> Unit:
        times = [time for group in self.groups for time in group]
        return Unit(self.source, self.name, min(times), max(times), len(times), 100 * len(times))

    def row_groups(self) -> list[Unit]:
        return [
            Unit(
                self.source,
                self.name,
                min(times),
                max(times),
                len(times),
                100 * len(times),
                row_groups=(index, index + 1),
            )
            for index, times in enumerate(self.groups)
        ]


# Close together, far apart, the same again and again, after gaps in which nothing came; poison.
times = st.one_of(
    st.integers(0, 300),
    st.integers(0, 5_000),
    st.sampled_from([7, 100_000, 100_001, 2_000_000]),
    st.just(POISON),
)
# Wide ones, and narrow ones that overlap.
row_group = st.one_of(
    st.lists(times, min_size=1, max_size=6).map(tuple),
    st.tuples(st.integers(0, 60), st.lists(st.integers(0, 20), min_size=1, max_size=6)).map(
        lambda start_and_more: tuple(start_and_more[0] + more for more in start_and_more[1])
    ),
)
layouts = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c"]), st.lists(row_group, min_size=1, max_size=4)),
    max_size=8,
).map(
    lambda rows: [
        File(f"file-{number}", source, tuple(groups))
        for number, (source, groups) in enumerate(rows)
    ]
)
limits = st.one_of(st.just(ROOMY), st.builds(Limits, st.integers(1, 20), st.integers(100, 3_000)))
thresholds = st.one_of(st.just(0), st.integers(1, 50), st.integers(1, 10_000), st.just(POISON))


def cut(files: list[File], threshold: int) -> list[Unit]:
    units: list[Unit] = []
    for file in files:
        whole = file.unit()
        if whole.width_us <= threshold:
            units.append(whole)
            continue
        for unit, held in zip(file.row_groups(), file.groups, strict=True):
            if unit.width_us <= threshold:
                units.append(unit)
                continue
            grid = fine_grid(0, threshold, unit.width_us)
            cells: dict[int, list[int]] = defaultdict(list)
            for time in held:
                cells[(time - grid.origin_us) // grid.cell_us].append(time)
            units += [
                grid.slice_of(unit, cell, (min(inside), max(inside)), len(inside), ())
                for cell, inside in cells.items()
            ]
    return units


def records(unit: Unit, files: list[File]) -> list[tuple[str, int, int, int]]:
    """Return what reading a unit gives: each record by file, group, position and time."""
    file = next(file for file in files if file.name == unit.path)
    first, last = unit.row_groups or (0, len(file.groups))
    return [
        (file.name, group, position, time)
        for group in range(first, last)
        for position, time in enumerate(file.groups[group])
        if unit.window_us is None or unit.window_us[0] <= time < unit.window_us[1]
    ]


def delivered(steps: list[Step], files: list[File]) -> list[list[tuple[str, int, int, int]]]:
    return [[one for unit in step.units for one in records(unit, files)] for step in steps]


@given(layouts, thresholds, limits)
@settings(max_examples=300, deadline=None)
def test_no_record_comes_more_than_the_threshold_after_a_newer_one(
    files: list[File], threshold: int, limit: Limits
) -> None:
    steps = delivered(list(bounded(cut(files, threshold), threshold, limit)), files)
    newest_before = None
    for step in steps:
        for *_, time in step:
            assert newest_before is None or newest_before - time <= threshold
        newest = max(time for *_, time in step)
        newest_before = newest if newest_before is None else max(newest_before, newest)


@given(layouts, thresholds, limits)
@settings(max_examples=200, deadline=None)
def test_a_step_holds_no_more_time_than_the_threshold(
    files: list[File], threshold: int, limit: Limits
) -> None:
    """So no two records of it lie further apart, of whichever sources: that is what aligns them."""
    for step in delivered(list(bounded(cut(files, threshold), threshold, limit)), files):
        inside = [time for *_, time in step]
        assert max(inside) - min(inside) <= threshold


@given(layouts, thresholds, limits)
@settings(max_examples=300, deadline=None)
def test_every_record_is_delivered_once(files: list[File], threshold: int, limit: Limits) -> None:
    steps = delivered(list(bounded(cut(files, threshold), threshold, limit)), files)
    wanted = Counter(
        (file.name, group, position, time)
        for file in files
        for group, inside in enumerate(file.groups)
        for position, time in enumerate(inside)
    )
    assert Counter(one for step in steps for one in step) == wanted
    assert all(steps), "a step without a record makes no progress"


@given(layouts, thresholds, limits, st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_a_plan_does_not_depend_on_the_order_in_which_files_are_listed(
    files: list[File], threshold: int, limit: Limits, chance: random.Random
) -> None:
    units = cut(files, threshold)
    shuffled = list(units)
    chance.shuffle(shuffled)
    assert list(bounded(units, threshold, limit)) == list(bounded(shuffled, threshold, limit))


@given(layouts, thresholds, limits)
@settings(max_examples=100, deadline=None)
def test_a_step_says_how_many_rows_it_holds_and_where_it_starts(
    files: list[File], threshold: int, limit: Limits
) -> None:
    for step in bounded(cut(files, threshold), threshold, limit):
        inside = delivered([step], files)[0]
        assert step.rows == len(inside)
        assert step.frontier_us == min(time for *_, time in inside)
        if len(step.units) > 1:
            assert step.rows <= limit.max_rows


@given(layouts, limits)
@settings(max_examples=100, deadline=None)
def test_unordered_steps_hold_every_unit_once_within_the_limits(
    files: list[File], limit: Limits
) -> None:
    units = [file.unit() for file in files]
    steps = list(unordered(units, limit))
    assert Counter(unit for step in steps for unit in step.units) == Counter(units)
    assert all(len(step.units) == 1 or step.rows <= limit.max_rows for step in steps)


def test_one_source_that_has_ended_holds_nobody() -> None:
    a = [Unit("a", f"a{n}", n * 10, n * 10 + 9, 1, 1) for n in range(2)]
    b = [Unit("b", f"b{n}", n * 10, n * 10 + 9, 1, 1) for n in range(6)]
    steps = list(bounded([*a, *b], 9, ROOMY))
    assert [sorted(unit.path for unit in step.units) for step in steps] == [
        ["a0", "b0"],
        ["a1", "b1"],
        ["b2"],
        ["b3"],
        ["b4"],
        ["b5"],
    ]


def test_wide_files_are_cut_where_steps_of_narrow_ones_end() -> None:
    """Each by itself, cut at times of its own, would end every step early for all."""
    narrow = [File(f"n{n}", "a", (tuple(range(n * 90, n * 90 + 90)),)) for n in range(80)]
    wide = [File(f"w{n}", "b", (tuple(range(n * 900, n * 900 + 900, 7)),)) for n in range(8)]
    alone = list(bounded(cut(narrow, 300), 300, ROOMY))
    together = list(bounded(cut([*narrow, *wide], 300), 300, ROOMY))
    assert len(alone) == 27
    assert len(together) <= len(alone) + 1
    for step in together:
        read = [(unit.path, unit.row_groups) for unit in step.units]
        assert len(read) == len(set(read))
    slices = [unit for step in together for unit in step.units if unit.window_us is not None]
    assert len(slices) <= len(together) + len(wide)


@given(st.integers(1, 30), st.integers(1, 12), st.integers(1, 40))
@settings(max_examples=50, deadline=None)
def test_limits_do_not_make_a_row_group_be_read_once_for_each_slice(
    files: int, groups_of_a_step: int, tenths: int
) -> None:
    """Wide files that overlap: a step takes as much of few of them, not a little of each."""
    each = 400
    wide = [File(f"w{n}", "a", (tuple(range(n, 4_000 + n, 10)),)) for n in range(files)]
    limit = Limits(tenths * each // 10, groups_of_a_step * 100 * each)
    steps = list(bounded(cut(wide, 1_000), 1_000, limit))
    assert sum(step.rows for step in steps) == files * each
    read = sum(len(step.units) for step in steps)
    # By time a row group is read five times at the most; rows that are the limit may halve that.
    of_rows = -(-each // (limit.max_rows))
    assert read <= files * (5 + of_rows) + len(steps)


def test_a_row_group_of_very_many_steps_is_cut_no_finer_than_that() -> None:
    assert fine_grid(0, 800, 800 * 256).cell_us == 100
    assert fine_grid(0, 800, 800 * 257).cell_us == 800


def test_row_group_of_a_step_that_lie_side_by_side_are_one_run() -> None:
    file = File("f", "a", ((0, 1), (2, 3), (40, 41), (4, 5)))
    (first, second) = bounded(cut([file], 10), 10, ROOMY)
    assert [unit.row_groups for unit in first.units] == [(0, 2), (3, 4)]
    assert [(unit.rows, unit.size_bytes) for unit in first.units] == [(4, 400), (2, 200)]
    assert [unit.row_groups for unit in second.units] == [(2, 3)]


def test_a_record_from_far_ahead_is_delivered_last_and_moves_no_frontier() -> None:
    files = [
        File("clean", "a", ((0, 10), (20, 30))),
        File("poisoned", "b", ((5, 12, POISON, 14),)),
    ]
    steps = list(bounded(cut(files, 10), 10, ROOMY))
    assert [step.frontier_us for step in steps] == [0, 12, 20, POISON]
    assert delivered(steps, files)[-1] == [("poisoned", 0, 2, POISON)]


@given(layouts, thresholds, limits, st.lists(times, max_size=6, unique=True).map(sorted))
@settings(max_examples=300, deadline=None)
def test_no_step_goes_on_beyond_a_time_that_ends_it(
    files: list[File], threshold: int, limit: Limits, ends: list[int]
) -> None:
    units = cut(files, threshold)
    pieces = list(cut_at_times(units, ends))
    steps = list(bounded(pieces, threshold, limit, ends))
    for step, inside in zip(steps, delivered(steps, files), strict=True):
        assert all(step.frontier_us <= time for *_, time in inside)
        for end in ends:
            # What is current at the frontier is current for all of it.
            assert not any(step.frontier_us < end <= time for *_, time in inside)
    assert Counter(one for step in delivered(steps, files) for one in step) == Counter(
        one for unit in units for one in records(unit, files)
    )
    assert sum(piece.rows for piece in pieces) == sum(unit.rows for unit in units)
