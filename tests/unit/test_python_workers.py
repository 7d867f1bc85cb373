"""A Python worker of Spark without Spark's archives on its path, where it can do without them."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pyspark
import pytest

from headrace.jvm.python_workers import IMPORTS, forget_archives, settle
from headrace.line.settings import IMPORTS_KEY, line_settings

HOME = Path(pyspark.__file__).parent


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A worker's path: Spark's archives first, as the JVM puts them there."""
    places = [*HOME.glob("python/lib/*.zip"), *HOME.glob("jars/spark-core_*.jar")]
    archives = [str(place) for place in places]
    assert len(archives) == 3
    monkeypatch.setattr(sys, "path", [*archives, *sys.path])
    monkeypatch.setattr(sys, "path_importer_cache", dict.fromkeys(archives))
    return archives


def test_the_archives_are_forgotten_and_nothing_else(path: list[str]) -> None:
    before = list(sys.path)
    forget_archives()
    assert sys.path == [place for place in before if place not in path]
    assert not sys.path_importer_cache.keys() & set(path)


def test_an_archive_of_another_spark_stays(
    path: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "pyspark.zip"
    with ZipFile(other, "w") as archive:
        archive.writestr("pyspark/version.py", '__version__ = "4.0.0"\n')
    monkeypatch.setattr(sys, "path", [str(other), *sys.path])
    before = list(sys.path)
    forget_archives()
    assert sys.path == before
    assert path[0] in sys.path_importer_cache


def test_the_archives_stay_where_nothing_else_has_spark(
    path: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", path)
    forget_archives()
    assert sys.path == path


def test_an_archive_of_the_user_stays(
    path: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = tmp_path / "of_the_user.zip"
    with ZipFile(own, "w") as archive:
        archive.writestr("mine.py", "")
    monkeypatch.setattr(sys, "path", [str(own), *sys.path])
    forget_archives()
    assert str(own) in sys.path
    assert not set(path) & set(sys.path)


def test_what_is_imported_is_not_looked_through_again() -> None:
    settle.cache_clear()
    try:
        settle()
        frozen = gc.get_freeze_count()
        # Garbage of a task is collected by the task's end, and not kept.
        settle()
        # What is let go of meanwhile is frozen no more.
        assert frozen > len(gc.get_objects())
        assert gc.get_freeze_count() <= frozen
    finally:
        gc.unfreeze()


def test_what_is_imported_for_all_starts_nothing_that_a_fork_would_miss() -> None:
    """Threads do not come along into a fork; the allocator's own is begun anew by it."""
    code = (
        "import os, sys, threading\n"
        "from pathlib import Path\n"
        "from headrace.jvm.python_workers import IMPORTED_ONCE, import_for_all\n"
        "import_for_all()\n"
        "assert all(name in sys.modules for name in IMPORTED_ONCE)\n"
        "assert threading.active_count() == 1\n"
        "tasks = Path('/proc/self/task')\n"
        "names = {one.joinpath('comm').read_text().strip() for one in tasks.glob('*')}\n"
        "own = Path('/proc/self/comm').read_text().strip()\n"
        "assert names <= {own, 'jemalloc_bg_thd'}, names\n"
    )
    limits = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **limits})


@pytest.mark.parametrize(
    ("modules", "spared"),
    [
        ("router.tasks.task", {"pandas", "pyiceberg", "pydantic"}),
        ("lake_writer.task", {"pyspark.ml"}),
    ],
)
def test_a_line_says_what_its_workers_import(modules: str, spared: set[str]) -> None:
    code = (
        "import sys\n"
        "from headrace.jvm.python_workers import import_for_all\n"
        "import_for_all()\n"
        "from headrace.line.source import _row\n"
        "row = _row(job='ä', answer=b'\\0', events=1, bytes=2**40, lag=0).to_pylist()\n"
        "assert row == [{'job': 'ä', 'answer': b'\\0', 'events': 1, 'bytes': 2**40, 'lag': 0}]\n"
        f"assert not {spared} & set(sys.modules)\n"
    )
    asked = line_settings(modules)[IMPORTS_KEY]
    assert modules in asked
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, IMPORTS: asked})


def test_a_process_that_plans_a_replay_imports_nothing_that_reads_tables() -> None:
    """It is started for each source of a query, and again for its stream: that is to be quick."""
    code = (
        "import sys\n"
        "import backfill.apps.spark_source\n"
        "assert not {'pyiceberg', 'pyarrow', 'pandas', 'pydantic'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_forks_draw_numbers_of_their_own() -> None:
    code = (
        "import os\n"
        "from headrace.jvm.python_workers import import_for_all\n"
        "import_for_all()\n"
        "import numpy\n"
        "drawn = []\n"
        "for _ in range(2):\n"
        "    read, write = os.pipe()\n"
        "    if os.fork() == 0:\n"
        "        os.write(write, str(numpy.random.rand()).encode())\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
        "    drawn.append(os.read(read, 100))\n"
        "assert drawn[0] != drawn[1], drawn\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
