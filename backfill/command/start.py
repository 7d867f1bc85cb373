"""What `backfill replay` does once its words are understood: tables or an application, new or not."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import structlog

from backfill.command.progress import app_kind, follow, remember, shown_to
from backfill.command.refusals import refuse_begun, refuse_existing, refuse_kafka_options
from backfill.run.lineage import job_of, replay_result
from backfill.run.options import (
    RequestOptions,
    parse_request,
    parse_target,
    require_watermarks,
)
from backfill.run.pace import Pace, parse_rate
from backfill.run.request import RunOptions, new_run_id, state_of
from backfill.tables.delivery import delivery
from backfill.tables.jsonl import JsonlFolder
from headrace.application.select import with_choices
from headrace.config.load import load_app
from headrace.errors import UsageError
from headrace.http.board import Board
from headrace.http.server import serving
from headrace.lineage.reporting import reported
from headrace.locks import AlreadyRunning
from headrace.metrics.at_end import metrics_at_end
from headrace.secret import Secret
from headrace.signals import Drain
from headrace.state_version import refuse_newer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Literal, TypeAlias

    from backfill.run.certificate import Certificate
    from backfill.run.facts import ReplayFacts
    from backfill.run.pace import Rate
    from backfill.run.request import ReplayRequest
    from backfill.run.state import RunRecord
    from backfill.tables.delivery import Target
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace
    from headrace.contract import ValueFormat
    from headrace.http.address import Address
    from headrace.metrics.at_end import MetricsAtEnd

    Show: TypeAlias = Callable[[ReplayFacts], object]

log = structlog.get_logger(__name__)


class ReplayOptions(RequestOptions):
    """The options of `backfill replay`."""

    target: str | None
    key: str | None
    value_format: ValueFormat | None
    registry: str | None
    stage: bool
    open_windows: Literal["leave", "close"]
    run_id: str | None
    resume: bool
    http: Address | None
    metrics: MetricsAtEnd


class ReplayOutcome(NamedTuple):
    """A run that has ended, or was asked to."""

    run_id: str
    location: str
    certificate: Certificate


def run_replay(workspace: Workspace, options: ReplayOptions) -> ReplayOutcome:
    """Replay until all is delivered, or until asked to drain."""
    refuse_newer(workspace.state_dir)
    record = None
    if options["resume"]:
        record = state_of(workspace, options["run_id"] or "").require_record()
    if record is None:
        app, request = parse_request(options, workspace)
        if options["stage"] and app is None:
            raise UsageError("--stage is for the result of an application", "-c APP.yaml")
        if app is not None:
            refuse_kafka_options(options, "an application names its sink in its file")
        closes = options["open_windows"] == "close"
        if closes:
            require_watermarks(app)
        request = replace(request, stage=options["stage"], close_windows=closes)
        run_id, to, key = options["run_id"] or new_run_id(), options["target"], options["key"]
        refuse_existing(state_of(workspace, run_id))
    else:
        # What a run was begun with counts: its plan is made.
        app = None
        if record.app is not None:
            app = with_choices(load_app(Path(record.app), workspace), record.choices)
        request, run_id = None, options["run_id"] or ""
        to, key = options["target"] or record.to, record.key
    # Its rate is not part of a run: it may go on faster, or slower.
    rate = parse_rate(options["rate_limit"])
    if app is None and to is None:
        raise UsageError(
            "--table needs a target for the records", "--to jsonl:DIR or --to kafka:CLUSTER/TOPIC"
        )
    asked = request or record
    what = app.config.name if app is not None else ",".join(asked.tables if asked else ())
    job = partial(job_of, run_id, app, to, asked)
    with (
        Drain() as drain,
        serving(options["http"], board := Board(f"replay {run_id}", drain)),
        metrics_at_end(options["metrics"], "replay", what, board.samples) as outcome,
        reported(workspace, board, job) as told,
        _log_how_to_resume(workspace, run_id),
    ):
        if app is not None:
            replayed = _application(workspace, app, request, run_id, rate, drain, board.show)
        else:
            run = RunOptions(run_id, record is not None, key)
            run, target = _target(workspace, to or "", run, options, record)
            pace = Pace(rate, wait=drain.wait)
            replayed = _tables(workspace, request, run, target, drain, pace, board.show)
        outcome.has_failed = bool(replayed.certificate.differences())
        if told is not None:
            told.result = replay_result(
                replayed.certificate, replayed.location, is_of_records=app is None
            )
        return _with_rows(request, replayed)


def _with_rows(request: ReplayRequest | None, replayed: ReplayOutcome) -> ReplayOutcome:
    """Warn where regions were asked for that nothing came from: a name may be misspelt."""
    found = replayed.certificate
    # By the plan there were rows of the period, of whatever region.
    possible = any(source.rows_at_most for source in found.sources)
    if request is not None and request.regions and found.complete and not found.rows and possible:
        log.warning("the period has no rows of these regions", regions=",".join(request.regions))
    return replayed


@contextlib.contextmanager
def _log_how_to_resume(workspace: Workspace, run_id: str) -> Iterator[None]:
    """Name the run that an error ends, where it has begun: its name may be made from the clock."""
    try:
        yield
    except AlreadyRunning:
        raise
    except Exception:
        state = state_of(workspace, run_id)
        if state.exists and not state.certificate.exists():
            log.warning(
                "the run stopped early",
                go_on=f"backfill replay --resume --run-id {run_id}",
            )
        raise


def _target(
    workspace: Workspace, to: str, run: RunOptions, options: ReplayOptions, record: RunRecord | None
) -> tuple[RunOptions, Target]:
    """Return where the records go, and the run with what it keeps of that."""
    location = parse_target(to)
    if isinstance(location, Path):
        if run.key is not None:
            raise UsageError(
                "--key is for records of a topic", "remove the option with --to jsonl:DIR"
            )
        refuse_kafka_options(options, "remove the option with --to jsonl:DIR")
        if not run.resume:
            refuse_begun(workspace, location)
        return run, JsonlFolder(location, resume=run.resume)
    # Most replays need no Kafka.
    from backfill.tables.kafka_target import KafkaTopic  # noqa: PLC0415
    from backfill.tables.kafka_values import Encoding, formats_of  # noqa: PLC0415

    if record is None:
        formats = formats_of(workspace, options["tables"], options["value_format"])
        advice = "name the registry with --registry URL, or use --format json"
    else:
        formats, wanted = record.formats, options["value_format"]
        if wanted is not None and set(formats.values()) != {wanted}:
            raise UsageError(
                f"run {run.run_id} was started with"
                f" {', '.join(sorted(set(formats.values()))) or 'json'}",
                "do not give --format with --resume, or choose another --run-id",
            )
        advice = (
            "give --registry URL again: a run does not store it, because it may hold a password"
        )
    url = options["registry"]
    encoding = Encoding(formats, None if url is None else Secret(url))
    encoding.require_registry(advice)
    target = KafkaTopic(workspace, location, run.run_id, run.key, encoding)
    return replace(run, formats=formats), target


def _tables(  # noqa: PLR0913, PLR0917 - a delivery is of these
    workspace: Workspace,
    request: ReplayRequest | None,
    run: RunOptions,
    target: Target,
    drain: Drain,
    pace: Pace,
    show: Show,
) -> ReplayOutcome:
    with delivery(workspace, request, run, target) as going:
        before, began_s = going.certificate().rows, time.monotonic()
        steps = going.run(target, drain, pace)
        show(facts := going.facts(run.run_id))
        follow(shown_to(facts, steps))
        certificate = going.certificate()
        target.finish(certificate.to_json())
    if pace.rate is None:
        kind = target.location.partition(":")[0]
        passed_s = time.monotonic() - began_s
        remember(workspace.state_dir / "backfill", kind, certificate.rows - before, passed_s)
    return ReplayOutcome(run.run_id, target.location, certificate)


def _application(  # noqa: PLR0913, PLR0917 - an application is run with these
    workspace: Workspace,
    app: LoadedApp,
    request: ReplayRequest | None,
    run_id: str,
    rate: Rate | Literal["auto"] | None,
    drain: Drain,
    show: Show,
) -> ReplayOutcome:
    from backfill.apps.replay import AppRun, replay_app  # noqa: PLC0415 - Spark is loaded when needed
    from headrace.spark import session  # noqa: PLC0415 - as above

    with session(workspace, f"backfill-{app.config.name}") as spark:
        began_s = time.monotonic()
        certificate = replay_app(AppRun(app, workspace, run_id, rate), request, spark, drain, show)
    if request is not None and rate is None and certificate.complete:
        kind, passed_s = app_kind(app.config.name), time.monotonic() - began_s
        remember(workspace.state_dir / "backfill", kind, certificate.rows_read, passed_s)
    return ReplayOutcome(run_id, _sink_of(workspace, run_id, certificate), certificate)


def _sink_of(workspace: Workspace, run_id: str, certificate: Certificate) -> str:
    """Return where a replay of an application brought its result."""
    record = state_of(workspace, run_id).require_record()
    published = record.publish and certificate.complete and not certificate.differences()
    if record.staged is None or published:
        return record.to
    return f"iceberg:{record.staged}"
