"""What a newcomer does first: a new workspace, and its own tests."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.end_to_end.commands import BIN, run
from tests.short_lived import JAVA_OPTIONS

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.embedded.broker import Broker


def test_a_new_workspace_is_valid_and_its_tests_pass(tmp_path: Path) -> None:
    made = run("headrace", "init", "new", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    checked = run("headrace", "validate", cwd=tmp_path / "new")
    assert checked.stdout == "ok: 6 files checked — 3 apps, 1 stream, 1 lake table\n"
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path / "new",
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(tmp_path)},
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "5 passed" in tested.stdout


def test_its_applications_run_on_a_broker(tmp_path: Path, broker: Broker) -> None:
    home, kafka = tmp_path / "new", broker.bootstrap_servers
    run("headrace", "init", "new", cwd=tmp_path)
    sent = run(
        "headrace", "produce", "records/starts.jsonl", "--envelope", "--cluster", "consumer",
        "--topic", "playback_starts", cwd=home, KAFKA=kafka,
    )  # fmt: skip
    assert sent.returncode == 0, sent.stderr
    starts = len((home / "records" / "starts.jsonl").read_text().splitlines())
    # Its headrace.yaml says nothing of Spark, and stays as it is.
    short_lived = {"SPARK_SUBMIT_OPTS": " ".join(JAVA_OPTIONS)}
    app = ("run", "-c", "apps/starts_by_daypart.yaml", "--once")
    ran = run("headrace", *app, "-o", "json", cwd=home, KAFKA=kafka, **short_lived)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "application": "starts_by_daypart",
        "sink": "iceberg:lake.playback.starts_by_daypart",
        "rows_read": starts,
        "turned_away": {},
        "dropped_late": 0,
        "dropped_late_is_exact": True,
    }
    again = run("headrace", *app, "--select", "starts=live-start", cwd=home, KAFKA=kafka)
    assert again.returncode == 2
    assert 'did you mean "live-starts"?' in again.stderr


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "headrace.yaml").write_text("mine")
    again = run("headrace", "init", "new", cwd=tmp_path)
    assert again.returncode == 1
    assert "headrace.yaml of the new workspace is already in new" in again.stderr
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["headrace.yaml"]
