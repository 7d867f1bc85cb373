"""Where an application, or a replay of it, keeps its state: held by who runs it, on any host."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from headrace import state_files
from headrace.errors import Transient, UsageError
from headrace.jvm.cluster import is_on_this_machine
from headrace.jvm.relay import Relay
from headrace.locks import hold
from headrace.queries.hadoop_path import HadoopPath
from headrace.queries.lease import Lease

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.config.workspace.workspace import Workspace
    from headrace.jvm.relay import RelayAddress
    from headrace.queries.checkpoint import Place

CHECKPOINT = "checkpoint"
HOME = "home"


@dataclass(frozen=True, slots=True)
class HeldState:
    """What is held: a folder of this host, and its checkpoint there or elsewhere.

    `still_ours` raises where another host may run it by now.
    """

    folder: Path
    checkpoint: Place
    still_ours: Callable[[], None]
    relay: RelayAddress | None


@contextlib.contextmanager
def held_state(
    workspace: Workspace, spark: SparkSession, folder: Path, held_by: tuple[str, str]
) -> Iterator[HeldState]:
    """Hold the state of an application or a replay; refuse a disk that its tasks do not reach.

    `held_by` is what it is called, and what whoever comes second can do. Elsewhere its checkpoint
    has the same path as in `state_dir`.
    """
    what, _ = held_by
    with contextlib.ExitStack() as held:
        held.enter_context(hold(folder / "lock", *held_by))
        relay = None
        if not is_on_this_machine(workspace.spark.master):
            relay = held.enter_context(Relay(spark, folder))
        url = workspace.checkpoint_dir
        if url is None:
            checkpoint = folder / CHECKPOINT
            workspace.require_reached(
                f"the checkpoint of {what}", str(checkpoint), "checkpoint_dir"
            )
            yield HeldState(folder, checkpoint, lambda: None, relay)
            return
        with _reached(url):
            path = folder.relative_to(workspace.state_dir)
            place = HadoopPath(spark, f"{url.rstrip('/')}/{path}")
            lease = held.enter_context(Lease(place, what, _home(folder)))
        yield HeldState(folder, place / CHECKPOINT, lease.require, relay)


def refuse_elsewhere(checkpoint: Place, what: str) -> None:
    """Refuse what is kept beside a checkpoint on the driver's disk, where that is not there."""
    if isinstance(checkpoint, HadoopPath):
        raise UsageError(
            f"{what} keeps files beside the checkpoint, which lies at {checkpoint}",
            "that needs a checkpoint in state_dir: leave out checkpoint_dir in headrace.yaml",
        )


def _home(folder: Path) -> str:
    """Return what tells this state_dir from that of another host."""
    file = folder / HOME
    state_files.write_first(file, uuid4().hex.encode())
    return file.read_text()


@contextlib.contextmanager
def _reached(url: str) -> Iterator[None]:
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # noqa: PLC0415 - it comes with Spark

    try:
        yield
    except Py4JJavaError as problem:
        why = str(problem.java_exception.getMessage()).partition("\n")[0]
        raise Transient(
            f"the place of checkpoints, {url}, is not reached: {why}",
            "check checkpoint_dir in headrace.yaml, and that this storage answers",
        ) from None
