"""Every offset lands once, whatever is repeated: the arithmetic of the writer's commits."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from lake_writer.offsets import advanced, committed, summary

Batch = dict[int, range]


class Table:
    """A table and its commits: what the writer does, without Spark and Iceberg."""

    def __init__(self) -> None:
        self.rows: Counter[tuple[int, int]] = Counter()
        self.commits: list[dict[str, str]] = []

    def land(self, batch: Batch, writer: str = "w") -> None:
        before = committed(writer, reversed(self.commits))
        fresh = {
            partition: [offset for offset in offsets if offset >= before.get(partition, 0)]
            for partition, offsets in batch.items()
        }
        last = {partition: offsets[-1] for partition, offsets in fresh.items() if offsets}
        if last:
            self.rows.update((p, offset) for p, offsets in fresh.items() for offset in offsets)
            self.commits.append(summary(writer, advanced(before, last)))


@st.composite
def logs(draw: st.DrawFn) -> list[Batch]:
    """Batches as Spark makes them: each goes on where the one before it ended."""
    at = dict.fromkeys(range(draw(st.integers(1, 3))), 0)
    batches = []
    for _ in range(draw(st.integers(1, 6))):
        batch = {}
        for partition in at:
            end = at[partition] + draw(st.integers(0, 4))
            batch[partition] = range(at[partition], end)
            at[partition] = end
        batches.append(batch)
    return batches


@given(logs(), st.data())
def test_any_run_of_repeated_batches_lands_each_offset_once(
    batches: list[Batch], data: st.DataObject
) -> None:
    table, reached = Table(), 0
    while reached < len(batches):
        # A crash: the checkpoint is behind the table by any number of batches.
        start = data.draw(st.integers(0, reached))
        end = data.draw(st.integers(reached + 1, len(batches)))
        for batch in batches[start:end]:
            table.land(batch)
        reached = end
    expected = {(p, offset) for batch in batches for p, span in batch.items() for offset in span}
    assert table.rows == Counter(expected)


@given(logs())
def test_without_its_checkpoint_a_writer_begins_at_the_start_and_doubles_nothing(
    batches: list[Batch],
) -> None:
    table = Table()
    for batch in batches:
        table.land(batch)
    before = table.rows.copy()
    whole = {p: range(max(batch[p].stop for batch in batches)) for p in batches[0]}
    table.land(whole)
    assert table.rows == before


def test_another_writer_into_the_same_table_keeps_its_own_place() -> None:
    table = Table()
    table.land({0: range(5)}, "first")
    table.land({0: range(3)}, "second")
    table.commits.append({"operation": "replace"})
    assert committed("first", reversed(table.commits)) == {0: 5}
    assert committed("second", reversed(table.commits)) == {0: 3}
    assert committed("third", reversed(table.commits)) == {}


def test_a_commit_says_where_it_ends() -> None:
    assert summary("w", {10: 7, 2: 5}) == {
        "headrace.writer": "w",
        "headrace.next-offsets": '{"2":5,"10":7}',
    }
