"""The router: one topic of JSON filtered and projected into another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.arena import PARTITIONS, RAW_TOPIC, console_script
from benchmarks.checks import copied, routed
from benchmarks.events import FILTER, PROJECTION
from benchmarks.measure import Command
from benchmarks.model import Benchmark, Competitor, Run
from benchmarks.peer import checkpoint_work_s, peer_command, said, said_work_s, spark_settings

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.arena import Arena

STREAM = """\
kind: stream
name: playback
source: {{type: kafka, cluster: here, topic: {source}, format: json, schema: event.avsc}}
hygiene: {{quarantine: {{cluster: here, topic: {target}.quarantine}}}}
outputs:
  - name: starts
    filter: "{filter}"
    project: [{project}]
    sink: {{type: kafka, cluster: here, topic: {target}, format: json, key: user_id}}
"""


def headrace_router(arena: Arena, folder: Path) -> Run:
    """Prepare `router start --once`."""
    workspace = arena.new_workspace(folder)
    target = _target(arena, folder)
    project = ", ".join(f'"{item}"' for item in PROJECTION)
    text = STREAM.format(source=RAW_TOPIC, target=target, filter=FILTER, project=project)
    (workspace / "stream.yaml").write_text(text, encoding="utf-8")
    argv = [console_script("router"), "start", "-c", "stream.yaml", "--once"]
    state = workspace / ".headrace" / "state" / "router" / "playback"

    def clean_up() -> None:
        arena.drop_topics(target, f"{target}.quarantine")

    return Run(
        Command(argv, folder),
        check=lambda _: routed(arena, target),
        work_s=lambda _: checkpoint_work_s(state.glob("*/checkpoint")),
        clean_up=clean_up,
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


def byte_copy(arena: Arena, folder: Path) -> Run:
    """Prepare the copy without parsing."""
    return _librdkafka(arena, folder, "byte_copy", parses=False)


def _librdkafka(arena: Arena, folder: Path, module: str, *, parses: bool) -> Run:
    target = _target(arena, folder)
    settings = {
        "bootstrap_servers": arena.bootstrap_servers,
        "topic": RAW_TOPIC,
        "target": target,
        "partitions": PARTITIONS,
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
        Competitor("headrace", "router start --once", "cold", headrace_router),
        Competitor("plain PySpark", "from_json, where, to_json", "cold", spark_router),
        Competitor(
            "kafka loop", "confluent-kafka and orjson, a process a core", "cold", kafka_loop
        ),
        Competitor("byte copy", "librdkafka alone, a process a core", "cold", byte_copy),
    ),
    load=lambda arena: arena.loaded.rows,
)
