"""Metrics of a command that ends: into a file for node_exporter, or to a Pushgateway."""

from __future__ import annotations

import base64
import contextlib
import os
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import structlog

from headrace import state_files
from headrace.errors import UsageError
from headrace.metrics.definitions import (
    BUILD_INFO,
    JOB_UP,
    LAST_RUN_DURATION,
    LAST_RUN_END,
    LAST_RUN_SUCCESS,
)
from headrace.metrics.text import CONTENT_TYPE, Sample, exposition
from headrace.urls import authorization_in, http_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from headrace.secret import Secret

# They tell of a process that can be asked, and there will be none.
OF_A_PROCESS: Final = frozenset({BUILD_INFO.name, JOB_UP.name})
SUFFIX: Final = ".prom"
ANSWER_WITHIN_S: Final = 10.0
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class MetricsAtEnd:
    """Where the metrics go at the end; nowhere by default."""

    file: Path | None = None
    push: Secret | None = None

    @property
    def is_asked_for(self) -> bool:
        """Whether they go anywhere."""
        return self.file is not None or self.push is not None


@dataclass(slots=True)
class RunOutcome:
    """How a run has come out; whoever finds that it failed without an error says so."""

    has_failed: bool = False


@contextmanager
def metrics_at_end(
    where: MetricsAtEnd, kind: str, name: str, samples: Callable[[], Iterable[Sample]]
) -> Iterator[RunOutcome]:
    """Bring the metrics where they go when left, also after a failure.

    A place that cannot take them is named in the log, and changes nothing for the run.
    """
    outcome = RunOutcome()
    if not where.is_asked_for:
        yield outcome
        return
    began_s = time.monotonic()
    try:
        yield outcome
    except BaseException:
        outcome.has_failed = True
        raise
    finally:
        text = exposition(_all(kind, name, samples, outcome, time.monotonic() - began_s))
        if where.file is not None:
            _write(where.file, text)
        if where.push is not None:
            _push(where.push, kind, name, text)


def _all(
    kind: str,
    name: str,
    samples: Callable[[], Iterable[Sample]],
    outcome: RunOutcome,
    took_s: float,
) -> Iterator[Sample]:
    labels = {"kind": kind, "name": name}
    yield Sample(LAST_RUN_SUCCESS, labels, int(not outcome.has_failed))
    yield Sample(LAST_RUN_END, labels, round(time.time(), 3))
    yield Sample(LAST_RUN_DURATION, labels, round(took_s, 3))
    for one in samples():
        if one.metric.name not in OF_A_PROCESS:
            yield one


def require_file(path: Path) -> Path:
    """Refuse a file that node_exporter would not read, or that could not be written at the end."""
    if path.suffix != SUFFIX:
        raise UsageError(
            f"--metrics-file {path} does not end in {SUFFIX}",
            f"node_exporter's textfile collector reads the files *{SUFFIX} of its folder",
        )
    folder = path.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(
            f"--metrics-file {path}: {folder} is not a folder that can be written",
            "create it, or name the folder of node_exporter's textfile collector",
        )
    return path.absolute()


def require_url(url: Secret) -> Secret:
    """Refuse an address to which nothing could be pushed."""
    wrong = UsageError("--metrics-push is not an address", "write it as http://HOST:PORT")
    http_parts(url.reveal(), wrong)
    return url


def _write(path: Path, text: str) -> None:
    try:
        # Atomic: the collector may read at any moment.
        state_files.write(path, text.encode(), lasting=False)
    except OSError as problem:
        log.warning("the metrics were not written", file=str(path), reason=problem.strerror)


def _push(url: Secret, kind: str, name: str, text: str) -> None:
    """Replace what the Pushgateway has of this job."""
    parts = http_parts(url.reveal(), UsageError("--metrics-push is not an address"))
    host = parts.netloc.rpartition("@")[2]
    group = f"/metrics/job/headrace/{_label('kind', kind)}/{_label('name', name)}"
    request = urllib.request.Request(  # noqa: S310 - the scheme is http or https
        f"{parts.scheme}://{host}{parts.path.rstrip('/')}{group}",
        text.encode(),
        {"content-type": CONTENT_TYPE},
        method="PUT",
    )
    login = authorization_in(parts)
    if login is not None:
        request.add_unredirected_header("Authorization", login.reveal())
    try:
        with contextlib.closing(urllib.request.urlopen(request, timeout=ANSWER_WITHIN_S)):  # noqa: S310 - as above
            pass
    except (OSError, ValueError) as problem:
        # Only its kind and status: it may name the address.
        status = getattr(problem, "code", None)
        log.warning("the metrics were not pushed", problem=type(problem).__name__, status=status)


def _label(name: str, value: str) -> str:
    """Return a label as a part of a path; a Pushgateway takes no slash but in this form."""
    if "/" in value or not value:
        return f"{name}@base64/{base64.urlsafe_b64encode(value.encode()).decode() or '='}"
    return f"{name}/{quote(value, safe='')}"
