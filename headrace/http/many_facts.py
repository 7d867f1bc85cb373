"""The facts of several jobs that a command runs, as those of one command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.http.board import Facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headrace.http.rows import NotReady, StreamRow, TableRow
    from headrace.metrics.text import Sample


class ManyFacts(Facts):
    """Streams or lake tables that run one after the other, or side by side."""

    def __init__(self, parts: Iterable[Facts] = ()) -> None:
        self._parts = list(parts)

    def add(self, part: Facts) -> None:
        """Show one more."""
        self._parts.append(part)

    def jobs(self) -> Iterator[tuple[str, str]]:
        """Return the kind and name of each."""
        for one in self._parts:
            yield from one.jobs()

    def not_ready(self) -> Iterator[NotReady]:
        """Return what of them does not run."""
        for one in self._parts:
            yield from one.not_ready()

    def samples(self) -> Iterator[Sample]:
        """Return the metrics of each."""
        for one in self._parts:
            yield from one.samples()

    def streams(self) -> Sequence[StreamRow]:
        """Return the streams."""
        return [row for one in self._parts for row in one.streams()]

    def tables(self) -> Sequence[TableRow]:
        """Return the lake tables."""
        return [row for one in self._parts for row in one.tables()]
