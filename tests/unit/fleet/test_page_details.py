"""What the control room asks for one page: answers of the present files, links, thresholds."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from fleet.page_details import PageDetails, link_rows, threshold_of
from fleet.status_facts import StatusFacts
from headrace.config.app.file import App
from headrace.config.load import load_workspace
from headrace.config.workspace.pages import Links
from headrace.http.detail_rows import DeclaredRow, LinkRow
from tests.unit.fleet import files

if TYPE_CHECKING:
    from pathlib import Path

ROW = DeclaredRow(
    "stream",
    "plays",
    "streams/plays.yaml",
    ["kafka:fronting/plays_raw"],
    ["kafka:consumer/plays", "search:plays", "iceberg:lake.tv.plays", "stream:other"],
    ["starts", "found", "lake", "on"],
    "kafka:fronting/bad",
)


def app(**thresholds: str) -> App:
    sources = {
        name: {
            "type": "iceberg",
            "catalog": "lake",
            "database": "tv",
            "table": name,
            "max_misalignment_threshold": text,
        }
        for name, text in thresholds.items()
    }
    return App.model_validate(
        {
            "kind": "app",
            "name": "one",
            "sources": sources,
            "transform": {"sql": "SELECT 1"},
            "sink": {"type": "jsonl", "path": "out"},
        }
    )


def test_the_threshold_is_the_smallest_of_the_applications_that_read_the_table() -> None:
    apps = [app(plays="10min", clicks="1min"), app(plays="5min")]
    assert threshold_of("lake.tv.plays", apps) == timedelta(minutes=5)
    assert threshold_of("lake.tv.other", apps) == timedelta(minutes=15)


def test_links_lead_to_what_a_file_reads_and_writes() -> None:
    links = Links(
        topic="https://ui/{cluster}/{topic}",
        table="https://cat/{database}/{table}",
        dashboard="https://dash/{kind}/{name}",
    )
    assert link_rows(links, ROW, "http://127.0.0.1:4040") == [
        LinkRow("topic", "fronting/plays_raw", "https://ui/fronting/plays_raw"),
        LinkRow("topic", "consumer/plays", "https://ui/consumer/plays"),
        LinkRow("table", "lake.tv.plays", "https://cat/tv/plays"),
        LinkRow("topic", "fronting/bad", "https://ui/fronting/bad"),
        LinkRow("dashboard", "plays", "https://dash/stream/plays"),
        LinkRow("Spark UI", "the process of headrace up", "http://127.0.0.1:4040"),
    ]
    assert link_rows(Links(), ROW) == []


def test_an_answer_is_of_the_file_as_it_is_now(tmp_path: Path) -> None:
    workspace, details = load_workspace(files.write(tmp_path)), PageDetails()
    first = details.app(workspace, app(plays="10min"))
    assert details.app(workspace, app(plays="10min")) is first
    other = details.app(workspace, app(plays="5min"))
    assert other is not None
    assert other is not first


def test_what_nobody_declares_has_no_details(tmp_path: Path) -> None:
    facts = StatusFacts(load_workspace(files.write(tmp_path)), None)
    assert facts.table("none") is None
    assert facts.app("none") is None
    assert facts.history("none") is None
    assert list(facts.links("stream", "none")) == []
