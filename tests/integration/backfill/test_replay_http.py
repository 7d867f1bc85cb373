"""`backfill replay --http`: how far a replay is, asked while it runs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet.replays import Replays
from headrace.embedded.process import wait_until
from tests.end_to_end.serving import Client, port_in
from tests.limits import LIMIT_S

from .in_process import PERIOD, rows_in
from .lake_tables import Stored, make_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.catalog import Catalog

    from headrace.config.workspace.workspace import Workspace

BACKFILL = Path(sys.executable).with_name("backfill")
FILES, ROWS = 6, 20


def test_a_replay_tells_how_far_it_is_and_goes_on_from_there(
    workspace: Workspace, lake_catalog: Catalog, unique: Callable[[str], str], tmp_path: Path
) -> None:
    layout = [
        [Stored(0, ROWS * hour + n, 3600 * hour + n) for n in range(ROWS)] for hour in range(FILES)
    ]
    table, run_id = make_table(lake_catalog, unique("told"), layout), unique("told-run")
    out, log_file = tmp_path / "out", tmp_path / "log"
    words = ["--table", table, "--to", f"jsonl:{out}", *PERIOD, "--max-misalignment", "1min"]
    place = ["--workspace", str(workspace.root), "--run-id", run_id, "--log-format", "json"]
    with log_file.open("wb") as log:
        process = subprocess.Popen(
            # Slow enough to be asked: it is stopped long before its end.
            [str(BACKFILL), "replay", *words, *place, "--rate-limit", "4", "--http", "127.0.0.1:0"],
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
    try:

        def is_serving() -> bool:
            assert process.poll() is None, log_file.read_text()
            return "serving HTTP" in log_file.read_text()

        assert wait_until(is_serving, LIMIT_S)
        client = Client(port_in(log_file.read_text()) or 0)
        assert wait_until(lambda: _row(client, run_id).get("steps_done", 0) >= 1, LIMIT_S)
        row = _row(client, run_id)
        assert (row["steps"], row["rows_planned"], row["state"]) == (FILES, FILES * ROWS, "running")
        assert row["rows"] == row["steps_done"] * ROWS
        assert (row["threshold_ms"], [one["name"] for one in row["sources"]]) == (60_000, [table])
        assert row["eta_s"] is not None
        values = {name: value for (name, _), value in client.metrics().items()}
        assert values["headrace_backfill_files_total"] == FILES
        done = values["headrace_backfill_files_done"]
        assert values["headrace_backfill_progress_ratio"] == done / FILES
        assert values["headrace_records_in_total"] == done * ROWS
        assert client.get("/api/v1/replays/another")[0] == 404
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 0, log_file.read_text()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    stopped = next(one for one in Replays(workspace).rows() if one.run_id == run_id)
    assert (stopped.state, stopped.rows) == ("stopped", len(rows_in(out)))
    resumed = [str(BACKFILL), "replay", "--resume", *place]
    assert subprocess.run(resumed, capture_output=True, check=False).returncode == 0
    whole = next(one for one in Replays(workspace).rows() if one.run_id == run_id)
    assert (whole.state, whole.steps_done, whole.rows) == ("complete", FILES, FILES * ROWS)
    assert (whole.certificate or {})["complete"] is True


def _row(client: Client, run_id: str) -> dict[str, Any]:
    status, body = client.get(f"/api/v1/replays/{run_id}")
    found: dict[str, Any] = json.loads(body) if status == 200 else {}
    return found
