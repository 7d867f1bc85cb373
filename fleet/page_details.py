"""What the pages of one table, stream or application tell beyond the lines of all of them.

It is asked while somebody has such a page open, and kept until a file says something else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from headrace.config.app.file import App, IcebergSource
from headrace.errors import HeadraceError
from headrace.http.board import CachedAnswer
from headrace.http.detail_rows import LinkRow
from lake_writer.table_detail import USUAL_THRESHOLD, TableDetails
from router.audit.history import history
from stream_app.app_detail import app_detail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import timedelta

    from headrace.config.lake_table.file import LakeTable
    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.pages import Links
    from headrace.config.workspace.workspace import Workspace
    from headrace.http.app_rows import AppDetail
    from headrace.http.detail_rows import DeclaredRow, LedgerHistory
    from headrace.http.table_rows import TableDetail

T = TypeVar("T")
# Each answer of a stream's history is a read from Kafka.
HISTORY_AGE_S: Final = 5.0
# A page comes without what Kafka or a catalog has not said by then; it follows by itself.
PATIENCE_S: Final = 2.0


class PageDetails:
    """Answers by what they are about; one that is of an older file is forgotten."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[object, CachedAnswer[Any]]] = {}

    def table(
        self, workspace: Workspace, config: LakeTable, apps: Iterable[App]
    ) -> TableDetail | None:
        """Return what the files and snapshots of a lake table tell."""
        threshold = threshold_of(config.table.identifier, apps)

        def answer() -> CachedAnswer[TableDetail]:
            ask = TableDetails(workspace, config, threshold).ask
            return CachedAnswer("table", ask, first_patience_s=PATIENCE_S)

        return self._of("lake_table", config.name, (config, threshold), answer).value()

    def app(self, workspace: Workspace, config: App) -> AppDetail | None:
        """Return what an application keeps of its batches on this host."""

        def answer() -> CachedAnswer[AppDetail]:
            return CachedAnswer("application", lambda: app_detail(workspace, config))

        return self._of("app", config.name, config, answer).value()

    def history(self, workspace: Workspace, stream: Effective) -> Sequence[LedgerHistory] | None:
        """Return the last batches of a stream; None where its clusters do not say."""

        def ask() -> Sequence[LedgerHistory] | None:
            try:
                return history(workspace, stream)
            except HeadraceError:
                # The stream's own lines say which cluster is away.
                return None

        def answer() -> CachedAnswer[Sequence[LedgerHistory] | None]:
            return CachedAnswer(
                "history", ask, most_age_s=HISTORY_AGE_S, first_patience_s=PATIENCE_S
            )

        return self._of("stream", stream.config.name, stream.config, answer).value()

    def _of(
        self, kind: str, name: str, about: object, answer: Callable[[], CachedAnswer[T]]
    ) -> CachedAnswer[T]:
        known = self._known.get((kind, name))
        if known is None or known[0] != about:
            known = self._known[kind, name] = about, answer()
        return cast("CachedAnswer[T]", known[1])


def threshold_of(table: str, apps: Iterable[App]) -> timedelta:
    """Return the smallest threshold with which an application replays a table."""
    return min(
        (
            source.max_misalignment_threshold
            for app in apps
            for source in app.sources.values()
            if isinstance(source, IcebergSource) and source.identifier == table
        ),
        default=USUAL_THRESHOLD,
    )


def link_rows(links: Links, row: DeclaredRow, spark_ui: str | None = None) -> list[LinkRow]:
    """Return where other tools show something, and the topics and tables that it reads and writes."""
    found = list(_links(links, row))
    if spark_ui is not None:
        found.append(LinkRow("Spark UI", "the process of headrace up", spark_ui))
    return found


def _links(links: Links, row: DeclaredRow) -> Iterator[LinkRow]:
    locations = (*row.sources, *row.targets, *((row.quarantine,) if row.quarantine else ()))
    for location in dict.fromkeys(locations):
        scheme, _, rest = location.partition(":")
        cluster, slash, topic = rest.partition("/")
        if scheme == "kafka" and slash and (url := links.of_topic(cluster, topic)) is not None:
            yield LinkRow("topic", f"{cluster}/{topic}", url)
        elif scheme == "iceberg" and (url := links.of_table(rest)) is not None:
            yield LinkRow("table", rest, url)
    if (url := links.of_dashboard(row.kind, row.name)) is not None:
        yield LinkRow("dashboard", row.name, url)
