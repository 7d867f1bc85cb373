"""The router: one topic of JSON filtered and projected into another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.arena import PARTITIONS, RAW_TOPIC, console_script, use_master
from benchmarks.checks import routed
from benchmarks.events import COUNTRIES, FILTER, PROJECTION
from benchmarks.jvm_routers import flink_sql, kafka_streams, typed_flink_sql
from benchmarks.measure import Command
from benchmarks.mirror_maker import mirror_maker
from benchmarks.model import Benchmark, Competitor, Run
from benchmarks.output import Output
from benchmarks.peer import at_work_s
from benchmarks.redpanda import redpanda_connect, unordered_redpanda_connect
from benchmarks.routing import (
    byte_copy,
    new_target,
    spark_router,
    tuned_loop,
    tuned_loop_with_origin,
)
from headrace.line.pace import FIRST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from benchmarks.arena import Arena
    from benchmarks.measure import Measured
    from headrace.config.stream.sinks import Origin

STREAM = """\
kind: stream
name: playback
source: {{type: kafka, cluster: here, topic: {source}, format: json, schema: event.avsc}}
hygiene: {{quarantine: {{cluster: here, topic: {target}.quarantine}}}}
isolation: stream
outputs:
"""
OUTPUT = """\
  - name: {name}
    filter: "{filter}"
    project: [{project}]
    sink: {{type: kafka, cluster: here, topic: {target}, format: json, key: user_id{more}}}
"""
# What the router does in its first batch; all competitors that are measured warm begin behind it.
WARM_ROWS = FIRST
# The short form has fewer: it shows that all of it works, and needs no JDK and no Go.
PEER_ROWS = 200_000


def headrace_router(arena: Arena, folder: Path) -> Run:
    """Prepare `router start --once`."""
    target = new_target(arena, folder)
    return _headrace(arena, folder, {"starts": (FILTER, target)}, warm=False)


def warm_router(arena: Arena, folder: Path) -> Run:
    """Prepare the same, measured from its second batch on."""
    target = new_target(arena, folder)
    return _headrace(arena, folder, {"starts": (FILTER, target)}, warm=True)


def router_without_origin(arena: Arena, folder: Path) -> Run:
    """Prepare the same without the origin header."""
    target = new_target(arena, folder)
    return _headrace(arena, folder, {"starts": (FILTER, target)}, warm=False, origin="none")


def routed_by(master: str, arena: Arena, folder: Path) -> Run:
    """Prepare the same on a cluster."""
    target = new_target(arena, folder)
    run = _headrace(arena, folder, {"starts": (FILTER, target)}, warm=False)
    use_master(folder, master)
    return run


def _headrace(
    arena: Arena,
    folder: Path,
    outputs: Mapping[str, tuple[str, str]],
    *,
    warm: bool,
    origin: Origin = "header",
) -> Run:
    workspace = arena.new_workspace(folder)
    quarantine = f"quarantine-{folder.name}"
    project = ", ".join(f'"{item}"' for item in PROJECTION)
    text = STREAM.format(source=RAW_TOPIC, target=quarantine)
    for name, (condition, target) in outputs.items():
        text += OUTPUT.format(
            name=name,
            filter=condition,
            project=project,
            target=target,
            # An older headrace, which runs the same file, knows no such key.
            more="" if origin == "header" else f", origin: {origin}",
        )
    # Its positions are in the cluster: a stream of the same name would go on where the last one was.
    name = f"playback-{folder.name.partition('-')[0]}"
    text = text.replace("name: playback\n", f"name: {name}\n", 1)
    (workspace / "stream.yaml").write_text(text, encoding="utf-8")
    argv = [console_script("router"), "start", "-c", "stream.yaml", "--once"]
    state = workspace / ".headrace" / "state" / "router" / name
    group = next(iter(outputs)) if len(outputs) == 1 else "all"
    first_batch = state / "queries" / group / "checkpoint" / "commits" / "0"
    targets = {target for _, target in outputs.values()}

    def check(_: Measured) -> None:
        for condition, target in outputs.values():
            if condition == FILTER:
                routed(arena, target, has_origin=origin == "header")

    def clean_up() -> None:
        arena.drop_topics(*targets, f"{quarantine}.quarantine")

    return Run(
        Command(argv, folder, warm=(first_batch, 1) if warm else None),
        check=check,
        work_s=at_work_s,
        clean_up=clean_up,
        warm_rows=WARM_ROWS if warm else 0,
        # What is warm is measured from within its work, so its first output tells nothing.
        output=None if warm else Output(min(targets), PARTITIONS, arena.loaded.passing),
    )


ROUTER = Benchmark(
    name="router",
    title="one JSON topic into another: half filtered away, five of nine fields kept",
    baseline="tuned loop",
    limit="byte copy",
    competitors=(
        Competitor("headrace", "router start --once", "cold", headrace_router, is_our_command=True),
        Competitor(
            "headrace warm",
            "the same, from its second batch on",
            "warm",
            warm_router,
            least_rows=2 * WARM_ROWS,
            is_our_command=True,
        ),
        Competitor(
            "headrace, origin: none",
            "router start --once without the origin header",
            "cold",
            router_without_origin,
        ),
        Competitor("plain PySpark", "from_json, where, to_json", "cold", spark_router),
        Competitor(
            "tuned loop", "confluent-kafka and orjson, a process a core", "cold", tuned_loop
        ),
        Competitor(
            "tuned loop, origin",
            "the same, with an origin header",
            "cold",
            tuned_loop_with_origin,
        ),
        # Only where there is enough to do: what they need is fetched when they first run.
        Competitor(
            "Kafka Streams",
            "filter, map and Jackson; two threads",
            "cold",
            kafka_streams,
            least_rows=PEER_ROWS,
        ),
        Competitor(
            "Flink SQL", "INSERT INTO … SELECT; two slots", "cold", flink_sql, least_rows=PEER_ROWS
        ),
        Competitor(
            "Flink SQL, origin",
            "the same, with a typed time and an origin header",
            "cold",
            typed_flink_sql,
            least_rows=PEER_ROWS,
        ),
        Competitor(
            "Redpanda Connect",
            "a mapping in two threads, order kept",
            "cold",
            redpanda_connect,
            least_rows=PEER_ROWS,
        ),
        Competitor(
            "Redpanda Connect, unordered",
            "the same with no order",
            "cold",
            unordered_redpanda_connect,
            least_rows=PEER_ROWS,
        ),
        Competitor(
            "MirrorMaker 2",
            "Kafka Connect copies the whole topic",
            "warm",
            mirror_maker,
            least_rows=2 * WARM_ROWS,
        ),
        Competitor("byte copy", "librdkafka alone, a process a core", "cold", byte_copy),
    ),
    load=lambda arena: arena.loaded.rows,
    pairs=(
        ("headrace", "tuned loop, origin"),
        ("headrace", "Flink SQL, origin"),
        ("headrace", "Kafka Streams"),
        ("headrace, origin: none", "tuned loop"),
        ("headrace, origin: none", "Flink SQL"),
        ("headrace, origin: none", "Kafka Streams"),
        ("headrace, origin: none", "Redpanda Connect"),
    ),
)


def _ten(arena: Arena, folder: Path, conditions: Sequence[str]) -> Run:
    outputs: dict[str, tuple[str, str]] = {}
    for number, condition in enumerate(conditions):
        target = f"routed-{folder.name}-{number}"
        arena.kafka.ensure_topic(target, PARTITIONS)
        outputs[f"out{number}"] = (condition, target)
    return _headrace(arena, folder, outputs, warm=True)


def ten_halves(arena: Arena, folder: Path) -> Run:
    """Prepare ten outputs, each of which keeps half of all records."""
    return _ten(arena, folder, [FILTER] * 10)


def ten_parts(arena: Arena, folder: Path) -> Run:
    """Prepare ten outputs that share the records out: an eighth or a sixteenth to each."""
    countries = [f"{FILTER} AND country = '{one}'" for one in COUNTRIES]
    return _ten(arena, folder, [*countries, "event_type = 'stop'", "event_type = 'seek'"])


OUTPUTS = Benchmark(
    name="outputs",
    title="ten outputs of one stream that is read and decoded once (isolation: stream)",
    baseline="one output",
    limit="one output",
    competitors=(
        Competitor("one output", "half of the records", "warm", warm_router, 2 * WARM_ROWS),
        Competitor("ten that share", "each its part", "warm", ten_parts, 2 * WARM_ROWS),
        Competitor("ten halves", "each half of all records", "warm", ten_halves, 2 * WARM_ROWS),
    ),
    load=lambda arena: arena.loaded.rows,
)
