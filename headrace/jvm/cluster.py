"""What a session needs on machines that share no disk with the driver.

Reads: Spark's settings. Writes: nothing. Promises: what tasks use travels by Spark's own ways, or is
named where it lies on the workers; a path that means the driver's disk alone is refused.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
JARS: Final = "spark.jars"
ARCHIVES: Final = "spark.archives"
# YARN puts these on its machines before an executor starts, and keeps them for later ones.
YARN_JARS: Final = "spark.yarn.dist.jars"
YARN_ARCHIVES: Final = "spark.yarn.dist.archives"
EXECUTOR_CLASSPATH: Final = "spark.executor.extraClassPath"
TASKS_PYTHON: Final = "spark.pyspark.python"
YARN: Final = "yarn"
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def is_local(master: str) -> bool:
    """Whether tasks run in the driver's own process."""
    return re.fullmatch(r"local(\[.*\])?", master) is not None


def is_on_this_machine(master: str) -> bool:
    """Whether all tasks run on the driver's machine: a master on the loopback has no other workers."""
    if is_local(master):
        return True
    if not master.startswith("spark://"):
        return False
    hosts = (one.rpartition(":")[0] for one in master.removeprefix("spark://").split(","))
    return all(host in LOOPBACK for host in hosts)


class NotReached(Terminal):
    """A folder of the driver's disk, where tasks on other machines would have one of their own."""

    def __init__(self, what: str, location: str, master: str, key: str | None) -> None:
        super().__init__(
            f"{what} is {location}, a folder of this machine's disk, and the tasks of {master} run "
            "on other machines: each would have a folder of its own",
            f"name storage that all of them reach {_such_as(key)}; or, if they share "
            "that folder, say so in headrace.yaml: spark: {shared_folders: [FOLDER]}",
        )


def _such_as(key: str | None) -> str:
    if key is None:
        return "(s3://…, hdfs://HOST:PORT/…)"
    return f"(in headrace.yaml, {key}: hdfs://HOST:PORT/… or s3a://…)"


def require_reached(
    what: str, location: str, master: str, shared: Sequence[Path], key: str | None = None
) -> None:
    """Refuse a location on the driver's disk alone, which tasks on other machines do not reach.

    The tasks would not fail: each would write to its own disk, and the files would be lost.
    """
    if is_on_this_machine(master):
        return
    if _SCHEME.match(location) and not location.startswith("file:"):
        return
    path = os.path.normpath("/" + location.removeprefix("file:").lstrip("/"))
    if not any(Path(path).is_relative_to(os.path.normpath(one)) for one in shared):
        raise NotReached(what, path, master, key)


def cluster_settings(
    master: str, jars: Sequence[Path], given: Mapping[str, str], root: Path
) -> dict[str, str]:
    """Return how jars and the Python environment reach the executors of a cluster.

    `given` are the user's own settings; paths in them are relative to `root`.
    """
    on_yarn = master == YARN
    theirs = [absolute(one, root) for one in _listed(given.get(JARS, ""))]
    named = {_file_name(one) for one in theirs}
    ours = [str(jar) for jar in jars if jar.name not in named]
    settings = {YARN_JARS if on_yarn else JARS: ",".join((*theirs, *ours))}
    if EXECUTOR_CLASSPATH not in given:
        # Ahead of Spark's own. With YARN they are in the folder that an executor starts in; a
        # standalone worker has them so early only where they are installed as they are here.
        paths = [jar.name if on_yarn else str(jar) for jar in jars]
        settings[EXECUTOR_CLASSPATH] = os.pathsep.join(paths)
    if ARCHIVES in given:
        archives = ",".join(absolute(one, root) for one in _listed(given[ARCHIVES]))
        settings[YARN_ARCHIVES if on_yarn else ARCHIVES] = archives
    return settings


def absolute(location: str, root: Path) -> str:
    """Return where a file is, a path being relative to a folder; what follows `#` stays."""
    return location if _SCHEME.match(location) else str(root / location)


def _listed(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def _file_name(location: str) -> str:
    return location.partition("#")[0].rpartition("/")[2]
