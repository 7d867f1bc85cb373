"""The audit: offsets in the table against the topic, to the single record.

What the table's commit state says has landed is looked for in the rows. An offset that no row has
may hold no record at all (compaction took it, a transaction ended there), or one that was
rejected; both are looked up before it is called missing.
"""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np
import structlog

from headrace import contract
from headrace.errors import Terminal
from headrace.iceberg.catalog import table_loader
from headrace.iceberg.scans import offsets_of
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.offset_set import OffsetSet
from headrace.kafka.ranges import RangeReader
from headrace.landing.commit_state import CommitState, Span, state_property
from headrace.landing.completeness import (
    Completeness,
    completeness_property,
    losses_of,
    losses_property,
)
from headrace.landing.record_columns import decoder
from headrace.times import format_time_us
from lake_writer.findings import Findings, PartitionFindings
from lake_writer.plan import values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from pyiceberg.table import Table

    from headrace.config.load import LoadedLakeTable
    from headrace.config.workspace.workspace import Workspace
    from headrace.kafka.message import Message
    from headrace.landing.record_columns import Bad

LOG_EVERY_ROWS: Final = 10_000_000
# Behind any offset.
BEYOND: Final = 2**63 - 1
log = structlog.get_logger(__name__)


def audit(workspace: Workspace, table: LoadedLakeTable) -> Findings:
    """Compare a table with its topic, as far as the table says that it has landed."""
    config = table.config
    name, topic = config.table.identifier, config.source.topic
    loaded = table_loader(workspace, name)()
    said = loaded.properties.get(state_property(config.name))
    if said is None:
        raise Terminal(
            f"{name} has no commit state of writer {config.name}: {config.name} has landed "
            "nothing there",
            "start it, or name the file of the writer that fills this table",
        )
    tallies = _tallies(loaded, topic)
    # A partition that has rows and no commit state: all of its rows are nobody's.
    spans = {number: Span(0, 0, 0) for number in tallies} | dict(CommitState.from_json(said).spans)
    kafka = KafkaCluster(workspace.cluster(config.source.cluster))
    held = kafka.offsets(topic)
    losses = losses_of(loaded.properties.get(losses_property(config.name)))
    accepted = {number: OffsetSet(*losses.get(number, ())) for number in spans}
    committed = {number: OffsetSet(range(one.since, one.next)) for number, one in spans.items()}
    absent = {
        number: own.without(tallies[number].held).without(accepted[number])
        for number, own in committed.items()
    }
    missing = _missing(workspace, table, held, absent)
    partitions = [
        PartitionFindings(
            partition=number,
            since=span.since,
            next=span.next,
            end=held[number].stop if number in held else span.next,
            rows=tallies[number].rows,
            missing=tuple(missing[number]),
            lost=tuple(accepted[number]),
            doubled=tuple(tallies[number].doubled),
            unmarked=tuple(tallies[number].held.without(committed[number])),
        )
        for number, span in sorted(spans.items())
    ]
    complete = Completeness.from_json(loaded.properties.get(completeness_property(config.name)))
    time = None if complete.time_us is None else format_time_us(complete.time_us)
    return Findings(name, topic, config.name, time, tuple(partitions))


def _tallies(table: Table, topic: str) -> Mapping[int, OffsetTally]:
    tallies: defaultdict[int, OffsetTally] = defaultdict(OffsetTally)
    rows = 0
    for partitions, offsets in offsets_of(table, topic):
        for number in np.unique(partitions).tolist():
            tallies[number].count(offsets[partitions == number])
        before, rows = rows, rows + len(offsets)
        if rows // LOG_EVERY_ROWS > before // LOG_EVERY_ROWS:
            log.info("rows read", rows=rows)
    return tallies


def _missing(
    workspace: Workspace,
    table: LoadedLakeTable,
    held: Mapping[int, range],
    absent: Mapping[int, OffsetSet],
) -> Mapping[int, OffsetSet]:
    """Return what is missing of offsets that no row has: some rightly have none.

    An offset that the topic no longer has counts as missing: nobody can tell any more.
    """
    if not any(absent.values()):
        return absent
    source = table.config.source
    quarantined, dropped = _quarantined(workspace, table), _dropped(workspace, table)
    properties = workspace.cluster(source.cluster).client_properties()
    missing = {}
    with contextlib.closing(RangeReader(properties)) as reader:
        for number, offsets in absent.items():
            begin = held[number].start if number in held else BEYOND
            unknown = offsets.without(quarantined[number])
            missing[number] = OffsetSet(*unknown.overlapping(range(begin)))
            for run in unknown.overlapping(range(begin, BEYOND)):
                for _, messages in reader.chunks(source.topic, {number: run}):
                    for offset in {one.offset() for one in messages} - dropped(messages):
                        missing[number].add(range(offset, offset + 1))
    return missing


def _quarantined(workspace: Workspace, table: LoadedLakeTable) -> Mapping[int, OffsetSet]:
    found: defaultdict[int, OffsetSet] = defaultdict(OffsetSet)
    quarantine = table.config.quarantine
    if quarantine is None:
        return found
    kafka = KafkaCluster(workspace.cluster(quarantine.cluster))
    if quarantine.topic not in kafka.topics():
        return found
    topic = table.config.source.topic.encode()
    for message in kafka.records(quarantine.topic):
        headers = dict(message.headers() or ())
        if headers.get(contract.QUARANTINE_TOPIC) == topic:
            number, offset = (
                int(headers[name] or 0)
                for name in (contract.QUARANTINE_PARTITION, contract.QUARANTINE_OFFSET)
            )
            found[number].add(range(offset, offset + 1))
    return found


def _dropped(
    workspace: Workspace, table: LoadedLakeTable
) -> Callable[[Sequence[Message]], set[int]]:
    """Return what tells which records are dropped as bad ones: they are decoded again."""
    hygiene = table.config.hygiene
    if "drop" not in {hygiene.on_bad_record, hygiene.tombstones}:
        return lambda _messages: set()
    decode = decoder(values_of(workspace, table), None)

    def among(messages: Sequence[Message]) -> set[int]:
        bad: list[Bad] = []
        decode(messages, time.time_ns() // 1_000_000, [], [], [], [], bad)
        return {message.offset() for message, broken in bad if broken.action == "drop"}

    return among


class OffsetTally:
    """The offsets of one partition's rows: which there are, and which came more than once."""

    def __init__(self) -> None:
        self.held = OffsetSet()
        self.doubled = OffsetSet()
        self.rows = 0

    def count(self, offsets: NDArray[np.int64]) -> None:
        """Count rows, in any order."""
        self.rows += len(offsets)
        ordered = np.sort(offsets)
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        for span in runs_of(np.unique(twice)):
            self.doubled.add(span)
        for span in runs_of(np.unique(ordered)):
            for again in self.held.add(span):
                self.doubled.add(again)


def runs_of(ordered: NDArray[np.int64]) -> Iterator[range]:
    """Yield the runs of distinct offsets in rising order."""
    if not len(ordered):
        return
    cuts = np.flatnonzero(np.diff(ordered) > 1)
    starts = ordered[np.concatenate(([0], cuts + 1))]
    stops = ordered[np.concatenate((cuts, [len(ordered) - 1]))] + 1
    yield from map(range, starts.tolist(), stops.tolist())
