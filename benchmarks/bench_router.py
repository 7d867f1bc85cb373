"""The router: one topic of JSON filtered and projected into another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.arena import PARTITIONS, RAW_TOPIC, console_script
from benchmarks.checks import copied, routed
from benchmarks.events import COUNTRIES, FILTER, PROJECTION
from benchmarks.measure import Command
from benchmarks.mirror_maker import mirror_maker
from benchmarks.model import Benchmark, Competitor, Run
from benchmarks.peer import checkpoint_work_s, peer_command, said, said_work_s, spark_settings
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


def headrace_router(arena: Arena, folder: Path) -> Run:
    """Prepare `router start --once`."""
    target = _target(arena, folder)
    return _headrace(arena, folder, {"starts": (FILTER, target)}, warm=False)


def warm_router(arena: Arena, folder: Path) -> Run:
    """Prepare the same, measured from its second batch on."""
    target = _target(arena, folder)
    return _headrace(arena, folder, {"starts": (FILTER, target)}, warm=True)


def router_without_origin(arena: Arena, folder: Path) -> Run:
    """Prepare the same without the origin header."""
    target = _target(arena, folder)
    return _headrace(arena, folder, {"starts": (FILTER, target)}, warm=True, origin="none")


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
                routed(arena, target)

    def clean_up() -> None:
        arena.drop_topics(*targets, f"{quarantine}.quarantine")

    return Run(
        Command(argv, folder, warm=(first_batch, 1) if warm else None),
        check=check,
        work_s=lambda _: None if warm else checkpoint_work_s(state.glob("queries/*/checkpoint")),
        clean_up=clean_up,
        warm_rows=WARM_ROWS if warm else 0,
    )


def spark_router(arena: Arena, folder: Path) -> Run:
    """Prepare the plain PySpark job."""
    workspace = arena.new_workspace(folder)
    target = _target(arena, folder)
    checkpoint = folder / "checkpoint"
    settings = {
        "bootstrap_servers": arena.bootstrap_servers,
        "topic": RAW_TOPIC,
        "target": target,
        "checkpoint": str(checkpoint),
        "spark": spark_settings(workspace, "spark-router"),
    }
    return Run(
        peer_command("spark_router", settings, folder),
        check=lambda _: routed(arena, target),
        work_s=lambda _: checkpoint_work_s([checkpoint]),
        clean_up=lambda: arena.drop_topics(target),
    )


def kafka_loop(arena: Arena, folder: Path) -> Run:
    """Prepare the loop over librdkafka."""
    return _librdkafka(arena, folder, "kafka_loop", parses=True)


def tracing_loop(arena: Arena, folder: Path) -> Run:
    """Prepare the same loop with what our router adds to each record: where it came from."""
    return _librdkafka(arena, folder, "kafka_loop", parses=True, keeps_origin=True)


def byte_copy(arena: Arena, folder: Path) -> Run:
    """Prepare the copy without parsing."""
    return _librdkafka(arena, folder, "byte_copy", parses=False)


def _librdkafka(
    arena: Arena, folder: Path, module: str, *, parses: bool, keeps_origin: bool = False
) -> Run:
    target = _target(arena, folder)
    settings = {
        "bootstrap_servers": arena.bootstrap_servers,
        "topic": RAW_TOPIC,
        "target": target,
        "partitions": PARTITIONS,
        "keeps_origin": keeps_origin,
    }
    return Run(
        peer_command(module, settings, folder),
        check=lambda measured: (
            routed(arena, target) if parses else copied(arena, target, said(measured))
        ),
        work_s=said_work_s,
        clean_up=lambda: arena.drop_topics(target),
    )


def _target(arena: Arena, folder: Path) -> str:
    target = f"routed-{folder.name}"
    arena.kafka.ensure_topic(target, PARTITIONS)
    return target


ROUTER = Benchmark(
    name="router",
    title="one JSON topic into another: half filtered away, five of nine fields kept",
    baseline="kafka loop",
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
            "the same without the origin header",
            "warm",
            router_without_origin,
            least_rows=2 * WARM_ROWS,
        ),
        Competitor("plain PySpark", "from_json, where, to_json", "cold", spark_router),
        Competitor(
            "kafka loop", "confluent-kafka and orjson, a process a core", "cold", kafka_loop
        ),
        Competitor("tracing loop", "the same, with an origin header", "cold", tracing_loop),
        # Only where there is enough to do: its jars are fetched when it first runs.
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
