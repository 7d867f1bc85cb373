"""The audit: offsets in the table against the topic, to the single record.

What the table's mark says has landed is looked for in the rows. An offset that no row has may
hold no record at all (compaction took it, a transaction ended there), or one that was turned
away; both are looked up before it is called missing.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np
import structlog

from headrace import contract
from headrace.errors import Terminal
from headrace.iceberg.offsets import offsets_of
from headrace.iceberg.tables import table_loader
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.ranges import RangeReader, offset_of
from headrace.landing.completeness import Completeness, completeness_property
from headrace.landing.losses import losses_of, losses_property
from headrace.landing.marks import Mark, Span, mark_property
from headrace.records.columns import decoder
from headrace.times import format_time_us
from lake_writer.findings import Findings, PartitionFindings
from lake_writer.intervals import Runs, Tally
from lake_writer.plan import values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from confluent_kafka import Message
    from pyiceberg.table import Table

    from headrace.config.load import LoadedLakeTable
    from headrace.config.workspace import Workspace
    from headrace.records.columns import Bad

TOLD_EVERY_ROWS: Final = 10_000_000
log = structlog.get_logger(__name__)


def audit(workspace: Workspace, table: LoadedLakeTable) -> Findings:
    """Compare a table with its topic, as far as the table says that it has landed."""
    config = table.config
    name, topic = config.table.identifier, config.source.topic
    loaded = table_loader(workspace, name)()
    said = loaded.properties.get(mark_property(config.name))
    if said is None:
        raise Terminal(
            f"{name} has no mark of {config.name}: it has landed nothing there",
            "start it, or name the file of the writer that fills this table",
        )
    tallies = _tallies(loaded, topic)
    # A partition that has rows and no mark: all of its rows are nobody's.
    spans = {number: Span(0, 0, 0) for number in tallies} | dict(Mark.from_json(said).spans)
    kafka = KafkaCluster(workspace.cluster(config.source.cluster))
    held = kafka.offsets(topic)
    among = _Missing(workspace, table, held).among
    losses = losses_of(loaded.properties.get(losses_property(config.name)))
    accepted = {number: Runs(*losses.get(number, ())) for number in spans}
    absent = {
        number: Runs(
            *(
                run
                for gap in tallies[number].held.gaps(range(span.since, span.next))
                for run in accepted[number].gaps(gap)
            )
        )
        for number, span in spans.items()
    }
    missing = among({number: runs for number, runs in absent.items() if runs})
    partitions = [
        PartitionFindings(
            partition=number,
            since=span.since,
            next=span.next,
            end=held[number].stop if number in held else span.next,
            rows=tallies[number].rows,
            missing=tuple(missing.get(number, Runs())),
            lost=tuple(accepted[number]),
            doubled=tuple(tallies[number].doubled),
            unmarked=tuple(_outside(tallies[number].held, range(span.since, span.next))),
        )
        for number, span in sorted(spans.items())
    ]
    complete = Completeness.from_json(loaded.properties.get(completeness_property(config.name)))
    time = None if complete.time_us is None else format_time_us(complete.time_us)
    return Findings(name, topic, config.name, time, tuple(partitions))


def _tallies(table: Table, topic: str) -> Mapping[int, Tally]:
    tallies: defaultdict[int, Tally] = defaultdict(Tally)
    rows = 0
    for partitions, offsets in offsets_of(table, topic):
        for number in np.unique(partitions).tolist():
            tallies[number].count(offsets[partitions == number])
        before, rows = rows, rows + len(offsets)
        if rows // TOLD_EVERY_ROWS > before // TOLD_EVERY_ROWS:
            log.info("rows read", rows=rows)
    return tallies


def _outside(held: Runs, marked: range) -> list[range]:
    """Return the rows that no commit of this writer tells of."""
    below, beyond = range(marked.start), range(marked.stop, 2**63 - 1)
    return [*held.overlapping(below), *held.overlapping(beyond)]


class _Missing:
    """Tells offsets that ought to have a row from those that rightly have none."""

    def __init__(
        self, workspace: Workspace, table: LoadedLakeTable, held: Mapping[int, range]
    ) -> None:
        self._workspace = workspace
        self._table = table
        self._held = held

    def among(self, absent: Mapping[int, Runs]) -> dict[int, Runs]:
        """Return what is missing of offsets that no row has.

        An offset that the topic no longer has counts as missing: nobody can tell any more.
        """
        if not absent:
            return {}
        source = self._table.config.source
        turned_away = self._quarantined()
        dropped = self._dropped()
        lost = {
            number: Runs(
                *(
                    gone
                    for run in runs
                    for gone in turned_away[number].gaps(
                        range(run.start, min(run.stop, self._begin(number)))
                    )
                )
            )
            for number, runs in absent.items()
        }
        reader = RangeReader(self._workspace.cluster(source.cluster).client_properties())
        try:
            for number, run in self._there(absent, turned_away):
                for _, messages in reader.chunks(source.topic, {number: run}):
                    for offset in {offset_of(one) for one in messages} - dropped(messages):
                        lost[number].add(range(offset, offset + 1))
        finally:
            reader.close()
        return lost

    def _begin(self, number: int) -> int:
        """Return the first offset that the topic still has."""
        span = self._held.get(number)
        return 2**63 - 1 if span is None else span.start

    def _there(
        self, absent: Mapping[int, Runs], turned_away: Mapping[int, Runs]
    ) -> Iterable[tuple[int, range]]:
        for number, runs in absent.items():
            for run in runs:
                there = range(max(run.start, self._begin(number)), run.stop)
                for span in turned_away[number].gaps(there) if there else []:
                    yield number, span

    def _quarantined(self) -> Mapping[int, Runs]:
        found: defaultdict[int, Runs] = defaultdict(Runs)
        quarantine = self._table.config.quarantine
        if quarantine is None:
            return found
        kafka = KafkaCluster(self._workspace.cluster(quarantine.cluster))
        if quarantine.topic not in kafka.topics():
            return found
        topic = self._table.config.source.topic.encode()
        for message in kafka.records(quarantine.topic):
            headers = dict(message.headers() or ())
            if headers.get(contract.QUARANTINE_TOPIC) == topic:
                number, offset = (
                    int(headers[name] or 0)
                    for name in (contract.QUARANTINE_PARTITION, contract.QUARANTINE_OFFSET)
                )
                found[number].add(range(offset, offset + 1))
        return found

    def _dropped(self) -> Callable[[Sequence[Message]], set[int]]:
        """Return what tells which records are dropped as bad ones: they are decoded again."""
        hygiene = self._table.config.hygiene
        if "drop" not in {hygiene.on_bad_record, hygiene.tombstones}:
            return lambda _messages: set()
        decode = decoder(values_of(self._workspace, self._table), None)

        def among(messages: Sequence[Message]) -> set[int]:
            bad: list[Bad] = []
            decode(messages, time.time_ns() // 1_000_000, [], [], [], [], bad)
            return {offset_of(message) for message, broken in bad if broken.action == "drop"}

        return among
