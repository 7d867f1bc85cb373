"""What `backfill replay` does once its words are understood: tables or an application, new or not."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import structlog

from backfill.asked import Asked, require_watermarks, tables_of, target_of, understood
from backfill.jsonl import JsonlFolder
from backfill.live_differences import differences_asked_for
from backfill.narrowing import conditions_of, narrowed, query_of
from backfill.pace import Pace, parse_rate
from backfill.progress import follow
from backfill.request import Run, delivery, held_by, new_run_id, plan_of, state_of
from backfill.runs import runs_of
from backfill.speeds import app_kind, remember
from backfill.watermarks import watermarks_of
from headrace.config.load import load_app
from headrace.errors import UsageError
from headrace.locks import AlreadyHeld, hold
from headrace.signals import Drain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Literal

    from backfill.certificate import Certificate
    from backfill.live_differences import LiveDifference
    from backfill.narrowing import Narrowed
    from backfill.pace import Rate
    from backfill.plan import Plan
    from backfill.replay import Target
    from backfill.request import Request
    from backfill.state import RunRecord, RunState
    from backfill.value_formats import ValueFormat
    from headrace.config.load import LoadedApp
    from headrace.config.secret import Secret
    from headrace.config.workspace import Workspace

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ReplayWish:
    """What the command line asks for."""

    asked: Asked
    target: str | None
    key: str | None
    run_id: str | None
    resume: bool
    stage: bool = False
    close_windows: bool = False
    value_format: ValueFormat | None = None
    registry: Secret | None = None


class Replayed(NamedTuple):
    """A run that has ended, or was asked to."""

    run_id: str
    place: str
    certificate: Certificate


def replay_as_asked(workspace: Workspace, wish: ReplayWish) -> Replayed:
    """Replay until all is delivered, or until asked to drain."""
    record = _record(workspace, wish)
    if record is None:
        app, request = understood(wish.asked, workspace)
        if wish.stage and app is None:
            raise UsageError("--stage is for an application's result", "-c APP.yaml")
        if app is not None:
            _refuse_kafka_options(wish, "an application's sink says it in its file")
        if wish.close_windows:
            require_watermarks(app)
        request = replace(request, stage=wish.stage, close_windows=wish.close_windows)
        run_id, to, key = wish.run_id or new_run_id(), wish.target, wish.key
    else:
        # What a run was begun with counts: its plan is made.
        app = None if record.app is None else load_app(Path(record.app), workspace)
        request, run_id = None, wish.run_id or ""
        to = wish.target or record.to
        key = record.key
    if record is None:
        _refuse_existing(state_of(workspace, run_id))
    # Its rate is not part of a run: it may go on faster, or slower.
    rate = parse_rate(wish.asked["rate_limit"])
    with Drain() as drain, _told_how_to_go_on(workspace, run_id):
        if app is not None:
            return _with_rows(request, _application(workspace, app, request, run_id, rate, drain))
        if to is None:
            raise UsageError(
                "--table needs to know where the records go",
                "--to jsonl:DIR or --to kafka:CLUSTER/TOPIC",
            )
        run = Run(run_id, record is not None, key)
        run, target = _target(workspace, to, run, wish, record)
        pace = Pace(rate, wait=drain.wait)
        return _with_rows(request, _tables(workspace, request, run, target, drain, pace))


def _with_rows(request: Request | None, replayed: Replayed) -> Replayed:
    """Warn where regions were asked for that nothing came from: a name may be misspelt."""
    found = replayed.certificate
    # By the plan there were rows of the period, of whatever region.
    possible = any(source.rows_at_most for source in found.sources)
    if request is not None and request.regions and found.complete and not found.rows and possible:
        log.warning("the period has no rows of these regions", regions=",".join(request.regions))
    return replayed


class Planned(NamedTuple):
    """The plan of a replay, what is read of tables that are read in part, and what may differ."""

    plan: Plan
    parts: Sequence[Narrowed] = ()
    differences: Sequence[LiveDifference] = ()


def planned(workspace: Workspace, app: LoadedApp | None, request: Request) -> Planned:
    """Return the plan of a replay; of an application Spark is asked what its query is."""
    if app is None:
        return Planned(plan_of(workspace, request))
    from headrace.spark import session  # noqa: PLC0415 - Spark is loaded when needed

    with session(workspace, f"plan-{app.config.name}") as spark:
        query = query_of(app, workspace, spark, request.time_column)
    marks = watermarks_of(app, tables_of(app))
    made = plan_of(workspace, request, conditions_of(query.uses), marks)
    parts = list(narrowed(made, workspace, query.uses))
    return Planned(made, parts, (*query.differences, *differences_asked_for(app, request)))


@contextlib.contextmanager
def _told_how_to_go_on(workspace: Workspace, run_id: str) -> Iterator[None]:
    """Name the run that an error ends, where it has begun: its name may be made from the clock."""
    try:
        yield
    except AlreadyHeld:
        raise
    except Exception:
        state = state_of(workspace, run_id)
        if state.exists and not state.certificate.exists():
            log.warning(
                "the run has ended before its end",
                go_on=f"backfill replay --resume --run-id {run_id}",
            )
        raise


def _refuse_existing(state: RunState) -> None:
    """Refuse a name that another run has; one that still runs is not to be gone on with."""
    if state.exists:
        with hold(state.lock, *held_by(state.run_id)):
            state.refuse_existing()


def _refuse_begun(workspace: Workspace, folder: Path) -> None:
    """Refuse a folder that holds what a run has written so far, and say which."""
    place = f"jsonl:{folder.absolute()}"
    for one in runs_of(workspace):
        if one.to == place and one.stage != "complete" and one.steps_done:
            raise UsageError(
                f"{folder} holds what run {one.run_id} has written so far",
                f"go on with it: backfill replay --resume --run-id {one.run_id}",
            )


def _record(workspace: Workspace, wish: ReplayWish) -> RunRecord | None:
    if not wish.resume:
        return None
    state = state_of(workspace, wish.run_id or "")
    state.require()
    record = state.record()
    if record is None:
        raise UsageError(
            f"run {wish.run_id} was begun by a program", "the program that began it goes on with it"
        )
    return record


def _target(
    workspace: Workspace, to: str, run: Run, wish: ReplayWish, record: RunRecord | None
) -> tuple[Run, Target]:
    """Return where the records go, and the run with what it keeps of that."""
    place = target_of(to)
    if isinstance(place, Path):
        if run.key is not None:
            raise UsageError("--key is for records of a topic", "leave it out with jsonl:DIR")
        _refuse_kafka_options(wish, "leave it out with jsonl:DIR")
        if not run.resume:
            _refuse_begun(workspace, place)
        return run, JsonlFolder(place, resume=run.resume)
    # Most replays need no Kafka.
    from backfill.kafka_target import KafkaTopic  # noqa: PLC0415
    from backfill.kafka_values import Encoding, formats_of  # noqa: PLC0415

    if record is None:
        formats = formats_of(workspace, wish.asked["tables"], wish.value_format)
        advice = "--registry URL; or --format json"
    else:
        formats = record.formats
        if wish.value_format is not None and set(formats.values()) != {wish.value_format}:
            raise UsageError(
                f"run {run.run_id} was begun with"
                f" {', '.join(sorted(set(formats.values()))) or 'json'}",
                "leave --format out with --resume, or choose another --run-id",
            )
        advice = "--registry URL: a run does not keep it, as it may hold a password"
    encoding = Encoding(formats, wish.registry)
    encoding.require_registry(advice)
    target = KafkaTopic(workspace, place, run.run_id, run.key, encoding)
    return replace(run, formats=formats), target


def _refuse_kafka_options(wish: ReplayWish, advice: str) -> None:
    for option, value in (("--format", wish.value_format), ("--registry", wish.registry)):
        if value is not None:
            raise UsageError(f"{option} is for records of a topic", advice)


def _tables(  # noqa: PLR0913, PLR0917 - a delivery is of these
    workspace: Workspace,
    request: Request | None,
    run: Run,
    target: Target,
    drain: Drain,
    pace: Pace,
) -> Replayed:
    with delivery(workspace, request, run, target) as going:
        before, began_s = going.certificate().rows, time.monotonic()
        follow(going.run(target, drain, pace))
        certificate = going.certificate()
        target.finish(certificate.to_json())
    if not pace.limited:
        kind = target.place.partition(":")[0]
        passed_s = time.monotonic() - began_s
        remember(workspace.state_dir / "backfill", kind, certificate.rows - before, passed_s)
    return Replayed(run.run_id, target.place, certificate)


def _application(  # noqa: PLR0913, PLR0917 - an application is run with these
    workspace: Workspace,
    app: LoadedApp,
    request: Request | None,
    run_id: str,
    rate: Rate | Literal["auto"] | None,
    drain: Drain,
) -> Replayed:
    from backfill.app_replay import AppRun, replay_app  # noqa: PLC0415 - Spark is loaded when needed
    from headrace.spark import session  # noqa: PLC0415 - as above

    with session(workspace, f"backfill-{app.config.name}") as spark:
        began_s = time.monotonic()
        certificate = replay_app(AppRun(app, workspace, run_id, rate), request, spark, drain)
    if request is not None and rate is None and certificate.complete:
        kind, passed_s = app_kind(app.config.name), time.monotonic() - began_s
        remember(workspace.state_dir / "backfill", kind, certificate.rows_read, passed_s)
    return Replayed(run_id, _sink_of(workspace, run_id, certificate), certificate)


def _sink_of(workspace: Workspace, run_id: str, certificate: Certificate) -> str:
    """Return where a replay of an application brought its result."""
    state = state_of(workspace, run_id)
    record = state.record()
    if record is None:
        return str(state.folder)
    published = record.publish and certificate.complete and not certificate.differences()
    if record.staged is None or published:
        return record.to
    return f"iceberg:{record.staged}"
