"""`router start --once` of a file for many topics: all of its streams at once."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING

from headrace.config.load import stream_of
from headrace.config.stream.effective import effective
from headrace.errors import HeadraceError
from headrace.http.many_facts import ManyFacts
from headrace.jvm.tasks import TaskSlots
from headrace.kafka.many_topics import files_now
from headrace.line.background import Askers, BackgroundJob
from headrace.line.line import Line
from headrace.line.run import run_lines
from headrace.line.standing import JobStanding
from headrace.lineage.declared import stream_job
from headrace.spark import session
from router.run.facts import StreamFacts
from router.run.jobs import StreamRouter
from router.run.session import session_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from headrace.config.kind_files import CheckedFile
    from headrace.config.workspace.workspace import Workspace
    from headrace.http.board import Board
    from headrace.lineage.jobs import LineageJob
    from headrace.lineage.runs import Lineage
    from router.ledger.entries import Counts
    from router.run.job import RouterJob
    from router.run.jobs import StreamQuery

    Routed = tuple[str, Mapping[str, Counts]]


def run_each_once(  # noqa: PLR0913 - as the command is asked for
    workspace: Workspace,
    checked: CheckedFile,
    region: str | None,
    outputs: Sequence[str],
    *,
    board: Board,
    lineage: Lineage,
) -> list[tuple[str, Routed | HeadraceError]]:
    """Route the records that the topics have now. A stream that fails stops no other."""
    files = files_now(checked, None, workspace, region)
    routers: dict[str, StreamRouter | HeadraceError] = {}
    told: dict[str, Callable[[], LineageJob]] = {}
    for one in files:
        try:
            stream = effective(stream_of(one), workspace, region)
            routers[one.topic or ""] = StreamRouter(workspace, stream, outputs)
            told[one.topic or ""] = partial(stream_job, stream, workspace, is_lasting=False)
        except HeadraceError as problem:
            routers[one.topic or ""] = problem
    good = [one for one in routers.values() if isinstance(one, StreamRouter)]
    if not good:
        return [(topic, one) for topic, one in routers.items() if isinstance(one, HeadraceError)]
    # What Spark evaluates wants more of it than what is compiled.
    first = next((one for one in good if one.is_by_spark), good[0])
    name = f"router-{checked.document.path.stem}"
    with session(workspace, name, first.settings()) as spark:
        return list(_run(name, routers, spark, board, told, lineage).items())


def _run(  # noqa: PLR0913, PLR0917 - what a run is made of, and whom it is told
    name: str,
    routers: Mapping[str, StreamRouter | HeadraceError],
    spark: SparkSession,
    board: Board,
    told: Mapping[str, Callable[[], LineageJob]],
    lineage: Lineage,
) -> dict[str, Routed | HeadraceError]:
    """Run all at once: those that are compiled share one query."""
    answers: dict[str, Routed | HeadraceError] = {}
    settings, slots = session_settings(spark), TaskSlots(spark)
    with ExitStack() as held:
        begun: dict[str, tuple[StreamRouter, Sequence[StreamQuery]]] = {}
        for topic, router in routers.items():
            if isinstance(router, HeadraceError):
                answers[topic] = router
                continue
            try:
                router.prepare()
                router.check_session(settings)
                begun[topic] = router, held.enter_context(router.queries(slots, once=True))
            except HeadraceError as problem:
                answers[topic] = problem
        # Each under the name of its stream: in one line no two jobs have one name.
        jobs = {
            topic: [
                (one, BackgroundJob(f"{router.name}/{one.name}", one.job, Askers(router.name, 1)))
                for one in queries
            ]
            for topic, (router, queries) in begun.items()
        }
        all_of_them = [pair for pairs in jobs.values() for pair in pairs]
        lines = list(_lines(name, all_of_them))
        facts = {
            topic: StreamFacts(router.name, partial(_standings, queries))
            for topic, (router, queries) in begun.items()
        }
        board.show(ManyFacts(facts.values()))
        runs = {topic: lineage.begin(told[topic]) for topic in begun}
        # The turns of a job have the reason why it failed.
        with suppress(HeadraceError):
            run_lines(lines, spark, board.drain)
        failed = {one.job.name: one.reason for line in lines for one in line.turns if one.reason}
        for topic, (router, queries) in begun.items():
            reasons = [failed[job.name] for _, job in jobs[topic] if job.name in failed]
            members = {name: one for query in queries for name, one in query.job.members.items()}
            counts = {name: member.counts for name, member in members.items()}
            answers[topic] = reasons[0] if reasons else (router.name, counts)
            runs[topic].error = reasons[0].message if reasons else None
            lineage.end(runs[topic], "FAIL" if reasons else "COMPLETE", facts[topic].samples())
    return {topic: answers[topic] for topic in routers}


def _standings(queries: Sequence[StreamQuery]) -> list[JobStanding[RouterJob]]:
    return [JobStanding(one.job, None, has_begun=True) for one in queries]


def _lines(name: str, jobs: Sequence[tuple[StreamQuery, BackgroundJob]]) -> Iterator[Line]:
    together = [job for query, job in jobs if query.run is None]
    if together:
        (checkpoint, *_) = [query.checkpoint for query, _ in jobs if query.run is None]
        yield Line(name, together, checkpoint, once=True)
    for query, job in jobs:
        if query.run is not None:
            yield Line(job.name, [job], query.checkpoint, query.run, once=True)
