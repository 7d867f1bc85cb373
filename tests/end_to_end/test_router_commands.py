"""The router's commands that ask no cluster, as a user runs them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.end_to_end.commands import run, write_workspace

if TYPE_CHECKING:
    from pathlib import Path

RECORD = '{"event_id": "e1", "event_type": "start", "event_ts": "2026-03-01T00:00:00Z"}\n'
STREAM = ("-c", "streams/playback.yaml")


def test_a_record_is_explained_and_the_settings_are_shown(tmp_path: Path) -> None:
    root = write_workspace(tmp_path, "playback", "127.0.0.1:1")
    shown = run("router", "show", *STREAM, cwd=root)
    assert shown.returncode == 0
    assert "# streams/playback.yaml:3" in shown.stdout
    done = run("router", "explain", *STREAM, "--record", "-", "-o", "json", cwd=root, stdin=RECORD)
    assert (done.returncode, done.stderr) == (0, "")
    (record,) = json.loads(done.stdout)["records"]
    assert record["outputs"]["starts"]["key"] == "e1"


def test_what_is_wrong_has_its_exit_code(tmp_path: Path) -> None:
    root = write_workspace(tmp_path, "playback", "127.0.0.1:1")
    # Where its ledgers are, nobody answers.
    away = run("router", "audit", *STREAM, cwd=root)
    assert away.returncode == 1
    assert "no Kafka broker of cluster" in away.stderr
    assert run("router", "explain", *STREAM, cwd=root).returncode == 2
    missing = run("router", "explain", *STREAM, "--record", "none.jsonl", cwd=root)
    assert missing.returncode == 2
    assert "there is no file none.jsonl" in missing.stderr
    spoilt = root / STREAM[1]
    spoilt.write_text(spoilt.read_text().replace("event_type =", "evnt_type ="))
    assert run("router", "show", *STREAM, cwd=root).returncode == 78
