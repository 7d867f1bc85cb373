"""A replay that is cut short at any place, and goes on: against one that never was."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from backfill.plan.period import Period
from backfill.plan.plan import Plan, planned_source
from backfill.plan.steps import Limits, bounded, unordered
from backfill.plan.strict import Stretch, cell_us, strict
from backfill.plan.units import Unit
from backfill.run.pace import Pace
from backfill.run.state import RunRecord, RunState
from backfill.tables.delivery import Delivery
from headrace.contract import METADATA
from headrace.signals import Drain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from backfill.plan.plan import Order
    from backfill.plan.steps import Step
    from backfill.read.source import LakeSource
    from backfill.read.step_records import OffsetFilter

TABLE = "lake.a.b"
END = 10_000
METADATA_TYPE = pa.struct(
    [
        ("kafka_ingestion_ts", pa.timestamp("us", tz="UTC")),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("region", pa.string()),
    ]
)
# A table: files of records, each an offset and a time.
File = list[tuple[int, int]]


@st.composite
def files(draw: st.DrawFn) -> list[File]:
    times = draw(st.lists(st.integers(0, 400), min_size=1, max_size=25))
    records = list(enumerate(sorted(times)))
    shuffled = draw(st.permutations(records))
    each = draw(st.integers(1, 6))
    return [shuffled[start : start + each] for start in range(0, len(shuffled), each)]


class InMemory:
    """What a table in the lake is for a delivery: the rows of a unit."""

    def __init__(self, held: Sequence[File]) -> None:
        self._held = held

    def rows(
        self, unit: Unit, lanes: OffsetFilter | None = None, _: object = None
    ) -> Iterator[pa.RecordBatch]:
        low, high = unit.window_us or (0, END)
        rows = [
            {"kafka_ingestion_ts": time, "topic": "t", "partition": 0, "offset": offset}
            for offset, time in self._held[int(unit.path)]
            if low <= time < high
        ]
        batch = pa.RecordBatch.from_pydict({METADATA: pa.array(rows, METADATA_TYPE)})
        kept = batch if lanes is None else batch.filter(lanes.mask(batch))
        if kept.num_rows:
            yield kept


class Crash(Exception):
    """A process that is no more."""


@dataclass
class Target:
    """Holds the last attempt at each step; the process ends where it is told to.

    `Crash` comes before a step's rows are safe, or between that and the keeping of the position.
    """

    crash_in: int | None = None
    after: bool = False
    location: str = "memory"
    steps: dict[int, list[int]] = field(default_factory=dict)

    def begin(self, _sources: Mapping[str, LakeSource], /) -> None:
        """Need nothing."""

    def write_step(
        self, step: int, batches: Iterable[tuple[str, pa.RecordBatch]], _pace: Pace
    ) -> Counter[str]:
        offsets = [
            row["offset"] for _, batch in batches for row in batch.column(METADATA).to_pylist()
        ]
        if step == self.crash_in and not self.after:
            raise Crash
        self.steps[step] = offsets
        if step == self.crash_in:
            raise Crash
        return Counter({TABLE: len(offsets)})

    def finish(self, certificate: str) -> None:
        raise NotImplementedError


def planned(held: Sequence[File], order: Order, threshold: int) -> Plan:
    units = [
        Unit(TABLE, str(n), min(t for _, t in one), max(t for _, t in one), len(one), 100)
        for n, one in enumerate(held)
    ]
    limits = Limits(5, 10_000)
    steps: Iterable[Step]
    if order == "bounded":
        narrow = [slice_ for unit in units for slice_ in slices(unit, held, threshold)]
        steps = bounded(narrow, threshold, limits)
    elif order == "strict":
        stretches = [one for unit in units for one in stretches_of(unit, held, threshold)]
        steps = strict(stretches, threshold, limits)
    else:
        steps = unordered(units, limits)
    source = planned_source(TABLE, 1, units, units, 0)
    return Plan(Period(0, END), (), order, threshold, (source,), tuple(steps))


def slices(unit: Unit, held: Sequence[File], threshold: int) -> Iterator[Unit]:
    """Cut a file into windows as wide as the threshold."""
    cell = threshold + 1
    for start in range(0, END, cell):
        times = [t for _, t in held[int(unit.path)] if start <= t < start + cell]
        if times:
            bounds = min(times), max(times)
            window = (start, start + cell)
            yield Unit(TABLE, unit.path, *bounds, len(times), 100, window_us=window)


def stretches_of(unit: Unit, held: Sequence[File], threshold: int) -> Iterator[Stretch]:
    for offset, time in held[int(unit.path)]:
        cell = time // cell_us(threshold)
        yield Stretch(unit, "t", 0, cell, offset, offset, time, time, 1)


def delivered(plan: Plan, held: Sequence[File], target: Target, folder: Path) -> str:
    """Go on where the folder says, as a process does that begins; return the certificate."""
    state = RunState(folder)
    if not state.exists:
        state.begin(plan, RunRecord("memory", "", len(plan.steps), plan.rows, (TABLE,)))
    sources = {TABLE: cast("LakeSource", InMemory(held))}
    going = Delivery(state.plan(), sources, state)
    for _ in going.run(target, Drain(), Pace()):
        pass
    return going.certificate().to_json()


@given(files(), st.sampled_from(["bounded", "strict", "any"]), st.integers(0, 200), st.data())
@settings(max_examples=60, deadline=None)
def test_wherever_it_ends_it_goes_on_as_if_it_never_had(
    held: list[File], order: Order, threshold: int, data: st.DataObject
) -> None:
    plan = planned(held, order, threshold)
    with tempfile.TemporaryDirectory() as name:
        whole = Target()
        certificate = delivered(plan, held, whole, Path(name) / "whole")
        assert Counter(offset for rows in whole.steps.values() for offset in rows) == Counter(
            offset for file in held for offset, _ in file
        )
        ends = data.draw(
            st.lists(st.booleans(), min_size=len(plan.steps), max_size=len(plan.steps))
        )
        resumed = Target()
        for step, after in enumerate(ends):
            resumed.crash_in, resumed.after = step, after
            try:
                delivered(plan, held, resumed, Path(name) / "resumed")
            except Crash:
                continue
            raise AssertionError("it did not get to the step at which it was to end")
        resumed.crash_in = None
        assert delivered(plan, held, resumed, Path(name) / "resumed") == certificate
        assert resumed.steps == whole.steps
