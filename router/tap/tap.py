"""Records of a stream as they pass: read, selected, shown, written as a fixture, and counted."""

from __future__ import annotations

import contextlib
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.problems import counted
from headrace.times import parse_time_us
from router.explain.explanation import spark_evaluator
from router.plan.planner import Planner
from router.tap.fixture import Fixture
from router.tap.following import BEGINNING, END, Following
from router.tap.report import as_json, as_text, head
from router.tap.selecting import Selecting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace
    from headrace.signals import Drain
    from router.explain.outcomes import Evaluated
    from router.tap.stream_names import Named


@dataclass(frozen=True, slots=True)
class TapRequest:
    """Which records are shown, and how."""

    where: str | None = None
    begin: str = END
    most: int | None = None
    once: bool = False
    fixture: Path | None = None
    by_spark: bool = False
    as_json: bool = False


def tap(  # noqa: PLR0913 - as the command is asked for
    workspace: Workspace,
    one: Named,
    request: TapRequest,
    drain: Drain,
    *,
    say: Callable[[str], object],
    say_beside: Callable[[str], object],
) -> None:
    """Show records until asked to end, or until there are enough.

    What is read, and what was counted, is said beside them.
    """
    stream = one.stream
    begin = request.begin
    position = begin if begin in {BEGINNING, END} else parse_time_us(begin) // 1000
    plan = Planner(workspace, stream).plan()
    with ExitStack() as held:
        by_spark = (
            held.enter_context(spark_evaluator(workspace, stream)) if request.by_spark else None
        )
        select = Selecting(plan, one.output, request.where, by_spark)
        cluster = workspace.cluster(plan.source.cluster)
        following = Following(cluster, plan.source.topic, position)
        fixture = None
        if request.fixture is not None:
            fixture = Fixture(request.fixture, select.explanation, one.output)
            held.enter_context(contextlib.closing(fixture))
        say_beside(head(select.explanation, begin))
        show = as_json if request.as_json else as_text
        shown = 0
        for record in _wanted(following, select, request, drain):
            say(show(select.explanation, record))
            shown += 1
            if fixture is not None:
                fixture.add(record)
        written = "" if fixture is None else f", {fixture.written:,} written to {request.fixture}"
        say_beside(f"{counted(select.read, 'record')} read, {shown:,} shown{written}")


def _wanted(
    following: Following, select: Selecting, request: TapRequest, drain: Drain
) -> Iterator[Evaluated]:
    shown = 0
    for messages in following.runs(drain, once=request.once):
        for one in select(messages):
            yield one
            shown += 1
            if drain.requested or shown == request.most:
                return
