"""Rejected records in a real browser, from the first look to their arrival, under `headrace up`.

HEADRACE_SCREENSHOTS=1 writes what it shows to docs/images/.
"""

from __future__ import annotations

import http.client
import json
import os
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.config.load import load_workspace
from headrace.embedded.process import wait_until
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord, Sender
from tests.browser import browser
from tests.end_to_end.commands import EVENT_ID, HEADRACE_YAML
from tests.end_to_end.serving import running
from tests.limits import LIMIT_S
from tests.short_lived import SPARK_CONF

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from headrace.embedded.broker import Broker
    from tests.end_to_end.serving import Running

IMAGES = Path(__file__).parents[2] / "docs" / "images"
LIMIT_MS = 60_000
T0_MS = 1_772_359_200_000
SCRIPT = "<script>document.title = 'taken over'</script>"
PAGE, API = "/quarantine/ratings", "/api/v1/streams/ratings/quarantine"
FILE = "streams/ratings.yaml"
STREAM = """\
kind: stream
name: ratings
source: {type: kafka, cluster: fronting, topic: ratings_raw, format: json, schema: schemas/rating.avsc}
hygiene:
  required: [event_id, country]
  ranges: {stars: {min: 1, max: 5}}
outputs:
  - name: clean
    project: [event_id, stars, "upper(country) AS country"]
    sink: {type: kafka, cluster: consumer, topic: ratings, format: json, key: event_id}
"""
RULE, MENDED = "required: [event_id, country]", "required: [event_id]"
COUNTRY = {"name": "country", "type": ["null", "string"], "default": None}
STARS = {"name": "stars", "type": ["null", "long"], "default": None}
GOOD, WITHOUT_COUNTRY = 5, 6


def write_workspace(root: Path, bootstrap: str) -> Path:
    schema = {"type": "record", "name": "tv.rating", "fields": [EVENT_ID, COUNTRY, STARS]}
    files = {
        "headrace.yaml": HEADRACE_YAML.format(
            bootstrap=bootstrap, master="local[2]", short_lived=SPARK_CONF
        ),
        FILE: STREAM,
        "schemas/rating.avsc": json.dumps(schema),
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def send(root: Path, *values: bytes) -> None:
    sender = Sender(load_workspace(root).cluster("fronting"), "ratings_raw")
    for value in values:
        sender.send(KafkaRecord(value, b"\x00\x01", timestamp_ms=T0_MS))
    sender.close()


def rating(name: str, **fields: object) -> bytes:
    return json.dumps({"event_id": name, "stars": 4, **fields}).encode()


def poison() -> list[bytes]:
    good = [rating(f"good{number}", country="de") for number in range(GOOD)]
    bad = [rating(f"bad{number}") for number in range(WITHOUT_COUNTRY)]
    return [*good, *bad, rating("six", country="de", stars=6), SCRIPT.encode(), b"\xff\xfe\x00"]


@pytest.fixture
def root(tmp_path: Path, broker: Broker) -> Path:
    root = write_workspace(tmp_path, broker.bootstrap_servers)
    kafka = KafkaCluster(load_workspace(root).cluster("fronting"))
    for topic in ("ratings_raw", "ratings"):
        kafka.ensure_topic(topic, 2)
    send(root, *poison())
    return root


@pytest.fixture
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


def arrived(root: Path) -> Counter[str]:
    kafka = KafkaCluster(load_workspace(root).cluster("consumer"))
    return Counter(json.loads(one.value() or b"")["event_id"] for one in kafka.records("ratings"))


def start_replay(one: Running) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", one.port, timeout=LIMIT_S)
    connection.request("POST", f"{API}/replay")
    try:
        return connection.getresponse().status
    finally:
        connection.close()


def text(page: Page, selector: str = "main") -> str:
    return " ".join(page.inner_text(selector).split())


def keep(page: Page, name: str) -> None:
    if os.environ.get("HEADRACE_SCREENSHOTS"):
        page.screenshot(path=IMAGES / f"{name}.png", full_page=True)


def test_a_rule_is_mended_in_the_page_and_the_records_arrive_once(
    root: Path, chromium: Browser
) -> None:
    complaints: list[str] = []
    with ExitStack() as held:
        up = held.enter_context(running(root, "headrace", "up"))
        assert wait_until(lambda: sum(arrived(root).values()) == GOOD, LIMIT_S)
        page = chromium.new_page(viewport={"width": 1360, "height": 860})
        page.set_default_timeout(LIMIT_MS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console", lambda said: complaints.append(said.text) if said.type == "error" else None
        )
        page.goto(f"http://127.0.0.1:{up.port}{PAGE}")
        assert "9 rejected records" in text(page, "#quarantine")
        assert text(page, "article.group h2").startswith("6 country is required")
        assert SCRIPT in text(page, "#groups")
        # The samples of the smaller groups are folded.
        assert "ff fe 00" in (page.text_content("#groups") or "")
        assert "key 00 01 (hex)" in text(page, "#groups")

        editor = page.locator(f"textarea[name='text:{FILE}']")
        assert editor.input_value() == STREAM
        page.get_by_text("Change the stream's file").click()
        editor.fill(STREAM.replace(RULE, MENDED))
        page.get_by_role("button", name="Try").click()
        page.wait_for_selector(".trial")
        assert text(page, "#rule .trial tbody tr") == "clean 6 0 3"
        tried = page.locator(".tried").all_inner_texts()
        assert tried[0] == "✓ all 6 would leave the quarantine"
        assert tried[1:] == ["▲ it would be rejected again"] * 3
        assert f"+ {MENDED}" in text(page, ".diff")
        assert (root / FILE).read_text() == STREAM
        keep(page, "control-room-quarantine")

        page.get_by_role("button", name="Save").click()
        page.wait_for_url("**saved=1*")
        assert "✓ Saved." in text(page, "#rule")
        assert (root / FILE).read_text() == STREAM.replace(RULE, MENDED)
        send(root, rating("late"))
        assert wait_until(lambda: arrived(root)["late"] == 1, LIMIT_S)

        page.get_by_role("button", name="Replay once").click()
        page.wait_for_selector("#replay .st.complete")
        assert text(page, "#replay tbody tr").startswith("clean 6 0 3 0")
        # The page follows: nobody has loaded it again.
        page.wait_for_selector("#quarantine:has-text('3 rejected records left')")
        assert "6 more replayed" in text(page, "#quarantine")
        assert "country is required" not in text(page, "article.group h2")
        keep(page, "control-room-quarantine-replayed")

        assert [start_replay(up), start_replay(up)] == [202, 409]
        page.wait_for_selector("#replay tbody tr:first-child td:last-child:text-is('6')")
        ui = held.enter_context(running(root, "headrace", "ui"))
        assert "3 rejected records left" in ui.get(PAGE)[1]
        assert json.loads(ui.get(f"{API}/replay")[1])["outputs"][0]["done_before"] == 6
    names = [f"good{number}" for number in range(GOOD)]
    names += [f"bad{number}" for number in range(WITHOUT_COUNTRY)]
    assert arrived(root) == dict.fromkeys([*names, "late"], 1)
    assert complaints == []
