"""From a request to the words of a command, checked against what the workspace declares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from backfill.run.options import RequestOptions, parse_request
from fleet.replay_request import ReplayBody, parse_body
from fleet.replay_targets import allowed_target
from headrace.errors import UsageError
from headrace.http.replay_rows import Mistake, RequestRefused
from headrace.problems import did_you_mean
from headrace.times import parse_time_us

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fleet.replayable import Replayable
    from headrace.config.workspace.workspace import Workspace
    from headrace.http.replay_rows import AppChoice


@dataclass(frozen=True, slots=True)
class ReplayWords:
    """A request that was checked, and what its command is called with."""

    body: ReplayBody
    shared: tuple[str, ...]
    replay_only: tuple[str, ...]

    def plan(self, workspace: Workspace) -> list[str]:
        """Return the words of `backfill plan`."""
        return ["backfill", "plan", "-o", "json", f"--workspace={workspace.root}", *self.shared]

    def replay(self, workspace: Workspace, run_id: str) -> list[str]:
        """Return the words of `backfill replay`."""
        return [
            *("backfill", "replay", "-o", "json", f"--workspace={workspace.root}"),
            f"--run-id={run_id}",
            *self.shared,
            *self.replay_only,
        ]


def replay_words(
    values: Mapping[str, object], declared: Replayable, workspace: Workspace, *, is_plan: bool
) -> ReplayWords:
    """Check a request; RequestRefused has its mistakes. Nothing of it is run, and nothing written."""
    body = parse_body(values)
    mistakes = [*_about_names(body, declared), *_about_period(body)]
    if mistakes:
        raise RequestRefused(mistakes)
    app = None if body.app is None else declared.choices.app(body.app)
    mistakes = [*_about_app(body, app), *_about_target(body, app, is_plan=is_plan)]
    target = body.to
    if target is not None and not mistakes:
        target = allowed_target(workspace, target, declared.topics)
    if mistakes:
        raise RequestRefused(mistakes)
    path = None if body.app is None else declared.paths[body.app]
    select = tuple(f"{name}={candidate}" for name, candidate in body.select.items())
    options = RequestOptions(
        app_path=path,
        select=select,
        tables=body.tables,
        start=body.start_ts,
        end=body.end_ts,
        regions=",".join(body.regions),
        threshold=body.max_misalignment,
        order=body.order,
        rate_limit=body.rate_limit,
        warmup=body.warmup,
        cooldown=body.cooldown,
    )
    try:
        parse_request(options, workspace)
    except UsageError as problem:
        # What the command would refuse is refused before a process is started for it.
        raise RequestRefused([Mistake("", problem.message, problem.advice)]) from None
    # Each value in one word with its option: no value is taken for an option.
    shared = [
        *([] if path is None else [f"--config={path}"]),
        *(f"--table={one}" for one in body.tables),
        *(f"--select={one}" for one in select),
        f"--start-ts={body.start_ts}",
        f"--end-ts={body.end_ts}",
        *([f"--regions={','.join(body.regions)}"] if body.regions else []),
        *(
            f"--{option}={value}"
            for option, value in {
                "max-misalignment": body.max_misalignment,
                "order": body.order,
                "warmup": body.warmup,
                "cooldown": body.cooldown,
                "rate-limit": body.rate_limit,
            }.items()
            if value is not None
        ),
    ]
    only = [*(["--stage"] if body.stage else []), *([f"--to={target}"] if target else [])]
    return ReplayWords(body, tuple(shared), tuple(only))


def _about_names(body: ReplayBody, declared: Replayable) -> Iterator[Mistake]:
    known = declared.choices
    if (body.app is None) == (not body.tables):
        yield Mistake("app", "a replay is of an application or of tables", "give app, or tables")
    if body.app is not None and body.app not in declared.paths:
        names = [one.name for one in known.apps]
        yield Mistake(
            "app", f"no file declares an application {body.app}", did_you_mean(body.app, names)
        )
    for table in body.tables:
        if table not in known.tables:
            advice = did_you_mean(table, known.tables)
            yield Mistake("tables", f"no file of the workspace names a table {table}", advice)


def _about_period(body: ReplayBody) -> Iterator[Mistake]:
    if parse_time_us(body.start_ts) >= parse_time_us(body.end_ts):
        yield Mistake("end_ts", "the period is empty", "end_ts is later than start_ts")


def _about_app(body: ReplayBody, app: AppChoice | None) -> Iterator[Mistake]:
    if app is None:
        for field in ("warmup", "cooldown", "stage", "select"):
            if getattr(body, field):
                yield Mistake(field, "it is for an application", "give app instead of tables")
        return
    if app.problem is not None:
        yield Mistake("app", app.problem)
    if body.stage and not app.can_stage:
        yield Mistake("stage", f"the sink {app.sink} is no table", "only a table can be staged")
    for field in ("warmup", "cooldown"):
        if getattr(body, field) and not app.has_time_column:
            yield Mistake(
                field,
                "its rows are not emitted, so each row needs a time",
                "name the time column of the result in the application's file: sink.time_column",
            )


def _about_target(body: ReplayBody, app: AppChoice | None, *, is_plan: bool) -> Iterator[Mistake]:
    if app is not None and body.to is not None:
        yield Mistake("to", "an application names its sink in its file", "leave it out")
    if app is None and body.to is None and not is_plan:
        yield Mistake("to", "it is missing", "jsonl:FOLDER or kafka:CLUSTER/TOPIC")
