"""The sources of an application, as the API has them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.application.select import names_for_the_transform
from headrace.config.app.file import DynamicSource, HybridSource
from headrace.http.rows import AppSourceRow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.config.app.file import App


def source_rows(app: App, choices: Mapping[str, str]) -> list[AppSourceRow]:
    """Return what each source reads, by the file or by the choices that go before it."""
    rows = []
    for name in names_for_the_transform(app):
        source = app.sources[name]
        row = AppSourceRow(name, name, (name,))
        if isinstance(source, DynamicSource):
            selected = choices.get(name, source.selected)
            row = replace(row, selected=selected, candidates=source.candidates)
        rows.append(row)
    return rows


def with_lags(
    app: App, rows: list[AppSourceRow], lags: Mapping[str, int | None]
) -> list[AppSourceRow]:
    """Return the rows with the lags of the topics that they read, by the topics' names as sources."""
    found = []
    for row in rows:
        source = app.sources.get(row.selected)
        topics = source.live if isinstance(source, HybridSource) else row.selected
        found.append(replace(row, lag=lags.get(topics)))
    return found
