"""A process that ends between two writes, as all others see it: after the last one nothing comes.

Commits of both clients of a catalog go into one SQLite file, and all files of state through
`headrace.state_files`. From a chosen write on, both refuse every further one, so what this process
does after its end, tidying up for example, changes nothing that lasts.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pytest

from headrace import state_files
from tests.faults.ended_at import Ended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SAID: Final = "this process has ended"
NAMES: Final = {"INSERT": "make", "UPDATE": "commit", "DELETE": "drop"}


@dataclass
class Writes:
    """What was written in the process's life, in order, and whether it ended before its work."""

    done: list[str] = field(default_factory=list)
    ended: bool = False


@contextlib.contextmanager
def ends_after(last: int | str, catalog_file: Path) -> Iterator[Writes]:
    """Let the block write so often, or up to the write of that name; its end is told, not raised."""
    writes = Writes()
    with contextlib.closing(sqlite3.connect(catalog_file, timeout=30, isolation_level=None)) as db:
        _count(db, last)
        try:
            with _files_refused(db), pytest.MonkeyPatch.context() as patched:
                patched.setattr(time, "sleep", _unless_ended(db, time.sleep))
                yield writes
        except BaseException as problem:
            if SAID not in str(problem):
                raise
            writes.ended = True
        finally:
            writes.done = [what for (what,) in db.execute("SELECT what FROM walked ORDER BY rowid")]
            for event in NAMES:
                db.execute(f"DROP TRIGGER refused_{event}")
                db.execute(f"DROP TRIGGER counted_{event}")
            db.execute("DROP VIEW walk")
            db.execute("DROP TABLE walked")


def _count(db: sqlite3.Connection, last: int | str) -> None:
    db.execute("CREATE TABLE walked (what TEXT)")
    over = "count(*) >= " + str(last) if isinstance(last, int) else f"sum(what = '{last}') > 0"
    db.execute(f"CREATE VIEW walk AS SELECT coalesce({over}, false) AS is_over FROM walked")
    for event, name in NAMES.items():
        row = "OLD" if event == "DELETE" else "NEW"
        db.execute(
            f"CREATE TRIGGER refused_{event} BEFORE {event} ON iceberg_tables"
            f" WHEN (SELECT is_over FROM walk) BEGIN SELECT RAISE(ABORT, '{SAID}'); END"
        )
        db.execute(
            f"CREATE TRIGGER counted_{event} AFTER {event} ON iceberg_tables"
            f" BEGIN INSERT INTO walked VALUES ('{name} ' || {row}.table_name); END"
        )


def _has_ended(db: sqlite3.Connection) -> bool:
    return bool(db.execute("SELECT is_over FROM walk").fetchone()[0])


def _unless_ended(
    db: sqlite3.Connection, sleep: Callable[[float], None]
) -> Callable[[float], None]:
    def slept(length_s: float) -> None:
        if _is_ours() and _has_ended(db):
            raise Ended(SAID)
        sleep(length_s)

    return slept


@contextlib.contextmanager
def _files_refused(db: sqlite3.Connection) -> Iterator[None]:
    def tell(moment: state_files.Moment, path: Path) -> None:
        if not _is_ours():
            return
        if moment == "after":
            db.execute("INSERT INTO walked VALUES (?)", [path.name])
        elif _has_ended(db):
            raise Ended(SAID)

    state_files.watched_by(tell)
    try:
        yield
    finally:
        state_files.watched_by(None)


def _is_ours() -> bool:
    # What another thread measures meanwhile comes at no certain moment.
    return threading.current_thread() is threading.main_thread()
