"""The state of an application or of its replay: where it is, and that one process holds it."""

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
    """State that this process holds: a folder of this host, and a checkpoint there or elsewhere.

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

    `held_by` names the state, and says what a second process can do. A checkpoint that is not in
    `state_dir` has the same path below `checkpoint_dir`.
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
    """Refuse sources whose files are beside the checkpoint, if it is not on the driver's disk."""
    if isinstance(checkpoint, HadoopPath):
        raise UsageError(
            f"{what} keeps files beside the checkpoint, and the checkpoint is at {checkpoint}",
            "that needs a checkpoint in state_dir: leave out checkpoint_dir in headrace.yaml",
        )


def _home(folder: Path) -> str:
    """Return a name of this state_dir that no other host's state_dir has."""
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
            f"checkpoint_dir {url} cannot be reached: {why}",
            "check the URL in headrace.yaml, and whether this storage answers",
        ) from None
