"""The parent of Spark's Python workers: Spark's own, without Spark's archives on its path.

At the start of every task a worker asks all importers to look again at where they import from.
Those of `pyspark.zip`, of py4j's archive and of Spark's own jar then read the whole list of files
again: 150 ms of CPU, a multiple of what a small task takes. The very same modules lie unpacked
beside our own, and the jar has none.

It imports what reading and writing tables takes before it has any children: they are forks of it,
so that is done once, and not by each of them, and its memory is theirs.
"""

from __future__ import annotations

import gc
import importlib
import os
import runpy
import sys
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any
from zipimport import ZipImportError, zipimporter

DAEMON = "pyspark.daemon"
# What the forks are that do the work of tasks; Spark has others, for planning, that do little.
WORKER = "pyspark.worker"
# Names the modules that the tasks of a command use, where these are not those below. Not for users.
IMPORTS = "_HEADRACE_IMPORTS"
# Spark's own side of Arrow, what tables are read and written with, and our own config models.
# Nothing that starts threads: a fork would not have them.
IMPORTED_ONCE = (
    "numpy.random",
    "pyspark.sql.pandas.types",
    "pandas",
    "pyarrow.compute",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "pyiceberg.catalog",
    "pyiceberg.io.pyarrow",
    "pyiceberg.table",
    "headrace.config.load",
    "headrace.iceberg.catalog",
)
VERSION = "pyspark/version.py"
# The column in which a task of applyInPandasWithState is given each key's state and rows.
STATE_FIELDS = frozenset(
    {"properties", "keyRowAsUnsafe", "object", "startOffset", "numRows", "isLastChunk"}
)


def forget_archives() -> None:
    """Take Spark's archives off the path, where the same Spark can be imported without them."""
    archives = [place for place in sys.path if _is_archive(Path(place))]
    others = [place for place in sys.path if place not in archives]
    if not all(_is_unpacked(place, others) for place in archives):
        return
    sys.path[:] = others
    for place in archives:
        sys.path_importer_cache.pop(place, None)


def import_for_all() -> None:
    """Import what the forks of this process are going to use."""
    named = os.environ.get(IMPORTS)
    for name in named.split(",") if named else IMPORTED_ONCE:
        importlib.import_module(name)
    if "pandas" in sys.modules:
        give_whole_offsets()
    numbers: Any = sys.modules.get("numpy.random")
    if numbers is not None:
        # They would be the same ones in every fork.
        os.register_at_fork(after_in_child=numbers.seed)
    settle()


def give_whole_offsets() -> None:
    """Let `applyInPandasWithState` cut its batches at whole numbers.

    PySpark 4.1 takes them out of a column with nulls, where pandas has floats, and from 26 on
    pyarrow refuses these. What else it does with that column stays as it is.
    """
    pandas, arrow = (importlib.import_module(name) for name in ("pandas", "pyarrow.types"))
    serializers = importlib.import_module("pyspark.sql.pandas.serializers")
    state: Any = getattr(serializers, "ApplyInPandasWithStateSerializer", None)
    if state is None:
        return
    theirs = state.arrow_to_pandas

    def arrow_to_pandas(self: object, column: Any, *more: Any) -> Any:  # noqa: ANN401 - PySpark does not type it
        kind = column.type
        if arrow.is_struct(kind) and {one.name for one in kind} == STATE_FIELDS:
            return pandas.Series(column.to_pylist(), dtype=object)
        return theirs(self, column, *more)

    state.arrow_to_pandas = arrow_to_pandas


@cache
def settle() -> None:
    """Leave what is imported by now out of all later collections of garbage; once a process.

    Spark's worker collects after each task, and looks through every object for it: with the
    libraries that read a table these are hundreds of thousands, and a tenth of a second.
    """
    gc.collect()
    gc.freeze()


def _is_archive(place: Path) -> bool:
    return (
        place.match("pyspark.zip") or place.match("py4j-*.zip") or place.match("spark-core_*.jar")
    )


def _is_unpacked(archive: str, others: list[str]) -> bool:
    """Whether the archive's package is found elsewhere; pyspark in the same version."""
    name = Path(archive).name
    if name.endswith(".jar"):
        # On the path since the time when Python's part was in it, too.
        return True
    if name.startswith("py4j"):
        return PathFinder.find_spec("py4j", others) is not None
    found = PathFinder.find_spec("pyspark", others)
    if found is None or found.origin is None:
        return False
    try:
        held = zipimporter(archive).get_data(VERSION)
        return held == Path(found.origin).with_name("version.py").read_bytes()
    except (OSError, ZipImportError):
        return False


if __name__ == "__main__":
    forget_archives()
    if sys.argv[1:] == [WORKER]:
        import_for_all()
    runpy.run_module(DAEMON, run_name="__main__")
