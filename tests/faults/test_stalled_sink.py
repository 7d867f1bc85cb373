"""A sink that stands still in the middle of a replay: the replay waits, and goes on with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from backfill.run.request import state_of
from headrace.config.load import load_workspace
from headrace.embedded.broker import Broker, BrokerOptions
from headrace.embedded.process import wait_until
from headrace.iceberg.catalog import open_catalog
from tests.integration.backfill.in_process import PERIOD
from tests.integration.backfill.lake_tables import Stored, make_table
from tests.integration.pipelines import Pipelines
from tests.limits import LONG_LIMIT_S
from tests.short_lived import JAVA_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from backfill.run.state import RunState

BACKFILL = Path(sys.executable).with_name("backfill")
HEADRACE_YAML = """\
clusters:
  consumer: {{bootstrap_servers: "{servers}"}}
catalogs:
  lake: {{type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}}
"""
ROWS = 4_000
LOOKS = 30
FIRST_STEPS = 5


class StandsStill:
    """True once a replay was found at the same step so many times in a row."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._seen: list[int] = []

    def __call__(self) -> bool:
        self._seen.append(self._state.position().steps_done)
        return len(self._seen) >= LOOKS and len(set(self._seen[-LOOKS:])) == 1


def under_way(state: RunState) -> bool:
    return state.exists and state.position().steps_done >= FIRST_STEPS


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Let a process stand still."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_replay_waits_for_a_broker_that_stands_still(tmp_path: Path) -> None:
    with Broker(tmp_path / "broker", BrokerOptions(java_options=JAVA_OPTIONS)) as broker:
        text = HEADRACE_YAML.format(servers=broker.bootstrap_servers)
        (tmp_path / "headrace.yaml").write_text(text)
        workspace = load_workspace(tmp_path)
        pipelines = Pipelines(workspace)
        pipelines.make_topic("again", 2, "consumer")
        rows = [Stored(n % 2, n // 2, n / 10) for n in range(ROWS)]
        table = make_table(open_catalog(workspace.catalog("lake")), "stalled", [rows], 500)
        state = state_of(workspace, "stalled")
        words = ["--table", table, "--to", "kafka:consumer/again", "--run-id", "stalled", *PERIOD]
        words += ["--max-misalignment", "1s", "--rate-limit", "auto", "-o", "json"]
        replay = subprocess.Popen(
            [str(BACKFILL), "replay", *words, "--workspace", str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert wait_until(lambda: under_way(state) or replay.poll() is not None, LONG_LIMIT_S)
            with frozen(broker.pid):
                assert wait_until(StandsStill(state), LONG_LIMIT_S)
                assert replay.poll() is None
                assert state.position().steps_done < len(state.plan().steps)
            out, err = replay.communicate(timeout=LONG_LIMIT_S)
        finally:
            replay.kill()
        assert replay.returncode == 0, err
        certificate = json.loads(out)
        assert (certificate["rows"], certificate["differences"]) == (ROWS, [])
        origins = Counter(one.header("headrace.origin") for one in pipelines.seen("again"))
        places = {tuple((origin or b"").split(b"/")[1:3]) for origin in origins}
        assert len(places) == len(origins) == ROWS
        # Nobody died, so nothing came twice.
        assert set(origins.values()) == {1}
