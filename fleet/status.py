"""`headrace status`: how everything that a workspace declares fares, whoever runs it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from backfill.results.runs import runs_of
from fleet import run_state
from fleet.declared import declared
from fleet.lines import StatusLine
from fleet.parallel import ask_all
from fleet.standings import (
    app_declared,
    app_line,
    parts_of,
    stream_lines,
    table_declared,
    table_line,
    topics_of,
)
from headrace.config.app.file import App
from headrace.config.kind_files import check_file
from headrace.config.lake_table.file import LakeTable
from headrace.config.load import known_names, load_target, stream_of
from headrace.config.many_topics import clusters_of as clusters_of_files
from headrace.config.many_topics import expand
from headrace.config.stream.effective import effective
from headrace.config.stream.file import Stream
from headrace.config.stream.sinks import StreamSink, TopicSink
from headrace.config.validate import kind_files
from headrace.errors import HeadraceError
from headrace.kafka.cluster import KafkaCluster
from headrace.problems import shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from backfill.results.runs import RunStatus
    from headrace.config.kind_files import CheckedFile
    from headrace.config.many_topics import Expansion
    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace

# A cluster's own client gives up a little earlier, and says why.
LIMIT_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Reached:
    """The clusters that answer, and why the others do not."""

    clusters: dict[str, KafkaCluster]
    away: dict[str, HeadraceError]
    topics: dict[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Question:
    """Something to find out: what it is about, and how it is asked.

    Clusters that it `needs` have to answer first; of those that it uses, some may be away.
    """

    about: Sequence[StatusLine]
    needs: Collection[str]
    uses: Collection[str]
    ask: Callable[[Reached], Sequence[StatusLine]]


@dataclass(frozen=True, slots=True)
class Overall:
    """How everything fares, and the files that say what there is, each topic's own among them."""

    lines: Sequence[StatusLine]
    files: Sequence[CheckedFile]


def statuses(workspace: Workspace, region: str | None = None) -> Sequence[StatusLine]:
    """Return a line for everything that is declared, and for each replay."""
    return overall(workspace, region).lines


def overall(workspace: Workspace, region: str | None = None) -> Overall:
    """Return how everything fares that is declared, and each replay.

    All clusters are asked at once: one that is away costs its limit once, and no other thing.
    """
    known = known_names(workspace)
    files = [check_file(path, known) for path in kind_files(workspace.root)]
    plain = [one for one in files if one.template is None]
    questions = [one for file in plain for one in _questions(workspace, file, region)]
    names = {name for one in questions for name in one.uses}
    reached = _reach(workspace, names | _likely(workspace, files, region))
    if len(plain) < len(files):
        now = expand(files, reached.topics, region)
        questions = list(_of_all(workspace, now, region, reached))
        files = [*now.files, *now.empty, *now.unknown]
        _reach_more(workspace, {name for one in questions for name in one.uses}, reached)
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
            lines += [line.failed(answer.message, answer.advice) for line in one.about]
        else:
            lines += answer
    lines += map(_replay, runs_of(workspace))
    problems = run_state.problems(workspace)
    return Overall([_with_problem(line, problems) for line in lines], files)


def _likely(workspace: Workspace, files: Sequence[CheckedFile], region: str | None) -> set[str]:
    """Return the clusters that files for many topics read and, by their example, write."""
    found = clusters_of_files(files, region)
    for one in files:
        if one.template is not None and isinstance(one.example, Stream):
            sinks = (output.sink for output in one.example.outputs)
            found |= {sink.cluster for sink in sinks if isinstance(sink, TopicSink)}
    return found & workspace.clusters.keys()


def _of_all(
    workspace: Workspace, now: Expansion, region: str | None, reached: Reached
) -> Iterator[Question]:
    """Give the questions of all files, of those for many topics by what their cluster has."""
    for file in now.files:
        yield from _questions(workspace, file, region)
    for one in (*now.empty, *now.unknown):
        if one.template is not None:
            line = StatusLine(one.template.kind, one.template.name)
            away = reached.away.get(one.template.cluster(region))
            nothing = replace(line, problem="no topic matches")
            yield _known([nothing if away is None else line.failed(away.message, away.advice)])


def _reach(workspace: Workspace, names: Collection[str]) -> Reached:
    reached = Reached({}, {})
    _reach_more(workspace, names, reached)
    return reached


def _reach_more(workspace: Workspace, names: Collection[str], reached: Reached) -> None:
    """Reach clusters that were not asked yet."""

    def reach(name: str) -> tuple[KafkaCluster, frozenset[str]]:
        kafka = KafkaCluster(workspace.cluster(name))
        return kafka, frozenset(kafka.topics())

    new = sorted(set(names) - reached.clusters.keys() - reached.away.keys())
    for name, one in ask_all({name: partial(reach, name) for name in new}, LIMIT_S).items():
        if isinstance(one, HeadraceError):
            reached.away[name] = one
        else:
            reached.clusters[name], reached.topics[name] = one


def _questions(workspace: Workspace, file: CheckedFile, region: str | None) -> Iterator[Question]:
    # Beside the others, a topic's file may have a mistake that it has not by itself.
    config = None if file.topic is not None and file.document.problems else file.config
    match config:
        case Stream():
            yield _about_stream(workspace, config, file, region)
        case LakeTable():
            line = table_declared(config)
            needed = {config.source.cluster}
            yield Question(
                [line],
                needed,
                needed,
                lambda reached: [table_line(workspace, config, reached.clusters)],
            )
        case App():
            line = app_declared(config)
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


def _about_stream(
    workspace: Workspace, config: Stream, file: CheckedFile, region: str | None
) -> Question:
    try:
        stream = effective(stream_of(file), workspace, region)
        used = clusters_of(workspace, stream)
    except HeadraceError as problem:
        line = StatusLine("stream", config.name).failed(problem.message, problem.advice)
        return _known([line])
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
