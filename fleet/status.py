"""`headrace status`: how everything that a workspace declares fares, whoever runs it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from backfill.results.runs import runs_of
from fleet import run_state
from fleet.declared import declared
from fleet.lines import StatusLine
from fleet.parallel import ask_all
from fleet.standings import app_line, parts_of, stream_lines, table_line, topics_of
from headrace.config.app.file import App
from headrace.config.kind_files import check_file
from headrace.config.lake_table.file import LakeTable
from headrace.config.load import known_names, load_stream, load_target
from headrace.config.stream.effective import effective
from headrace.config.stream.file import Stream
from headrace.config.stream.sinks import StreamSink, TopicSink
from headrace.config.validate import kind_files
from headrace.errors import HeadraceError
from headrace.kafka.cluster import KafkaCluster
from headrace.problems import shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    from backfill.results.runs import RunStatus
    from headrace.config.kind_files import CheckedFile
    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace

# A cluster's own client gives up a little earlier, and says why.
LIMIT_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Reached:
    """The clusters that answer, and why the others do not."""

    clusters: dict[str, KafkaCluster]
    away: dict[str, HeadraceError]


@dataclass(frozen=True, slots=True)
class Question:
    """Something to find out: what it is about, and how it is asked.

    Clusters that it `needs` have to answer first; of those that it uses, some may be away.
    """

    about: Sequence[StatusLine]
    needs: Collection[str]
    uses: Collection[str]
    ask: Callable[[Reached], Sequence[StatusLine]]


def statuses(workspace: Workspace, region: str | None = None) -> list[StatusLine]:
    """Return a line for everything that is declared, and for each replay.

    All clusters are asked at once: one that is away costs its limit once, and no other thing.
    """
    known = known_names(workspace)
    files = [check_file(path, known) for path in kind_files(workspace.root)]
    questions = [one for file in files for one in _questions(workspace, file, region)]
    reached = _reach(workspace, {name for one in questions for name in one.uses})
    away = reached.away
    why = [next((away[name] for name in one.needs if name in away), None) for one in questions]
    asked = {
        number: partial(one.ask, reached)
        for number, one in enumerate(questions)
        if why[number] is None
    }
    answers = ask_all(asked, LIMIT_S)
    lines: list[StatusLine] = []
    for number, one in enumerate(questions):
        answer = why[number] or answers[number]
        if isinstance(answer, HeadraceError):
            lines += [line.failed(answer.message) for line in one.about]
        else:
            lines += answer
    lines += map(_replay, runs_of(workspace))
    problems = run_state.problems(workspace)
    return [_with_problem(line, problems) for line in lines]


def _reach(workspace: Workspace, names: Collection[str]) -> Reached:
    def reach(name: str) -> KafkaCluster:
        kafka = KafkaCluster(workspace.cluster(name))
        kafka.topics()
        return kafka

    found = ask_all({name: partial(reach, name) for name in sorted(names)}, LIMIT_S)
    return Reached(
        {name: one for name, one in found.items() if isinstance(one, KafkaCluster)},
        {name: one for name, one in found.items() if isinstance(one, HeadraceError)},
    )


def _questions(workspace: Workspace, file: CheckedFile, region: str | None) -> Iterator[Question]:
    config = file.config
    match config:
        case Stream():
            yield _about_stream(workspace, config, file.document.path, region)
        case LakeTable():
            line = StatusLine("lake_table", config.name)
            needed = {config.source.cluster}
            yield Question(
                [line],
                needed,
                needed,
                lambda reached: [table_line(workspace, config, reached.clusters)],
            )
        case App():
            line = StatusLine("app", config.name)
            needed = {topics.cluster for topics in topics_of(config).values()}
            yield Question(
                [line],
                needed,
                needed,
                lambda reached: [app_line(workspace, config, reached.clusters)],
            )
        case _:
            broken = declared(file)
            line = StatusLine(broken.kind or "?", broken.name or shown_path(broken.path))
            yield _known([line.failed(str(min(broken.problems)))])


def _about_stream(workspace: Workspace, config: Stream, path: Path, region: str | None) -> Question:
    try:
        stream = effective(load_stream(path, workspace), workspace, region)
        used = clusters_of(workspace, stream)
    except HeadraceError as problem:
        return _known([StatusLine("stream", config.name).failed(problem.message)])
    return Question(
        [StatusLine("stream", config.name, part) for part in parts_of(stream.config)],
        {stream.config.source.cluster},
        used,
        lambda reached: stream_lines(workspace, stream, reached.clusters, reached.away),
    )


def clusters_of(workspace: Workspace, stream: Effective) -> set[str]:
    """Return the clusters that a stream reads, writes, or has its ledgers on."""
    config = stream.config
    found = {config.source.cluster}
    if config.quarantine is not None:
        found.add(config.quarantine.cluster)
    for output in config.outputs:
        match output.sink:
            case TopicSink() as sink:
                found.add(sink.cluster)
            case StreamSink() as sink:
                found.add(load_target(stream.stream, sink, workspace).config.source.cluster)
            case _:
                pass
    return found


def _known(lines: Sequence[StatusLine]) -> Question:
    return Question(lines, (), (), lambda _: lines)


def _replay(run: RunStatus) -> StatusLine:
    left = run.steps - run.steps_done
    return StatusLine("replay", run.run_id, state=run.stage, lag=left)


def _with_problem(line: StatusLine, problems: Sequence[run_state.JobProblem]) -> StatusLine:
    if line.state == "failed":
        return line
    for one in problems:
        if one.is_about(line.kind, line.name, line.part):
            return line.failed(one.problem)
    return line
