"""What is wrong, each thing in a sentence, with what to do about it; the worst first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from headrace.problems import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.http.pages.snapshot import Snapshot
    from headrace.http.rows import NotReady

FOLDERS: Final = {"stream": "streams", "lake_table": "tables", "app": "apps", "replay": "replays"}
START: Final = {
    "stream": "router start -c {file}",
    "lake_table": "lake-writer start -c {file}",
    "app": "headrace run -c {file}",
}
FAILED, LOST, WAITING = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something wrong, or something that waits to be started (`level` WAITING)."""

    level: int
    kind: str
    name: str
    parts: tuple[str, ...]
    problem: str
    advice: str | None
    href: str | None

    @property
    def subject(self) -> str:
        """What it is about, in words."""
        kind = self.kind.replace("_", " ")
        return f"{kind} {self.name}" + (f" ({', '.join(self.parts)})" if self.parts else "")


def troubles_in(snapshot: Snapshot) -> list[Trouble]:
    """Return all that is wrong: failures, then lost offsets, then what does not run."""
    found = [*_resting(snapshot), *_broken(snapshot), *_lost(snapshot)]
    return sorted(found, key=lambda one: (one.level, one.kind, one.name))


def href_of(kind: str, name: str) -> str | None:
    """Return the page of something."""
    return f"/{FOLDERS[kind]}/{quote(name, safe='')}" if kind in FOLDERS else None


def _resting(snapshot: Snapshot) -> Iterator[Trouble]:
    together: dict[tuple[str, str, str], list[NotReady]] = {}
    for one in snapshot.not_ready:
        together.setdefault((one.kind, one.name, one.problem), []).append(one)
    failed = {("stream", one.name) for one in snapshot.streams if one.state == "failed"}
    failed |= {("lake_table", one.name) for one in snapshot.tables if one.state == "failed"}
    failed |= {("app", one.name) for one in snapshot.apps if one.state == "failed"}
    for (kind, name, problem), rows in together.items():
        level = FAILED if (kind, name) in failed else WAITING
        advice = next((one.advice for one in rows if one.advice), None)
        if advice is None and level == WAITING:
            advice = _start(snapshot, kind, name)
        parts = tuple(one.part for one in rows if one.part is not None)
        yield Trouble(level, kind, name, parts, problem, advice, href_of(kind, name))


def _start(snapshot: Snapshot, kind: str, name: str) -> str | None:
    declared = snapshot.declared_as(kind, name)
    if declared is None or kind not in START:
        return None
    if kind == "app" and declared.sources and all(map(_is_past, declared.sources)):
        return f"its file selects tables: backfill replay -c {declared.file} runs it over the past"
    return f"run everything: headrace up; or this alone: {START[kind].format(file=declared.file)}"


def _is_past(source: str) -> bool:
    return source.startswith("iceberg:")


def _broken(snapshot: Snapshot) -> Iterator[Trouble]:
    known = {(one.kind, one.name) for one in snapshot.not_ready}
    for one in snapshot.declared:
        if one.problem is not None and (one.kind, one.name) not in known:
            advice = "correct the file; headrace validate lists all mistakes"
            yield Trouble(FAILED, one.kind, one.name, (), one.problem, advice, None)


def _lost(snapshot: Snapshot) -> Iterator[Trouble]:
    for stream in snapshot.streams:
        parts = tuple(one.name for one in stream.outputs if one.lost)
        if not parts:
            continue
        lost = max(one.lost or 0 for one in stream.outputs)
        declared = snapshot.declared_as("stream", stream.name)
        file = declared.file if declared else "FILE"
        problem = f"{counted(lost, 'offset')} were gone from the topic before they were read"
        advice = f"the stream's page names them; router audit -c {file} proves it"
        href = href_of("stream", stream.name)
        yield Trouble(LOST, "stream", stream.name, parts, problem, advice, href)


def worst(states: Iterable[str]) -> str:
    """Return the state that asks for most attention."""
    order = ("failed", "starting", "stopped", "new", "running", "complete")
    there = set(states)
    return next((one for one in order if one in there), "new")
