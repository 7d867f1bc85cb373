"""How commands tell of their runs, where headrace.yaml names a receiver."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.lineage.runs import Lineage, said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.config.workspace.workspace import Workspace
    from headrace.http.board import Board
    from headrace.lineage.jobs import LineageJob
    from headrace.lineage.runs import LineageRun, RunEnd


@contextmanager
def reporting(workspace: Workspace, board: Board) -> Iterator[Lineage]:
    """Tell of runs until left, where headrace.yaml names a receiver."""
    if workspace.lineage is None:
        yield Lineage()
        return
    # Its imports take half a second, which others need not wait.
    from headrace.lineage.client import sender  # noqa: PLC0415 - as it says
    from headrace.lineage.reporter import Reporter  # noqa: PLC0415 - as it says

    reporter = Reporter(workspace, workspace.lineage, board, sender(workspace.lineage))
    board.also.append(reporter.samples)
    with reporter:
        yield reporter


@contextmanager
def reported(
    workspace: Workspace, board: Board, job: Callable[[], LineageJob]
) -> Iterator[LineageRun | None]:
    """Tell of the one run of a command; None where nobody is told."""
    with reporting(workspace, board) as lineage:
        if not lineage.is_on:
            yield None
            return
        with told_of(lineage, job) as run:
            yield run


@contextmanager
def told_of(lineage: Lineage, job: Callable[[], LineageJob]) -> Iterator[LineageRun]:
    """Tell of a run: that it begins, and how it has ended."""
    run = lineage.begin(job)
    try:
        yield run
    except BaseException as problem:
        is_stopped = isinstance(problem, KeyboardInterrupt)
        run.error = None if is_stopped else said(problem)
        lineage.end(run, "ABORT" if is_stopped else "FAIL")
        raise
    lineage.end(run, _end_of(run))


def _end_of(run: LineageRun) -> RunEnd:
    result = run.result
    if result is None:
        return "COMPLETE"
    failed = [one.name for one in result.tests if not one.has_passed]
    if failed:
        run.error = f"it did not keep what it promises: {', '.join(failed)}"
        return "FAIL"
    return "COMPLETE" if result.is_complete else "ABORT"
