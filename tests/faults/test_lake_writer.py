"""Two lake writers that take the same table for theirs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from headrace.config.load import load_workspace
from headrace.embedded.process import wait_until
from tests.faults.lake_writer_process import Writer, audit, in_files, in_topic
from tests.integration.pipelines import Pipelines, event
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.long
def test_two_machines_land_the_same_topic(
    make_workspace: Callable[[], Path], unique: Callable[[str], str]
) -> None:
    """Nothing in common but broker, catalog and the file's text: one of them stops, and says why."""
    name = unique("twice")
    first, second = (Pipelines(load_workspace(make_workspace())) for _ in range(2))
    first.make_topic(name, 2)
    catalog = {
        "type": "sql",
        "uri": f"sqlite:///{first.workspace.root}/.headrace/catalog.db",
        "warehouse": f"{first.workspace.root}/.headrace/warehouse",
    }
    paths = [one.table(name, name, batch={"max_interval": "100ms"}) for one in (first, second)]
    other = second.workspace.root / "headrace.yaml"
    text = other.read_text().splitlines()
    text = [f"  lake: {json.dumps(catalog)}" if "lake:" in line else line for line in text]
    other.write_text("\n".join(text))
    writers = [
        Writer(path, one.workspace.root) for path, one in zip(paths, (first, second), strict=True)
    ]
    sent = 0
    while not any(writer.ended() for writer in writers):
        first.send(name, map(event, range(sent, sent + 500)))
        sent += 500
        assert sent < 2_000_000
    (loser,) = [writer for writer in writers if writer.ended()]
    (winner,) = [writer for writer in writers if writer is not loser]
    assert loser.end() == 1
    assert "committed (table lake.tv" in loser.said
    assert f"(pid {winner.pid}, started" in " ".join(loser.said.split())
    before = winner.landed()
    first.send(name, map(event, range(sent, sent + 500)))
    assert wait_until(lambda: winner.landed() > before, LIMIT_S)
    assert winner.stop() == 0
    Writer(paths[0], first.workspace.root, "--once").end()
    code, found = audit(paths[0], first.workspace.root)
    assert (code, found["rows"]) == (0, sent + 500)
    servers = first.workspace.cluster("fronting").bootstrap_servers
    assert np.array_equal(in_files(first.workspace, name), in_topic(servers, name))
