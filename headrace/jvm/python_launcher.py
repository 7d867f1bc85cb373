"""The Python that Spark's processes run: ours, and pyspark as we import it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE: Final = "PYSPARK_PYTHON"
LAUNCHER: Final = """\
#!/bin/sh
{path}
exec {python} "$@"
"""


def use_our_spark() -> None:
    """Let the JVM be that of our pyspark, and its workers' Python the one that runs this."""
    # A SPARK_HOME of another version would start a JVM that these jars do not fit.
    spec = find_spec("pyspark")
    if spec is not None and spec.origin and "PYSPARK_GATEWAY_PORT" not in os.environ:
        os.environ["SPARK_HOME"] = str(Path(spec.origin).parent)
    # Workers need our packages; on a cluster whose Python lies elsewhere the variable says where.
    os.environ.setdefault(VARIABLE, sys.executable)


@contextlib.contextmanager
def without_archives(folder: Path) -> Iterator[None]:
    """Let the processes of a local Spark that is started here import pyspark as we do.

    Spark puts an archive of it first on their path, and Python keeps nothing of what it compiles
    from one: each of the four processes that plan a query would take half a second for that.
    """
    python = os.environ[VARIABLE]
    if python == sys.executable:
        with contextlib.suppress(OSError):
            launcher = _launcher(folder)
            # There are file systems that run nothing.
            if os.access(launcher, os.X_OK):
                os.environ[VARIABLE] = str(launcher)
    try:
        yield
    finally:
        os.environ[VARIABLE] = python


@contextlib.contextmanager
def of_tasks(python: str, folder: Path) -> Iterator[Path | None]:
    """Let the tasks of a cluster run this Python; yields the folder that the JVM has to start in.

    Spark plans queries with it, too, and does that in the driver. Where it is a path in an archive,
    the driver's Python stands in for it there: below the folder that is returned.
    """
    ours = os.environ[VARIABLE]
    is_in_archive = "/" in python and not python.startswith("/")
    if python.startswith("/") and not os.access(python, os.X_OK):
        raise Terminal(
            f"spark.pyspark.python is {python}, and this machine has no Python there",
            "Spark plans queries with it here, too: install the environment under the same path "
            "on this machine, or ship it: headrace package",
        )
    os.environ[VARIABLE] = python
    try:
        yield _stand_in(python, folder) if is_in_archive else None
    finally:
        os.environ[VARIABLE] = ours


def _stand_in(python: str, folder: Path) -> Path:
    """Make a folder in which a relative path runs the driver's own Python, where the driver is."""
    whole = hashlib.sha256(f"{python} {Path.cwd()}".encode()).hexdigest()[:12]
    start = folder / f"start-{whole}"
    place = start / python
    place.parent.mkdir(parents=True, exist_ok=True)
    launcher = _launcher(folder)
    text = (
        f'#!/bin/sh\ncd {shlex.quote(str(Path.cwd()))} && exec {shlex.quote(str(launcher))} "$@"\n'
    )
    if not (place.is_file() and place.read_text(encoding="utf-8") == text):
        part = place.with_name(f".{place.name}.{os.getpid()}")
        part.write_text(text, encoding="utf-8")
        part.chmod(0o755)
        part.replace(place)
    return start


def _launcher(folder: Path) -> Path:
    """Return the launcher for our Python and path; others that run have theirs."""
    path_variable = os.environ.get("PYTHONPATH")
    path = (
        "unset PYTHONPATH"
        if path_variable is None
        else f"export PYTHONPATH={shlex.quote(path_variable)}"
    )
    text = os.fsencode(LAUNCHER.format(path=path, python=shlex.quote(sys.executable)))
    launcher = folder / f"python-{hashlib.sha256(text).hexdigest()[:12]}"
    if not (launcher.is_file() and launcher.read_bytes() == text):
        with tempfile.TemporaryDirectory(dir=folder, prefix=".python-") as part:
            made = Path(part) / launcher.name
            made.write_bytes(text)
            made.chmod(0o755)
            made.replace(launcher)
    return launcher
