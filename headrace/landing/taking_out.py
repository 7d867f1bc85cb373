"""Taking a writer's last commits out of a table again, or letting their rows stay."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import structlog

from headrace.errors import Terminal, Transient
from headrace.iceberg.append import HeadMoved, NoAnswer
from headrace.iceberg.history import main_line
from headrace.iceberg.rolling_back import change_property, roll_back
from headrace.landing.marks import SUMMARY, Told, mark_property, standing
from headrace.landing.taking_back import Line, NothingSince, Tied, taken_back

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

    from headrace.landing.taking_back import Taken

WAITS_S: Final = (0.0, 0.2, 0.8, 3.2)
log = structlog.get_logger(__name__)


def commits_since(table: Table, writer: str, number: int) -> Taken:
    """Return what would take the writer's commits from that number on out of the table."""
    line = [_line(one) for one in main_line(table)]
    holds = standing(
        writer,
        table.properties.get(mark_property(writer)),
        [Told(one.snapshot, one.mark) for one in line],
        [one.snapshot_id for one in table.metadata.snapshots],
    )
    return taken_back(writer, number, holds, line)


def take_out(
    load: Callable[[], Table], name: str, writer: str, number: int, *, leave: bool
) -> None:
    """Take the writer's commits from that number on out of the table, in one commit of it.

    Where that cannot be done, `leave` lets their rows stay. The writer goes on with that number.
    """
    for wait_s in WAITS_S:
        time.sleep(wait_s)
        table = load()
        taken = commits_since(table, writer, number)
        if isinstance(taken, NothingSince):
            return
        if isinstance(taken, Tied) and not leave:
            raise tied(name, taken)
        said = None if taken.mark is None else taken.mark.to_json()
        try:
            if isinstance(taken, Tied):
                change_property(table, mark_property(writer), said)
            else:
                roll_back(table, taken.snapshot, mark_property(writer), said)
        except HeadMoved:
            log.info("the table has moved on, looking again", table=name)
        except NoAnswer as problem:
            raise Transient(
                f"the catalog gave no answer about {name}: {problem}",
                "start it again when it does: what was begun is finished first",
            ) from problem
        else:
            return
    raise Terminal(
        f"{name} was committed to by others at each of {len(WAITS_S)} attempts",
        "nothing was changed; try again at a quieter moment",
    )


def tied(name: str, taken: Tied) -> Terminal:
    """Return why the rows of later batches cannot be taken out of a table."""
    return Terminal(
        f"the rows of later batches cannot be taken out of {name}: {taken.reason}",
        "nothing was changed. --allow-duplicates leaves them there, and they come once more; or"
        " let a backfill replace the period (sink.mode: replace)",
    )


def _line(one: Snapshot) -> Line:
    said = one.summary
    if said is None:
        return Line(one.snapshot_id, one.parent_snapshot_id, None, "a commit")
    mark = said.additional_properties.get(SUMMARY)
    made_by = f"a commit of others ({said.operation.value})"
    return Line(one.snapshot_id, one.parent_snapshot_id, mark, made_by)
