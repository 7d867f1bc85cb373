"""What all routers have in common: a topic of their own, which is watched, checked and dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.arena import PARTITIONS, RAW_TOPIC
from benchmarks.checks import copied, routed
from benchmarks.model import Run
from benchmarks.output import Output
from benchmarks.peer import at_work_s, peer_command, said, said_work_s, spark_settings

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.arena import Arena
    from benchmarks.measure import Command


def new_target(arena: Arena, folder: Path) -> str:
    """Make the topic that a run writes to."""
    target = f"routed-{folder.name}"
    arena.kafka.ensure_topic(target, PARTITIONS)
    return target


def routing_run(arena: Arena, target: str, command: Command, *, has_origin: bool = False) -> Run:
    """Return the run of a command that routes; its topic is watched from outside."""
    return Run(
        command,
        check=lambda _: routed(arena, target, has_origin=has_origin),
        work_s=at_work_s,
        clean_up=lambda: arena.drop_topics(target),
        output=Output(target, PARTITIONS, arena.loaded.passing),
    )


def tuned_loop(arena: Arena, folder: Path) -> Run:
    """Prepare the loop over librdkafka."""
    return _loop(arena, folder, has_origin=False)


def tuned_loop_with_origin(arena: Arena, folder: Path) -> Run:
    """Prepare the same loop with what our router adds to each record: where it came from."""
    return _loop(arena, folder, has_origin=True)


def _loop(arena: Arena, folder: Path, *, has_origin: bool) -> Run:
    target = new_target(arena, folder)
    settings = {**_topics(arena, target), "has_origin": has_origin}
    command = peer_command("tuned_loop", settings, folder)
    return routing_run(arena, target, command, has_origin=has_origin)


def byte_copy(arena: Arena, folder: Path) -> Run:
    """Prepare the copy without parsing."""
    target = new_target(arena, folder)
    return Run(
        peer_command("byte_copy", _topics(arena, target), folder),
        check=lambda measured: copied(arena, target, said(measured)),
        # How many records it writes is known afterwards.
        work_s=said_work_s,
        clean_up=lambda: arena.drop_topics(target),
    )


def _topics(arena: Arena, target: str) -> dict[str, object]:
    return {
        "bootstrap_servers": arena.bootstrap_servers,
        "topic": RAW_TOPIC,
        "target": target,
        "partitions": PARTITIONS,
    }


def spark_router(arena: Arena, folder: Path) -> Run:
    """Prepare the plain PySpark job."""
    workspace = arena.new_workspace(folder)
    target = new_target(arena, folder)
    settings = {
        **_topics(arena, target),
        "checkpoint": str(folder / "checkpoint"),
        "spark": spark_settings(workspace, "spark-router"),
    }
    return routing_run(arena, target, peer_command("spark_router", settings, folder))
