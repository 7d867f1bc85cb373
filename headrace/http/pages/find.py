"""From a path to its page."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from headrace.http.pages import overview
from headrace.http.pages.app_page import app_page
from headrace.http.pages.quarantine_page import quarantine_page
from headrace.http.pages.replay_page import replay_page, replays_page
from headrace.http.pages.stream_page import stream_page
from headrace.http.pages.table_page import table_page

if TYPE_CHECKING:
    from headrace.http.board import Facts
    from headrace.http.pages.parts import Page
    from headrace.http.pages.snapshot import Snapshot


def page_at(facts: Facts, snapshot: Snapshot, path: str, wanted: str = "") -> Page | None:
    """Return the page of a path, as the address bar has it; None where there is none.

    It may ask Kafka and read files: threads of the server's ask for it.
    """
    match [unquote(one) for one in path.strip("/").split("/")]:
        case [""]:
            return overview.page(snapshot, wanted)
        case ["replays"]:
            return replays_page(snapshot)
        case ["replays", run_id]:
            return replay_page(facts, run_id)
        case ["streams", name]:
            return stream_page(facts, snapshot, name)
        case ["tables", name]:
            return table_page(facts, snapshot, name)
        case ["apps", name]:
            return app_page(facts, snapshot, name)
        case ["quarantine", name]:
            return quarantine_page(facts, snapshot, name)
        case _:
            return None
