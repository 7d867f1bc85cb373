"""After Spark has evaluated: the records of an output are sent, and the rest accounted for."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark import TaskContext

from headrace.errors import HeadraceError
from headrace.kafka.bulk import NotTaken, not_taken
from headrace.kafka.message import RecordPosition
from headrace.kafka.quarantine import EVALUATING, stops_at
from headrace.records.arrow import to_rows
from headrace.records.avro.writer import AvroWriter
from headrace.records.json.writer import JsonWriter
from headrace.records.rows import attribute, row_class
from router.ledger.entries import Counts
from router.plan.model import ToTopic
from router.tasks.sending import Sending, SentRecord, readers, reason_of, sent_as
from router.tasks.spark_decoding import BAD, HEADERS, POSITION
from router.tasks.task import Done, again_by_spark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from headrace.kafka.bulk import RefusedRecord
    from headrace.kafka.ranges import RangeReader
    from headrace.records.rows import Row
    from headrace.schema.model import Record
    from router.plan.model import Outlet, RoutePlan
    from router.tasks.sending import Sent
    from router.tasks.task import RoutingWork

    Batches = Iterable[pa.RecordBatch]

OUT: Final = "__out__"
ANSWER: Final = "done"


def send_batches(
    works: Sequence[RoutingWork], name: str, written: Record
) -> Callable[[Batches], Batches]:
    """Return what sends the evaluated records of an output, and answers with its counts."""

    def send(batches: Batches) -> Batches:
        # One piece of work is one partition of Spark's, from its beginning to here.
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        problem = again_by_spark()
        done = (
            Done(problem=problem)
            if problem is not None
            else _sent(works[number], name, written, batches)
        )
        yield pa.RecordBatch.from_pydict({ANSWER: [pickle.dumps(done)]})

    return send


def _sent(work: RoutingWork, name: str, written: Record, batches: Batches) -> Done:
    plan = work.plan
    sending = Sending(plan, [name])
    refused = {(one.partition, one.offset): one.reason for one in work.refused}
    broken: NotTaken | None = None
    try:
        with readers.reader(plan.source.properties) as reader:
            sending.begin()
            for batch in batches:
                # Per batch: what is refused has to be known by what it was sent as.
                sent: dict[Sent, list[SentRecord]] = {}
                try:
                    _send_batch(
                        sending, sending.outlets[name], written, batch, reader, sent, refused
                    )
                except NotTaken as problem:
                    # A transaction that a record has broken takes no more.
                    broken = problem
                again = sending.settle(reader, lambda refused, sent=sent: _found(refused, sent))  # type: ignore[misc]  # a default binds the loop's value
                if again:
                    sending.give_up()
                    return Done(refused=again)
                if broken is not None:
                    raise not_taken(broken)  # noqa: TRY301 - the transaction is given up below
            sending.commit(work.places)
    except HeadraceError as problem:
        sending.give_up()
        return Done(problem=problem)
    except BaseException:
        sending.give_up()
        raise
    return Done(sending.counts, partitions=list(work.ends))


def keep_failed(task: tuple[RoutePlan, Sequence[tuple[int, int]]]) -> HeadraceError | None:
    """Quarantine records on which the expressions of a plan's only output fail."""
    plan, positions = task
    if plan.hygiene.on_bad_record != "quarantine":
        return None
    (outlet,) = plan.outlets
    sending = Sending(plan, [])
    try:
        with readers.reader(plan.source.properties) as reader:
            sending.begin()
            for partition, offset in positions:
                _failed(sending, outlet, {"partition": partition, "offset": offset}, reader)
            sending.settle(reader, lambda _: ())
            sending.commit({})
    except HeadraceError as problem:
        sending.give_up()
        return problem
    return None


def _send_batch(  # noqa: PLR0913, PLR0917 - a task's two halves: what it sends with, and what
    sending: Sending,
    outlet: Outlet,
    written: Record,
    batch: pa.RecordBatch,
    reader: RangeReader,
    sent: dict[Sent, list[SentRecord]],
    refused: Mapping[tuple[int, int], str],
) -> None:
    """Send what passed of a batch, into `sent`, and account for the rest of it."""
    positions = batch.column(POSITION).to_pylist()
    headers = batch.column(HEADERS).to_pylist()
    bad = batch.column(BAD).to_pylist()
    out = batch.column(OUT)
    passed = out.field("passed")
    failed, filtered = out.is_null().to_pylist(), passed.is_null().to_pylist()
    rows = to_rows(passed.field("values"), written)
    keys = passed.field("key").to_pylist()
    encode, producer = encoder(outlet, written), sending.producers[outlet.name]
    for index, position in enumerate(positions):
        number = position["partition"]
        if bad[index] is not None:
            counts = _rejected_counts(sending, position, bad[index])
        elif failed[index]:
            counts = _failed(sending, outlet, position, reader)
        elif filtered[index]:
            counts = Counts(filtered=1)
        elif (why := refused.get((number, position["offset"]))) is not None:
            message = reader.one(sending.plan.source.topic, number, position["offset"])
            counts = sending.refused(outlet.name, message, why)
        else:
            own = [(one["name"], one["value"]) for one in headers[index]]
            try:
                value = encode(rows[index])
            except Exception as problem:  # noqa: BLE001 - whatever a format has against a value
                counts = _failed(sending, outlet, position, reader, problem)
            else:
                producer.produce_patiently(outlet.sent_to, value, keys[index], own)
                known = sent.setdefault(sent_as(outlet.sent_to, value, keys[index]), [])
                known.append(SentRecord(number, position["offset"], own))
                counts = Counts(written=1)
        sending.count(outlet.name, number, counts + Counts(read=1))
    sending.poll()


def _found(
    refused: Sequence[RefusedRecord], sent: Mapping[Sent, list[SentRecord]]
) -> Iterable[tuple[RefusedRecord, SentRecord]]:
    for one in refused:
        # What is the same to the last byte is found in turns.
        same = sent[one.topic, one.value, one.key]
        same.append(same.pop(0))
        yield one, same[-1]


def _rejected_counts(
    sending: Sending, position: Mapping[str, int], bad: Mapping[str, str]
) -> Counts:
    # The quarantine is a query of its own beside this one: here its records are only counted.
    if bad["action"] == "fail":
        plan = sending.plan
        at = RecordPosition(plan.source.topic, position["partition"], position["offset"])
        raise stops_at(f"stream {plan.stream}", at, bad["why"])
    return Counts(dropped={bad["kind"]: 1}) if bad["action"] == "drop" else Counts(quarantined=1)


def _failed(
    sending: Sending,
    outlet: Outlet,
    position: Mapping[str, int],
    reader: RangeReader,
    problem: Exception | None = None,
) -> Counts:
    """Do as with other bad ones with a record that Spark, or else the output's format, fails on."""
    message = reader.one(sending.plan.source.topic, position["partition"], position["offset"])
    reason = f"Spark cannot evaluate output {outlet.name} for it"
    if problem is not None:
        reason = reason_of(problem)
    counts = sending.rejected(message, sending.plan.hygiene.on_bad_record, "expression", reason)
    if counts.quarantined:
        sending.keep(message, EVALUATING, reason, f"{sending.plan.stream}.{outlet.name}")
    return counts


def encoder(outlet: Outlet, written: Record) -> Callable[[Row], bytes | None]:
    """Return what makes the bytes of an output's row, whose types Spark found."""
    target = outlet.target
    if isinstance(target, ToTopic) and target.avro is not None:
        schema, schema_id = target.avro
        write, make = AvroWriter(schema, schema_id), row_class(schema)
        names = {field.name: attribute(at) for at, field in enumerate(written.fields)}
        order = [names.get(field.name) for field in schema.fields]
        return lambda row: write(
            make(*(None if name is None else getattr(row, name) for name in order))
        )
    if isinstance(target, ToTopic) and target.format == "raw":
        return lambda row: row.f0
    return JsonWriter(written)
