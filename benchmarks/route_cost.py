"""`python -m benchmarks.route_cost`: what each part of routing a record costs, in ns of CPU.

The router's own functions route events of the `router` benchmark. They read them from librdkafka's
mock cluster, which runs in a process of its own, and send them there. CPU is that of all threads of
this process: the best of many rounds, in which all parts take turns. So the figures hold on a busy
machine, too; they leave out what a real broker, Spark and its JVM need.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias, cast

from confluent_kafka import Producer

from benchmarks.events import AVRO_SCHEMA, FILTER, generate
from headrace.expressions.projection import Projected
from headrace.kafka.bulk import Producers, ProducerSettings
from headrace.kafka.ranges import RangeReader
from headrace.records.hygiene.rules import HygieneRules, ValueRange
from headrace.schema.avro import parse_avro
from router.ledger.entries import Counts, LedgerStretch
from router.ledger.places import Place
from router.plan.model import Outlet, RoutePlan, Source, ToTopic
from router.tasks.compile import compile_outlet, compile_route
from router.tasks.task import RoutingWork, work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from headrace.config.stream.sinks import Origin
    from headrace.kafka.message import Message
    from router.tasks.compile import CompiledOutlet, Route

    Chunks: TypeAlias = Sequence[tuple[int, Sequence[Message]]]

PARTITIONS: Final = 4
SEED: Final = 7
# As dense in time as in a run of the benchmark.
EVENTS_A_RUN: Final = 10_000_000
# Of a partition, for the parts that do not read.
MOST_HELD: Final = 5_000
NOTHING: Final = "1 = 0"
COLUMNS: Final = (
    *(Projected(name, name) for name in ("event_id", "user_id", "title_id", "event_ts")),
    Projected("country", "upper(country)"),
)
RULES: Final = HygieneRules(
    required=("event_id", "user_id", "event_ts"), ranges={"title_id": ValueRange("0", "9999999")}
)
MOCK_CLUSTER: Final = """
import sys
from confluent_kafka import Producer
cluster = Producer({"test.mock.num.brokers": 1, "log_level": 0})
(broker,) = cluster.list_topics(timeout=30).brokers.values()
print(f"{broker.host}:{broker.port}", flush=True)
sys.stdin.read()
"""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of work over so many records; what it costs includes that of another part."""

    name: str
    run: Callable[[], object]
    records: int
    within: str | None = None


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the nanoseconds of each part, for times in milliseconds and in microseconds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.route_cost", description=__doc__)
    parser.add_argument("--records", type=int, default=100_000, help="[100000]")
    parser.add_argument("--rounds", type=int, default=15, help="[15]")
    options = parser.parse_args(arguments)
    with mock_cluster() as servers:
        millis, micros = (
            costs(parts(servers, micros=micros, count=options.records), options.rounds)
            for micros in (False, True)
        )
    print(f"{'ns of CPU':44}{'ms times':>10}{'µs times':>10}")
    for name, cost in millis.items():
        print(f"{name:44}{cost:10.0f}{micros[name]:10.0f}")
    return 0


@contextlib.contextmanager
def mock_cluster() -> Iterator[str]:
    """Run a mock cluster in a process of its own; yield its address."""
    command = [sys.executable, "-c", MOCK_CLUSTER]
    # It ends with its input, and so with us, however we end.
    with (
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process,
        cast("IO[str]", process.stdin),
    ):
        yield cast("IO[str]", process.stdout).readline().strip()


def parts(servers: str, *, micros: bool, count: int) -> list[Part]:
    """Return the parts, with the events in the cluster that they work on."""
    topic = "micros" if micros else "millis"
    ends = load(servers, topic, micros=micros, count=count)
    whole = {number: range(end) for number, end in ends.items()}
    reader = RangeReader({"bootstrap.servers": servers})
    some = {number: range(min(end, MOST_HELD)) for number, end in ends.items()}
    chunks = [(number, list(messages)) for number, messages in reader.chunks(topic, some)]
    read = sum(len(messages) for _, messages in chunks)
    header, none = plan_of(servers, topic, "header"), plan_of(servers, topic, "none")
    nothing = replace(none, outlets=(replace(none.outlets[0], filter=NOTHING),))

    def routing(name: str, plan: RoutePlan, within: str | None) -> Part:
        route = compiled(plan)
        return Part(name, lambda: route_all(route, chunks, _drop), read, within)

    def sending(name: str, plan: RoutePlan, within: str | None) -> Part:
        sent: list[tuple[object, ...]] = []
        route_all(compiled(plan), chunks, lambda *record: sent.append(record))
        return Part(name, lambda: send_all(plan, sent), len(sent), within)

    return [
        Part("consume", lambda: exhaust(reader, topic, whole), count),
        routing("decode", nothing, None),
        routing(
            "check three required columns and a range", replace(nothing, hygiene=RULES), "decode"
        ),
        routing("filter, project and encode", none, "decode"),
        routing("header of the origin", header, "filter, project and encode"),
        sending("produce one that is kept, origin: none", none, None),
        sending(
            "produce one that is kept, its header", header, "produce one that is kept, origin: none"
        ),
        Part("a whole task, origin: none", lambda: run_task(none, ends), count),
        Part("a whole task, origin: header", lambda: run_task(header, ends), count),
    ]


def load(servers: str, topic: str, *, micros: bool, count: int) -> dict[int, int]:
    """Send events to partitions in turns; return how many each of them has."""
    producer = Producer(
        {"bootstrap.servers": servers, "compression.type": "lz4", "batch.size": 1_000_000}
    )
    ends = dict.fromkeys(range(PARTITIONS), 0)
    events = itertools.islice(generate(EVENTS_A_RUN, SEED), count)
    for number, event in enumerate(events):
        # Digits that differ from event to event.
        digits = b"%03d" % (number * 7919 % 1000) if micros else b""
        value = event.value.replace(b'Z"', digits + b'Z"', 1)
        partition = number % PARTITIONS
        producer.produce(topic, value, event.key, partition, timestamp=event.timestamp_ms)
        ends[partition] += 1
        if not number % 10_000:
            producer.flush()
    producer.flush()
    return ends


def plan_of(servers: str, topic: str, origin: Origin) -> RoutePlan:
    """Return the stream of the `router` benchmark over this topic."""
    schema = parse_avro(AVRO_SCHEMA, "events")
    settings = ProducerSettings((("bootstrap.servers", servers),), "lz4", 1_000_000)
    target = ToTopic("mock", "out", "json", "user_id", "lz4", origin, producer=settings)
    source = Source("mock", topic, dict(settings.properties), None, "json", schema, None)
    outlet = Outlet("out", FILTER, COLUMNS, target)
    name = f"{topic} {origin}"
    return RoutePlan(name, name, source, HygieneRules(), None, (outlet,), needs_time=False)


def target_of(plan: RoutePlan) -> ToTopic:
    """Return the topic that a plan writes."""
    return cast("ToTopic", plan.outlets[0].target)


def compiled(plan: RoutePlan) -> Route:
    """Return the function of a plan."""
    one = compile_outlet(plan.outlets[0], plan.source.schema)
    return compile_route(plan, [cast("CompiledOutlet", one)])


def route_all(route: Route, chunks: Chunks, send: Callable[..., None]) -> None:
    """Route messages that were read before."""
    for number, messages in chunks:
        route(messages, number, 0, [(send, send)], [], [])


def send_all(plan: RoutePlan, records: Sequence[tuple[Any, ...]]) -> None:
    """Produce records and wait until they have arrived."""
    producer = _producers.get(target_of(plan).producer or ProducerSettings((), "none", 0))
    for number, record in enumerate(records):
        try:
            producer.produce(*record)
        except BufferError:
            producer.poll(0.1)
            producer.produce(*record)
        if not number % 500:
            producer.poll(0)
    producer.flush()


def exhaust(reader: RangeReader, topic: str, ranges: Mapping[int, range]) -> None:
    """Read ranges to their ends."""
    for _ in reader.chunks(topic, ranges):
        pass


def run_task(plan: RoutePlan, ends: Mapping[int, int]) -> None:
    """Do what a Spark task does."""
    places = {
        number: Place.beginning("", LedgerStretch(0, end, Counts())) for number, end in ends.items()
    }
    done = work(RoutingWork(plan, ends, {"out": places}))
    if done.problem is not None:
        raise done.problem


def costs(found: Sequence[Part], rounds: int) -> dict[str, float]:
    """Return the nanoseconds of a record by part; the parts take turns."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        for part in found:
            gc.collect()
            gc.disable()
            began_ns = time.process_time_ns()
            part.run()
            cost = (time.process_time_ns() - began_ns) / part.records
            gc.enable()
            best[part.name] = min(cost, best.get(part.name, cost))
    return {
        part.name: best[part.name] - (0 if part.within is None else best[part.within])
        for part in found
    }


def _drop(*_: object) -> None:
    """Take the place of a producer."""


_producers: Final = Producers()

if __name__ == "__main__":
    sys.exit(main())
