"""The control room in a real browser, over a workspace at work: Kafka, router, lake tables, replays.

HEADRACE_SCREENSHOTS=1 writes what it shows to docs/images/.
"""

from __future__ import annotations

import json
import os
import random
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from headrace.config.load import load_workspace
from headrace.embedded.process import wait_until
from headrace.iceberg.catalog import open_catalog
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord, Sender
from headrace.schema.arrow import to_arrow
from headrace.schema.iceberg import to_iceberg
from headrace.schema.model import Field, Primitive, Record
from tests.browser import browser
from tests.end_to_end.commands import COUNTRY, EVENT_ID, EVENT_TS, HEADRACE_YAML, run
from tests.end_to_end.serving import Client, running
from tests.limits import LIMIT_S
from tests.short_lived import SPARK_CONF

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page
    from pyiceberg.table import Table

    from headrace.config.workspace.workspace import Cluster
    from headrace.embedded.broker import Broker
    from tests.end_to_end.serving import Running

IMAGES = Path(__file__).parents[2] / "docs" / "images"
# Of what a page waits for, nothing takes long: Kafka and Spark are at work before.
LIMIT_MS = 60_000
T0_MS = 1_772_359_200_000
MINUTE_MS = 60_000
STARTS, STOPS = 120, 60
# Of a table that is large enough for its figures to say something.
VIEWS, VIEWS_A_COMMIT = 30_000, 6_000
COUNTRIES = ("de", "fr", "br", "jp", "us", "in", "mx", "pl")
# Of the first hour's starts, the live result does not have this one.
MISSING = 30
SCRIPT = "<script>document.title = 'taken over'</script>"
STREAM = """\
kind: stream
name: playback
source: {type: kafka, cluster: fronting, topic: playback_raw, format: json, schema: ../schemas/raw.avsc}
hygiene: {required: [event_id]}
outputs:
  - name: starts
    filter: "event_type = 'start'"
    project: [event_id, event_ts, "upper(country) AS country"]
    sink: {type: kafka, cluster: consumer, topic: playback_starts, format: json, key: event_id}
  - name: everything
    sink: {type: kafka, cluster: consumer, topic: playback_all, format: json}
"""
FURTHER = """\
links: {topic: "https://kafka.example/ui/{cluster}/topics/{topic}"}
prices: {kafka_gb_month: 0.10, lake_gb_month: 0.023, kafka_replication: 3}
"""
TABLE = """\
kind: lake_table
name: {name}
source: {{type: kafka, cluster: fronting, topic: {topic}, format: json, schema: ../schemas/{schema}.avsc}}
table: {{catalog: lake, database: tv, table: {name}, partition_by: ["hour(__metadata__.kafka_ingestion_ts)"]}}
hygiene: {{on_bad_record: drop}}
batch: {{max_interval: 1s, max_rows: {rows}}}
"""
APP = """\
kind: app
name: minutes
sources:
  starts: {type: dynamic, selected: past-starts, candidates: [live-starts, past-starts]}
  live-starts: {type: kafka, cluster: consumer, topics: playback_raw, format: json, schema: ../schemas/raw.avsc}
  past-starts: {type: iceberg, catalog: lake, database: tv, table: plays}
watermarks: {starts: {column: event_ts, delay: 10min}}
transform: {sql: "SELECT window.start AS minute, count(*) AS many FROM starts GROUP BY window(event_ts, '1 minute')"}
sink: {type: jsonl, path: out/minutes}
"""
BACKFILL = """\
kind: app
name: starts_again
sources:
  plays: {type: dynamic, selected: past-plays, candidates: [live-plays, past-plays, older-plays]}
  live-plays: {type: kafka, cluster: consumer, topics: playback_raw, format: json, schema: ../schemas/raw.avsc}
  past-plays: {type: iceberg, catalog: lake, database: tv, table: plays}
  older-plays: {type: iceberg, catalog: lake, database: tv, table: plays_of_2025}
transform: {sql: "SELECT event_id, event_ts FROM plays WHERE event_type = 'start'"}
sink: {type: iceberg, catalog: lake, database: tv, table: starts_of_plays, mode: upsert, key: [event_id], time_column: event_ts}
"""
SCHEMAS = {
    "raw": [EVENT_ID, {"name": "event_type", "type": "string"}, EVENT_TS, COUNTRY],
    "starts": [EVENT_ID, EVENT_TS, COUNTRY],
}


def write_workspace(root: Path, bootstrap: str) -> Path:
    files = {
        "headrace.yaml": HEADRACE_YAML.format(
            bootstrap=bootstrap, master="local[2]", short_lived=SPARK_CONF
        )
        + FURTHER,
        "streams/playback.yaml": STREAM,
        "tables/plays.yaml": TABLE.format(
            name="plays", topic="playback_raw", schema="raw", rows=100_000
        ),
        "tables/impressions.yaml": TABLE.format(
            name="impressions", topic="impressions", schema="starts", rows=100_000
        ),
        "tables/views.yaml": TABLE.format(
            name="views", topic="views", schema="raw", rows=VIEWS_A_COMMIT
        ),
        "apps/minutes.yaml": APP,
        "apps/starts_again.yaml": BACKFILL,
    }
    for schema, fields in SCHEMAS.items():
        record = {"type": "record", "name": f"tv.{schema}", "fields": fields}
        files[f"schemas/{schema}.avsc"] = json.dumps(record)
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def send(root: Path) -> None:
    """Send plays over two hours, and impressions that pause for an hour; some plays are invalid."""
    cluster = load_workspace(root).cluster("fronting")
    kafka = KafkaCluster(cluster)
    for topic in ("playback_raw", "impressions", "views", "playback_starts", "playback_all"):
        kafka.ensure_topic(topic, 2)
    plays = Sender(cluster, "playback_raw")
    for number in range(STARTS + STOPS):
        kind = "start" if number < STARTS else "stop"
        at_ms = T0_MS + (number % STARTS) * MINUTE_MS
        event = {"event_id": f"{kind}{number}", "event_type": kind, "country": "de"}
        plays.send(KafkaRecord(value({**event, "event_ts": at_ms * 1000}), timestamp_ms=at_ms))
    for text in ("no json", SCRIPT, '{"event_type": "start"}', '{"event_type": "stop"}'):
        plays.send(KafkaRecord(text.encode(), b"key", timestamp_ms=T0_MS))
    plays.close()
    impressions = Sender(cluster, "impressions")
    for minute in (*range(10), *range(75, 120)):
        at_ms = T0_MS + minute * MINUTE_MS
        event = {"event_id": f"i{minute}", "country": "de"}
        impressions.send(
            KafkaRecord(value({**event, "event_ts": at_ms * 1000}), timestamp_ms=at_ms)
        )
    impressions.close()
    send_views(cluster)


def send_views(cluster: Cluster) -> None:
    """Send views over six hours, as many at any time."""
    views, chance = Sender(cluster, "views"), random.Random(1)
    for number in range(VIEWS):
        at_ms = T0_MS + number * 6 * 60 * MINUTE_MS // VIEWS
        event: dict[str, object] = {
            "event_id": f"view-{number:08}-{chance.randrange(5_000):04}",
            "event_type": chance.choice(("start", "start", "pause", "stop")),
            "event_ts": at_ms * 1000 - chance.randrange(60_000_000),
            "country": chance.choice(COUNTRIES),
        }
        views.send(KafkaRecord(value(event), timestamp_ms=at_ms))
    views.close()


def value(event: dict[str, object]) -> bytes:
    return json.dumps(event).encode()


@dataclass
class Room:
    """The workspace with a browser before it."""

    root: Path
    browser: Browser
    up: Running
    # What the pages' scripts and the browser's policy complained of.
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str, *, port: int = 0, scheme: str = "light", width: int = 1360) -> Page:
        page = self.browser.new_page(
            viewport={"width": width, "height": 860},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        page.set_default_timeout(LIMIT_MS)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda said: self._hear(said.type, said.text))
        page.goto(f"http://127.0.0.1:{port or self.up.port}{path}")
        return page

    def _hear(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.complaints.append(text)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory, broker: Broker) -> Iterator[Room]:
    with ExitStack() as held:
        chromium = held.enter_context(browser())
        root = write_workspace(tmp_path_factory.mktemp("room"), broker.bootstrap_servers)
        send(root)
        up = held.enter_context(running(root, "headrace", "up"))
        assert wait_until(lambda: is_landed(up), LIMIT_S), (root / "headrace-up.log").read_text()
        yield Room(root, chromium, up)


@pytest.fixture(autouse=True)
def closed(room: Room) -> Iterator[None]:
    """Close the pages of a test: they would look for commands that have ended, and complain."""
    yield
    for context in room.browser.contexts:
        context.close()
    room.complaints.clear()


def landed(client: Client) -> dict[str, int]:
    return {one["name"]: one["rows"] for one in client.rows("tables")}


def is_landed(client: Client) -> bool:
    read = [one["read"] for stream in client.rows("streams") for one in stream["outputs"]]
    return (
        landed(client) == {"plays": STARTS + STOPS, "impressions": 55, "views": VIEWS}
        and read == [STARTS + STOPS + 4] * 2
    )


def keep(page: Page, name: str) -> None:
    """Write a picture for the docs, if somebody has asked for it."""
    if os.environ.get("HEADRACE_SCREENSHOTS"):
        page.screenshot(path=IMAGES / f"{name}.png", full_page=True)


def text(page: Page, selector: str = "main") -> str:
    return " ".join(page.inner_text(selector).split())


def test_the_overview_shows_the_way_and_goes_on_by_itself(room: Room) -> None:
    page = room.open("/")
    assert text(page, "h1") == "Everything is at work", text(page)
    assert page.locator("#streams tbody tr").count() == 2
    keep(page, "control-room-overview")
    keep(room.open("/", scheme="dark"), "control-room-overview-dark")
    row = page.locator("#streams tbody tr").first
    before = row.locator("td").nth(5).inner_text()
    sender = Sender(load_workspace(room.root).cluster("fronting"), "impressions")
    sender.send(
        KafkaRecord(value({"event_id": "late", "event_ts": T0_MS * 1000}), timestamp_ms=T0_MS)
    )
    sender.close()
    assert wait_until(lambda: landed(room.up)["impressions"] == 56, LIMIT_S)
    page.wait_for_selector("#tables td:text-is('56')")
    assert before == row.locator("td").nth(5).inner_text()
    assert room.complaints == []


def test_the_ledger_adds_up_as_the_audit_has_it(room: Room) -> None:
    page = room.open("/")
    page.get_by_role("link", name="playback", exact=True).first.click()
    page.wait_for_url("**/streams/playback")
    said = text(page, "#ledger-starts .equation")
    assert said == "184 read = 120 written + 60 filtered + 0 dropped + 4 quarantined ✓ adds up"
    audit = run("router", "audit", "-c", "streams/playback.yaml", "-o", "json", cwd=room.root)
    (starts, *_) = json.loads(audit.stdout)["outputs"]
    by_partition = [
        [row.locator("td").nth(place).inner_text() for place in (1, 2, 3, 4)]
        for row in page.locator("#ledger-starts tbody tr").all()
    ]
    columns = ("done", "read", "written", "filtered")
    assert by_partition == [[str(one[name]) for name in columns] for one in starts["partitions"]]
    keep(page, "control-room-stream")
    page.locator("#settings summary").click()
    assert "streams/playback.yaml:3" in text(page, "#settings")
    page.fill(
        "#records", '{"event_id": "1", "event_type": "stop", "event_ts": 0}\n{"event_id": null}'
    )
    page.get_by_role("button", name="Explain").click()
    page.wait_for_selector(".explained")
    assert "starts topic playback_starts as json ○ filtered" in text(page, "#explain")
    assert "▲ rejected event_id: expected str, got null" in text(page, "#explain")
    assert room.complaints == []


def test_rejected_records_stay_text(room: Room) -> None:
    page = room.open("/quarantine/playback")
    assert "4 rejected records" in text(page)
    assert text(page).count(SCRIPT) == 1
    assert page.title() == "Quarantine of playback · headrace"
    assert page.locator("article").count() >= 2
    page.get_by_role("button", name="Try", exact=True).click()
    page.wait_for_selector(".trial")
    assert text(page, ".trial tbody tr").startswith("starts 0 0 4")
    assert room.complaints == []


def test_a_table_tells_its_commits_files_and_costs(room: Room) -> None:
    page = room.open("/tables/views")
    page.wait_for_selector("#cost .costs")
    detail = json.loads(room.up.get("/tables/views.json")[1])["detail"]
    cost, files = detail["cost"], detail["files"]
    assert (cost["rows"], files["rows"], cost["sampled"]) == (VIEWS, VIEWS, VIEWS)
    # Parquet takes less than compressed JSON with its offsets, times and lengths.
    assert cost["times_smaller"] > 1
    assert cost["replication"] == 3
    assert f"{cost['times_smaller']:.1f} times fewer bytes" in text(page, "#cost .headline")
    assert cost["kafka_cost"] > cost["lake_cost"] > 0
    assert sum(one["rows_added"] for one in detail["commits"]) == VIEWS
    assert {one["by"] for one in detail["commits"]} == {"lake writer views"}
    assert len(detail["commits"]) == page.locator("#commits tbody tr").count()
    assert len(detail["commits"]) >= VIEWS // VIEWS_A_COMMIT
    assert sum(one["files"] for one in files["by_size"]) == files["files"]
    link = page.get_by_role("link", name="fronting/views")
    assert link.get_attribute("href") == "https://kafka.example/ui/fronting/topics/views"
    assert room.complaints == []
    keep(page, "control-room-table")


def test_an_application_tells_its_positions_state_and_ways_back(room: Room) -> None:
    """By what `headrace run` keeps of it on this host; its file selects a table."""
    with running(room.root, "headrace", "ui") as ui:
        page = room.open("/apps/minutes", port=ui.port)
        assert "backfill replay -c apps/minutes.yaml" in text(page)
        select = ("--select", "starts=live-starts", "--once")
        ran = run("headrace", "run", "-c", "apps/minutes.yaml", *select, cwd=room.root)
        assert ran.returncode == 0, ran.stderr

        def detail() -> dict[str, Any]:
            found: dict[str, Any] = json.loads(ui.get("/apps/minutes.json")[1])["detail"]
            return found

        assert wait_until(lambda: len(detail()["batches"]) > 1, LIMIT_S)
        page.wait_for_selector("#rewinds tbody tr:nth-child(2)")
        kafka = KafkaCluster(load_workspace(room.root).cluster("consumer"))
        spans = kafka.offsets("playback_raw")
        ends = " ".join(f"{number}:{span.stop}" for number, span in sorted(spans.items()))
        assert f"playback_raw {ends} of live-starts" in text(page, ".sources")
        told = detail()
        assert told["rows"] == STARTS + STOPS
        assert told["batches"][0]["watermark"].startswith("2026-03-01T")
        assert told["state"][0]["rows"] > 0
        assert len(told["rewinds"]) == page.locator("#rewinds tbody tr").count()
        keep(page, "control-room-app")
    assert room.complaints == []


def test_a_replay_shows_its_band_and_then_its_certificate(room: Room) -> None:
    tables = ("--table", "lake.tv.plays", "--table", "lake.tv.impressions")
    period = ("--start-ts", "2026-03-01", "--end-ts", "2026-03-02", "--max-misalignment", "15min")
    replay = ("backfill", "replay", *tables, *period)
    slow = (*replay, "--to", "jsonl:out/slow", "--run-id", "two-tables", "--rate-limit", "15")
    with running(room.root, *slow) as process:
        page = room.open("/replays/two-tables", port=process.port)
        page.wait_for_selector(".band .next.held")
        assert "▲ lake.tv.plays: " in text(page, ".lanes")
        keep(page, "alignment-band")
        assert process.stop() == 0
    done = run(*replay, "--to", "jsonl:out/all", "--run-id", "all", cwd=room.root)
    assert done.returncode == 0, done.stderr
    page = room.open("/replays")
    page.wait_for_selector("tr:has(a:text-is('all')) .st.complete")
    page.get_by_role("link", name="two-tables").click()
    # From here on, by its plan and its position.
    page.wait_for_selector(".band text.frontier")
    assert "backfill replay --resume --run-id two-tables" in text(page)
    page.goto(page.url.replace("two-tables", "all"))
    assert "✓ yes" in text(page, "#certificate")
    assert "236 of 236" in text(page)
    keep(page, "control-room-certificate")


def make_live_result(root: Path) -> Table:
    """Make what a live run has left: the starts of both hours, and one is missing."""
    catalog = open_catalog(load_workspace(root).catalog("lake"))
    record = Record(
        "starts",
        (
            Field("event_id", Primitive.STRING, nullable=True),
            Field("event_ts", Primitive.TIMESTAMP_MICROS, nullable=True),
        ),
    )
    schema, properties = to_iceberg(record)
    table = catalog.create_table(("tv", "starts_of_plays"), schema, properties=properties)
    numbers = [number for number in range(STARTS) if number != MISSING]
    rows = [
        {"event_id": f"start{number}", "event_ts": (T0_MS + number * MINUTE_MS) * 1000}
        for number in numbers
    ]
    table.append(pa.Table.from_pylist(rows, to_arrow(record)))
    return table


def test_a_backfill_is_planned_run_compared_and_published(room: Room) -> None:
    live = make_live_result(room.root)
    page = room.open("/replays")
    # Each of the four commands starts a Spark.
    page.set_default_timeout(LIMIT_S * 1000)
    page.get_by_role("link", name="New replay").click()
    page.select_option("#f-app", "starts_again")
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("past-plays").check()
    page.fill("#f-start_ts", "2026-03-01T11:00:00Z")
    page.fill("#f-end_ts", "2026-03-01T10:00:00Z")
    page.get_by_role("button", name="Plan").click()
    page.wait_for_selector("text=▲ the period is empty")
    # The browser's own word for an answer that is a refusal.
    (complaint,) = room.complaints
    assert "400" in complaint
    room.complaints.clear()
    page.fill("#f-start_ts", "2026-03-01T10:00:00Z")
    page.fill("#f-end_ts", "2026-03-01T11:00:00Z")
    page.fill("#f-regions", "us-east-1")
    page.get_by_role("button", name="Plan").click()
    page.wait_for_selector("#plan")
    assert "Rows 120" in text(page, "#plan")
    keep(page, "control-room-plan")
    page.get_by_role("button", name="Start this replay").click()
    page.wait_for_selector("#result button:text-is('Publish')")
    assert "✓ yes" in text(page, "#certificate")
    page.fill("#f-boundary", "1min")
    page.get_by_role("button", name="Compare with the live result").click()
    page.wait_for_selector("#result .no")
    assert "✗ 98.3333 % Rows that match 59 Live 59 rows Replayed 60 rows" in text(page, "#result")
    assert f'extra {{"event_id": "start{MISSING}"}}' in text(page, "#result")
    keep(page, "control-room-replay")
    page.get_by_role("button", name="Publish").click()
    page.wait_for_selector("text=✓ 60 rows were published")
    assert page.locator("#result form").count() == 0
    found = live.refresh().scan(selected_fields=("event_id",)).to_arrow()["event_id"].to_pylist()
    assert sorted(found) == sorted(f"start{number}" for number in range(STARTS))
    assert room.complaints == []


def test_a_replay_is_cancelled_while_it_runs(room: Room) -> None:
    asked = {
        "tables": ["lake.tv.plays"],
        "start_ts": "2026-03-01",
        "end_ts": "2026-03-02",
        "rate_limit": 5,
        "to": "jsonl:out/cancelled",
    }
    page = room.open("/tables/plays")
    page.get_by_role("link", name="Replay…").click()
    page.wait_for_selector(".held-rows .rows")
    api = f"http://127.0.0.1:{room.up.port}/api/v1/replays"
    started = page.request.post(api, data=asked)
    assert started.status == 202
    run_id = started.json()["run_id"]
    page.goto(f"http://127.0.0.1:{room.up.port}/replays/{run_id}")
    page.wait_for_selector(".st.running")
    assert (room.root / "out/cancelled").is_dir()
    page.get_by_text("Cancel this replay").click()
    page.get_by_label("Also remove what it has written").check()
    page.get_by_role("button", name="Cancel it for good").click()
    page.wait_for_selector(".st.cancelled")
    assert not (room.root / "out/cancelled").exists()
    assert run("backfill", "status", run_id, cwd=room.root).returncode == 2
    assert room.complaints == []


def test_without_javascript_every_page_reads(room: Room) -> None:
    context = room.browser.new_context(java_script_enabled=False)
    expected = {
        "/": "Everything is at work",
        "/streams/playback": "✓ adds up",
        "/tables/plays": "Complete until",
        "/quarantine/playback": "4 rejected records",
        "/replays": "Replays",
        "/?q=nothing": "No stream matches",
    }
    page = context.new_page()
    said = {}
    for path in expected:
        page.goto(f"http://127.0.0.1:{room.up.port}{path}")
        said[path] = text(page)
        assert not page.locator("#lost").is_visible()
    context.close()
    assert [path for path, words in expected.items() if words not in said[path]] == []


def test_it_fits_a_phone(room: Room) -> None:
    page = room.open("/", width=390)
    paths = (
        "/",
        "/streams/playback",
        "/tables/plays",
        "/apps/minutes",
        "/quarantine/playback",
        "/replays",
    )
    wide = []
    for path in paths:
        page.goto(f"http://127.0.0.1:{room.up.port}{path}")
        if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            wide.append(path)
    page.goto(f"http://127.0.0.1:{room.up.port}/streams/playback")
    keep(page, "control-room-phone")
    assert wide == []


def test_a_page_says_when_the_command_is_gone_and_comes_back_by_itself(room: Room) -> None:
    """And `headrace ui` shows the same workspace as `headrace up`, by what is in Kafka."""
    with running(room.root, "headrace", "ui") as one:
        page = room.open("/", port=one.port)
        assert text(page, "h1").startswith("Nothing is wrong")
        assert text(page, "#streams tbody tr").split()[:3] == ["playback", "starts", "running"]
        assert {"stopped", "new"} & {*text(page, "#apps").split()}
        assert page.locator("#lost").is_hidden()
        one.process.kill()
        page.wait_for_selector("#lost", state="visible")
        assert "No answer from headrace ui." in text(page, "#lost")
        one.process.wait()
    with running(room.root, "headrace", "ui", port=one.port):
        page.wait_for_selector("#lost", state="hidden")
        assert page.locator("#streams tbody tr").count() == 2
