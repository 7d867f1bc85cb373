"""What an application that runs in this process reports over HTTP: its query's progress."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headrace.application.source_rows import source_rows
from headrace.http.board import CachedAnswer, Facts
from headrace.http.rows import AppRow
from headrace.metrics.definitions import BATCH_DURATION, RECORDS_IN, WATERMARK
from headrace.metrics.durations import Durations
from headrace.metrics.text import Sample
from headrace.times import SECOND_US, format_time_us, parse_time_us
from stream_app.app_detail import app_detail
from stream_app.progress import ProgressKeeper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql.streaming.listener import StreamingQueryProgress

    from headrace.application.late_rows import DroppedLate
    from headrace.config.app.file import App
    from headrace.config.workspace.workspace import Workspace
    from headrace.http.app_rows import AppDetail

MS_PER_S: Final = 1000


class AppFacts(Facts):
    """An application whose query has started."""

    def __init__(
        self,
        app: App,
        choices: Mapping[str, str],
        workspace: Workspace,
        dropped_late: Callable[[], DroppedLate],
    ) -> None:
        folder = workspace.state_dir / "app" / app.name
        self._keeper = ProgressKeeper(folder, dropped_late)
        self._detail = CachedAnswer("application", lambda: app_detail(workspace, app))
        self._app = app
        self._choices = choices
        self._rows = 0
        self._watermark_us: int | None = None
        self._batches = Durations()

    def see(self, progress: StreamingQueryProgress) -> None:
        """Take over what a batch says of itself."""
        self._keeper.see(progress)
        self._rows += progress.numInputRows
        self._batches.observe(progress.durationMs.get("triggerExecution", 0) / MS_PER_S)
        said = progress.eventTime.get("watermark")
        # Spark's watermark begins at 0.
        if said is not None and (us := parse_time_us(said)) > 0:
            self._watermark_us = us

    def jobs(self) -> Sequence[tuple[str, str]]:
        """Return the application."""
        return [("app", self._app.name)]

    def apps(self) -> Sequence[AppRow]:
        """Return the application; its watermark holds for all of its sources."""
        us = self._watermark_us
        watermark = None if us is None else format_time_us(us)
        rows = source_rows(self._app, self._choices)
        sources = [replace(one, watermark=watermark) for one in rows]
        return [AppRow(self._app.name, "running", None, sources)]

    def app(self, name: str) -> AppDetail | None:
        """Return what the application keeps of its batches."""
        return self._detail.value() if name == self._app.name else None

    def samples(self) -> Iterator[Sample]:
        """Return the metrics of the application."""
        labels = {"app": self._app.name}
        yield Sample(RECORDS_IN, labels, self._rows)
        yield Sample(BATCH_DURATION, labels, self._batches)
        if self._watermark_us is not None:
            sources = source_rows(self._app, self._choices)
            of = {"source": sources[0].name} if len(sources) == 1 else {}
            yield Sample(WATERMARK, {**labels, **of}, self._watermark_us / SECOND_US)
