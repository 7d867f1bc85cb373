"""The overview: what is wrong, the way of the data, and a line for each output, table, application."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from headrace.http.pages.formats import key_of, seconds_between
from headrace.http.pages.parts import Page, Part
from headrace.http.pages.templates import macro, render
from headrace.http.pages.troubles import WAITING, Trouble, troubles_in, worst

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from headrace.http.pages.snapshot import Snapshot
    from headrace.http.rows import AppRow, ReplayRow, StreamRow, TableRow

# Nearer to now than this, something is complete until now.
LIVE_WITHIN_S: Final = 10.0
MOST_TROUBLES: Final = 30
NEWEST_REPLAYS: Final = 5


@dataclass(frozen=True, slots=True)
class OutputLine:
    """An output of a stream, as its line shows it."""

    stream: str
    output: str
    is_first: bool
    state: str
    source: str | None
    target: str | None
    read: int | None
    written: int | None
    filtered: int | None
    rejected: int | None
    lost: int
    lag: int | None
    rate: float | None
    complete: str | None

    @property
    def key(self) -> str:
        """The id of its line."""
        return key_of("o", self.stream, self.output)


@dataclass(frozen=True, slots=True)
class Stop:
    """One stop on the way of the data: how many there are of what, and how they fare."""

    what: str
    many: int
    state: str
    note: str


@dataclass(frozen=True, slots=True)
class Overview:
    """All of it."""

    at: str
    troubles: Sequence[Trouble]
    way: Sequence[Stop]
    outputs: Sequence[OutputLine]
    tables: Sequence[TableRow]
    apps: Sequence[AppRow]
    replays: Sequence[ReplayRow]


def overview(snapshot: Snapshot, wanted: str = "") -> Overview:
    """Return what the page shows; of streams, tables and applications those that match."""
    word = wanted.casefold()
    outputs = [
        one for one in _outputs(snapshot) if _matches(word, one.stream, one.source, one.target)
    ]
    return Overview(
        snapshot.at,
        troubles_in(snapshot),
        _way(snapshot),
        outputs,
        [one for one in snapshot.tables if _matches(word, one.name, one.table)],
        [one for one in snapshot.apps if _matches(word, one.name)],
        snapshot.replays[:NEWEST_REPLAYS],
    )


def page(snapshot: Snapshot, wanted: str = "") -> Page:
    """Return the overview as a page."""
    found = overview(snapshot, wanted)
    troubles = found.troubles[:MOST_TROUBLES]
    values = {
        "troubles": troubles,
        "more": len(found.troubles) - len(troubles),
        "waiting": WAITING,
        "way": found.way,
        "is_empty": not (
            snapshot.streams
            or snapshot.tables
            or snapshot.apps
            or snapshot.declared
            or snapshot.replays
            or snapshot.not_ready
        ),
        "wanted": wanted,
        "may_write": snapshot.may_write,
    }
    frame = {"wanted": wanted, "many": len(snapshot.streams)}
    readers = _readers(snapshot)
    parts = [
        Part("troubles", render("troubles.html", **values)),
        Part("way", render("way.html", **values)),
        _table("streams", {one.key: _output_row(one) for one in found.outputs}, frame),
        _table(
            "tables",
            {
                key_of("t", one.name): _table_row(
                    *_table_values(one, snapshot), tuple(readers.get(f"iceberg:{one.table}", ()))
                )
                for one in found.tables
            },
            frame,
        ),
        _table(
            "apps",
            {key_of("a", one.name): macro("rows.html", "app")(one) for one in found.apps},
            frame,
        ),
        _table(
            "replays",
            {key_of("r", one.run_id): macro("rows.html", "replay")(one) for one in found.replays},
            frame,
        ),
    ]
    return Page("Overview", parts, found, "overview")


def _table(name: str, rows: Mapping[str, str], frame: Mapping[str, object]) -> Part:
    before, _, after = render(f"{name}.html", has_rows=bool(rows), **frame).partition("<!--rows-->")
    return Part(name, before, rows, after)


def _outputs(snapshot: Snapshot) -> Iterable[OutputLine]:
    files = {one.name: one for one in snapshot.declared if one.kind == "stream"}
    for stream in snapshot.streams:
        file = files.get(stream.name)
        source = file.sources[0] if file is not None and file.sources else None
        targets = {} if file is None else dict(zip(file.outputs, file.targets, strict=False))
        for number, one in enumerate(stream.outputs):
            rate = snapshot.rates.get((stream.name, one.name))
            rejected = None
            if one.quarantined is not None:
                rejected = one.quarantined + (one.dropped or 0)
            yield OutputLine(
                stream.name,
                one.name,
                number == 0,
                one.state,
                source,
                targets.get(one.name),
                one.read,
                one.written,
                one.filtered,
                rejected,
                one.lost or 0,
                one.lag,
                # Where nothing comes, the line stays as it is.
                round(rate, 1 if rate < 10 else 0) if rate else None,
                complete_until(one.complete_up_to, snapshot.at),
            )


def complete_until(time: str | None, now: str) -> str | None:
    """Return up to when something is complete, to the second; "now" where that is only just ago."""
    if time is None:
        return None
    return "now" if seconds_between(time, now) < LIVE_WITHIN_S else f"{time[:19]}Z"


@lru_cache(maxsize=8192)
def _output_row(line: OutputLine) -> str:
    return macro("rows.html", "output")(line)


TableValues = tuple["str | int | None", ...]


def _table_values(row: TableRow, snapshot: Snapshot) -> TableValues:
    complete = complete_until(row.complete_up_to, snapshot.at)
    last = None if row.last_commit is None else f"{row.last_commit[:19]}Z"
    file = snapshot.declared_as("lake_table", row.name)
    source = file.sources[0] if file is not None and file.sources else None
    return row.name, row.table, row.state, source, row.rows, row.files, row.lag, complete, last


@lru_cache(maxsize=4096)
def _table_row(*values: object) -> str:
    return macro("rows.html", "table")(*values)


def _readers(snapshot: Snapshot) -> dict[str, list[str]]:
    """Return which applications read which locations."""
    found: dict[str, list[str]] = defaultdict(list)
    for one in snapshot.declared:
        if one.kind == "app":
            for source in one.sources:
                found[source].append(one.name)
    return found


def _matches(word: str, *texts: str | None) -> bool:
    return not word or any(text is not None and word in text.casefold() for text in texts)


def _way(snapshot: Snapshot) -> list[Stop]:
    topics = {source for one in snapshot.declared if one.kind == "stream" for source in one.sources}
    outputs = [output for stream in snapshot.streams for output in stream.outputs]
    rate = sum(snapshot.rates.values()) if snapshot.rates else None
    whole = [
        Stop("topic", len(topics), "", _rate_note(rate)),
        Stop(
            "stream",
            len(snapshot.streams),
            worst(one.state for one in snapshot.streams) if snapshot.streams else "",
            " · ".join(
                filter(None, (_lag_note([one.lag for one in outputs]), _rejected(snapshot.streams)))
            ),
        ),
        Stop(
            "lake table",
            len(snapshot.tables),
            worst(one.state for one in snapshot.tables) if snapshot.tables else "",
            _complete_note(snapshot),
        ),
        Stop(
            "application",
            len(snapshot.apps),
            worst(one.state for one in snapshot.apps) if snapshot.apps else "",
            _lag_note([source.lag for one in snapshot.apps for source in one.sources]),
        ),
    ]
    # A command that is about one thing declares nothing: it shows that, and no way.
    return whole if snapshot.declared else []


def _rate_note(rate: float | None) -> str:
    return "" if rate is None else f"{rate:,.0f} records/s"


def _lag_note(lags: Sequence[int | None]) -> str:
    known = [one for one in lags if one is not None]
    return f"{sum(known):,} records behind" if known else ""


def _rejected(streams: Sequence[StreamRow]) -> str:
    """Return how many records were rejected; one that all outputs of a stream rejected counts once."""
    many = sum(
        max(((one.quarantined or 0) + (one.dropped or 0) for one in stream.outputs), default=0)
        for stream in streams
    )
    return f"{many:,} rejected" if many else ""


def _complete_note(snapshot: Snapshot) -> str:
    times = [one.complete_up_to for one in snapshot.tables if one.complete_up_to]
    if not times or len(times) < len(snapshot.tables):
        return ""
    oldest = complete_until(min(times), snapshot.at) or ""
    return f"all complete until {oldest.replace('T', ' ').rstrip('Z')}"
