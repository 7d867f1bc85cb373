"""A first stream by the form, in a real browser: from a topic to records in its output.

HEADRACE_SCREENSHOTS=1 writes what it shows to docs/images/.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace.config.load import load_workspace
from headrace.config.validate import check_workspace
from headrace.embedded.process import wait_until
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord, Sender
from tests.browser import browser
from tests.end_to_end.commands import HEADRACE_YAML
from tests.end_to_end.serving import running
from tests.limits import LIMIT_S
from tests.short_lived import SPARK_CONF

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from headrace.embedded.broker import Broker

IMAGES = Path(__file__).parents[2] / "docs" / "images"
LIMIT_MS: Final = 60_000
READY: Final = 200
T0_MS: Final = 1_772_359_200_000
MANY: Final = 40
POISON: Final = "GET /health HTTP/1.1"
SCRIPT: Final = "<script>document.title = 'taken over'</script>"


def make_workspace(root: Path, bootstrap: str) -> None:
    """A workspace without a single stream, and a topic with records."""
    (root / "headrace.yaml").write_text(
        HEADRACE_YAML.format(bootstrap=bootstrap, master="local[2]", short_lived=SPARK_CONF)
    )
    cluster = load_workspace(root).cluster("fronting")
    KafkaCluster(cluster).ensure_topic("form_clicks", 2)
    sender = Sender(cluster, "form_clicks")
    for number in range(MANY):
        event: dict[str, object] = {
            "event_id": f"e{number}",
            "kind": "click" if number % 2 else "view",
            "event_ts": T0_MS + number,
            "country": "de",
        }
        if number == 0:
            event["note"] = SCRIPT
        sender.send(KafkaRecord(json.dumps(event).encode(), b"key", timestamp_ms=T0_MS + number))
    sender.send(KafkaRecord(POISON.encode(), timestamp_ms=T0_MS + MANY))
    sender.close()


def new_page(found: Browser, complaints: list[str], **options: object) -> Page:
    page = found.new_page(**options)  # type: ignore[arg-type]  # as the test names them
    page.set_default_timeout(LIMIT_MS)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda said: complaints.append(said.text) if said.type in {"error", "warning"} else None,
    )
    return page


def keep(page: Page, name: str) -> None:
    if os.environ.get("HEADRACE_SCREENSHOTS"):
        page.screenshot(path=IMAGES / f"{name}.png", full_page=True)


def written(root: Path) -> list[dict[str, object]]:
    kafka = KafkaCluster(load_workspace(root).cluster("consumer"))
    if "form_clicks_all" not in kafka.topics():
        return []
    return [json.loads(one.value() or b"") for one in kafka.records("form_clicks_all")]


def fill_in(page: Page) -> None:
    """Type a stream with a mistake, see it said beside its field, and mend it."""
    page.get_by_role("link", name="New stream").click()
    page.select_option("select[name=cluster]", "fronting")
    page.get_by_role("button", name="Show its topics").click()
    page.get_by_role("link", name="form_clicks", exact=True).click()
    page.wait_for_selector("#checked .yes")
    assert page.inner_text("#samples pre >> nth=0") == POISON
    page.fill("#filter", "knd = 'click'")
    page.wait_for_selector("#e-filter p")
    assert 'unknown column "knd" — did you mean "kind"?' in page.inner_text("#e-filter")
    assert page.locator("button[value=save]").is_disabled()
    page.fill("#filter", "kind = 'click'")
    page.fill("#required", "event_id")
    page.fill("#project", "event_id\nevent_ts\nupper(country) AS country")
    page.select_option("#catalog", "lake")
    page.fill("#database", "tv")
    page.fill("#table", "clicks")
    page.wait_for_selector("#checked :text('tables/form_clicks_all.yaml')")
    assert page.input_value("#filter") == "kind = 'click'"
    said = " ".join(page.inner_text("#checked").split())
    assert "all: ✓ 20 written · ○ 20 filtered · ▲ 1 rejected" in said


def test_a_stream_by_the_form_runs_and_its_records_arrive(tmp_path: Path, broker: Broker) -> None:
    make_workspace(tmp_path, broker.bootstrap_servers)
    complaints: list[str] = []
    with browser() as found, running(tmp_path, "headrace", "up") as up:
        assert wait_until(lambda: up.get("/readyz")[0] == READY, LIMIT_S)
        page = new_page(found, complaints, viewport={"width": 1360, "height": 860})
        page.goto(f"http://127.0.0.1:{up.port}/")
        assert page.inner_text("h1") == "Nothing is declared yet"
        fill_in(page)
        page.set_viewport_size({"width": 1360, "height": 1700})
        keep(page, "control-room-new-stream")
        page.set_viewport_size({"width": 1360, "height": 860})
        page.locator("button[value=save]").click()
        page.wait_for_url("**/streams/form_clicks")
        assert page.title() == "Stream form_clicks · headrace"
        page.wait_for_selector("h1 .st.running")
        assert wait_until(lambda: len(written(tmp_path)) == MANY // 2, LIMIT_S)
        assert {one["event_id"] for one in written(tmp_path)} == {
            f"e{number}" for number in range(1, MANY, 2)
        }
        assert check_workspace(tmp_path).problems == []
        assert wait_until(
            lambda: (
                [(one["name"], one["state"]) for one in up.rows("tables")]
                == [("form_clicks_all", "running")]
            ),
            LIMIT_S,
        ), up.rows("tables")
        assert complaints == []
        page.close()
        # The same forms without a script, on a phone.
        still = found.new_context(java_script_enabled=False, viewport={"width": 400, "height": 800})
        phone = still.new_page()
        phone.goto(f"http://127.0.0.1:{up.port}/streams/new?cluster=fronting&topic=form_clicks")
        assert phone.input_value("#name") == "form_clicks_2"
        assert not phone.evaluate("document.documentElement.scrollWidth > window.innerWidth")
        phone.goto(f"http://127.0.0.1:{up.port}/streams/form_clicks")
        phone.get_by_role("link", name="Enable it in one more region").click()
        phone.fill("#region", "eu-west-1")
        phone.select_option("#cluster", "consumer")
        phone.get_by_role("button", name="Check").click()
        assert "+  eu-west-1:" in phone.inner_text("#checked")
        phone.get_by_role("button", name="Save").click()
        phone.wait_for_url("**/streams/form_clicks")
        file = (tmp_path / "streams/form_clicks.yaml").read_text()
        assert "overrides:\n  eu-west-1:\n    source: {cluster: consumer}\n" in file
        assert wait_until(
            lambda: [one["state"] for one in up.rows("streams")] == ["running"], LIMIT_S
        )
        assert len(written(tmp_path)) == MANY // 2
        still.close()
