"""Server-sent events: everything as JSON for programs, the changed parts of a page for browsers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import msgspec
import structlog
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from headrace.http.board import Facts
from headrace.http.pages.find import page_at
from headrace.http.pages.parts import Part, changes
from headrace.http.pages.quarantine_page import REPLAY, replay_part
from headrace.http.pages.templates import render

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    from starlette.requests import Request

    from headrace.http.board import Board
    from headrace.http.pages.parts import SentPages
    from headrace.http.pages.snapshot import Snapshot, Snapshots

TICK_S: Final = 1.0
# Each holds a connection of those that the server has (MOST_CONNECTIONS), and probes need some.
MOST_STREAMS: Final = 32
BUSY: Final = 503
# A browser whose connection broke tries again after so long.
RETRY_MS: Final = 1_000
KIND: Final = "text/event-stream; charset=utf-8"
# The element of a page that says why its figures are old.
NOTE: Final = "note"
# A quarantine is read from Kafka: again when its replay has come further, and not every second.
QUARANTINE: Final = "/quarantine/"
log = structlog.get_logger(__name__)


class Events:
    """The streams of events that are open."""

    def __init__(self, board: Board, snapshots: Snapshots, sent: SentPages) -> None:
        self._board = board
        self._snapshots = snapshots
        self._sent = sent
        self._open = 0

    async def answer(self, request: Request, problem: Callable[[int, str], Response]) -> Response:
        """Begin a stream of events, unless too many are open."""
        if request.method == "HEAD":
            return Response(headers={"content-type": KIND})
        if self._open >= MOST_STREAMS:
            return problem(BUSY, f"{MOST_STREAMS} streams of events are open; close a page")
        query = request.query_params
        path = query.get("page")
        if path is None:
            ticks = self._rows()
        else:
            ticks = self._parts(path, query.get("q", ""), query.get("seen", ""))
        return StreamingResponse(self._counted(ticks), headers={"content-type": KIND})

    async def _counted(self, ticks: AsyncIterator[str]) -> AsyncIterator[str]:
        self._open += 1
        try:
            yield f"retry: {RETRY_MS}\n\n"
            async for text in ticks:
                yield text
        except Exception as failure:  # noqa: BLE001 - whoever listens begins again
            log.warning("a stream of events ended", problem=type(failure).__name__)
        finally:
            self._open -= 1

    async def _rows(self) -> AsyncIterator[str]:
        """Give everything, and then what has changed."""
        seen: dict[tuple[str, str], bytes] = {}
        while True:
            snapshot = await self._snapshots.now()
            now = await run_in_threadpool(_encoded, snapshot)
            texts = [
                event(key[0], row.decode()) for key, row in now.items() if seen.get(key) != row
            ]
            texts += [
                event("gone", msgspec.json.encode({"kind": kind, "name": name}).decode())
                for kind, name in seen
                if (kind, name) not in now
            ]
            seen = now
            yield "".join((*texts, event("beat", snapshot.at)))
            await asyncio.sleep(TICK_S)

    async def _parts(self, path: str, wanted: str, token: str) -> AsyncIterator[str]:
        """Give the parts of a page that have changed since it was sent, and then again and again."""
        seen = self._sent.take(token)
        while True:
            snapshot = await self._snapshots.now()
            text = ""
            if await run_in_threadpool(self._may_have_changed, path, seen):
                text, seen = await run_in_threadpool(self._changed, snapshot, path, wanted, seen)
            yield text + event("beat", snapshot.at[11:19])
            await asyncio.sleep(TICK_S)

    def _may_have_changed(self, path: str, seen: Mapping[str, Part]) -> bool:
        facts, shown = self._board.facts, seen.get(REPLAY)
        if facts is None or shown is None or not path.startswith(QUARANTINE):
            return True
        name = unquote(path.removeprefix(QUARANTINE))
        return replay_part(facts.quarantine_replay(name)).html != shown.html

    def _changed(
        self, snapshot: Snapshot, path: str, wanted: str, seen: dict[str, Part]
    ) -> tuple[str, dict[str, Part]]:
        facts = self._board.facts
        page = page_at(facts or Facts(), snapshot, path, wanted)
        if page is not None:
            parts = [note(""), *page.parts]
        else:
            why = "It is not there any more." if facts else f"{self._board.command} is starting."
            parts = [*(one for key, one in seen.items() if key != NOTE), note(why)]
        text = "".join(event("parts", html) for html in changes(seen, parts))
        return text, {part.id: part for part in parts}


def note(text: str) -> Part:
    """Return what a page says of itself where its figures are those of before."""
    return Part(NOTE, render("note.html", text=text))


def event(name: str, data: str) -> str:
    """Return one event; each line of its data has a line."""
    lines = "".join(f"data: {line}\n" for line in data.splitlines() or [""])
    return f"event: {name}\n{lines}\n"


def _encoded(snapshot: Snapshot) -> dict[tuple[str, str], bytes]:
    return {key: msgspec.json.encode(row) for key, row in _named(snapshot)}


def _named(snapshot: Snapshot) -> Iterator[tuple[tuple[str, str], Any]]:
    yield from ((("stream", one.name), one) for one in snapshot.streams)
    yield from ((("table", one.name), one) for one in snapshot.tables)
    yield from ((("app", one.name), one) for one in snapshot.apps)
    yield from ((("replay", one.run_id), one) for one in snapshot.replays)
