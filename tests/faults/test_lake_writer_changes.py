"""Lake writers that are killed while their columns change, and one that is asked to end twice."""

from __future__ import annotations

import json
import os
import random
import signal
from typing import TYPE_CHECKING

import psutil
import pytest

from headrace.config.load import load_workspace
from headrace.iceberg.catalog import table_loader
from tests.faults.lake_writer_process import Writer, audit
from tests.faults.router_process import are_gone, lives
from tests.integration.pipelines import EVENT_SCHEMA, Pipelines, event

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headrace.embedded.broker import Broker

ROUNDS = 4
EACH = 3_000
BACKLOG = 600_000
# Far less than a task waits for a broker that does not answer.
INSIST_LIMIT_S = 30.0


def with_columns(number: int) -> dict[str, object]:
    more = [
        {"name": f"c{n}", "type": ["null", "long"], "default": None} for n in range(1, number + 1)
    ]
    fields = EVENT_SCHEMA["fields"]
    assert isinstance(fields, list)
    return {**EVENT_SCHEMA, "fields": [*fields, *more]}


def with_values(number: int, columns: Sequence[str]) -> bytes:
    return json.dumps(json.loads(event(number)) | dict.fromkeys(columns, number)).encode()


@pytest.mark.long
def test_killed_while_columns_come(
    make_workspace: Callable[[], Path], unique: Callable[[str], str]
) -> None:
    name, chance = unique("columns"), random.Random(20_260_301)
    pipelines = Pipelines(load_workspace(make_workspace()))
    root = pipelines.workspace.root
    pipelines.make_topic(name, 2)
    batch = {"max_rows": EACH // 4, "max_interval": "100ms"}
    path = pipelines.table(name, name, batch=batch, schema_evolution="add_columns")
    for number in range(1, ROUNDS + 1):
        writer = Writer(path, root)
        if number > 1:
            # It runs on the columns before, and then there is one more.
            writer.wait_for(lambda writer=writer: writer.landed() >= 1)  # type: ignore[misc]  # a default binds the loop's value
        pipelines.write(f"schemas/{name}.avsc", with_columns(number))
        ids = range((number - 1) * EACH, number * EACH)
        columns = [f"c{n}" for n in range(1, number + 1)]
        pipelines.send(name, (with_values(n, columns) for n in ids))
        wanted = writer.landed() + chance.randrange(3)
        writer.wait_for(lambda writer=writer, wanted=wanted: writer.landed() >= wanted)  # type: ignore[misc]  # as above
        writer.kill()
        # Whoever comes next has something to begin with.
        pipelines.send(name, [event(ROUNDS * EACH + number)])
    last = Writer(path, root, "--once")
    assert last.end() == 0, last.said
    table = table_loader(pipelines.workspace, f"lake.tv.{name}")().scan().to_arrow()
    rows = sorted(table.to_pylist(), key=lambda row: row["id"])
    assert [row["id"] for row in rows] == [*range(ROUNDS * EACH), *extra()]
    for row in rows[: ROUNDS * EACH]:
        has = row["id"] // EACH + 1
        expected = [row["id"] if n <= has else None for n in range(1, ROUNDS + 1)]
        assert [row[f"c{n}"] for n in range(1, ROUNDS + 1)] == expected
    code, found = audit(path, root)
    assert (code, found["ok"]) == (0, True)


def extra() -> list[int]:
    """Return the events between two rounds."""
    return [ROUNDS * EACH + number for number in range(1, ROUNDS + 1)]


@pytest.mark.long
def test_ctrl_c_twice_does_not_wait_for_a_broker(
    broker: Broker, make_workspace: Callable[[], Path], unique: Callable[[str], str]
) -> None:
    name = unique("frozen")
    pipelines = Pipelines(load_workspace(make_workspace()))
    root = pipelines.workspace.root
    pipelines.make_topic(name)
    pipelines.send(name, map(event, range(BACKLOG)))
    path = pipelines.table(name, name)
    writer = Writer(path, root)
    plan = root / ".headrace" / "state" / "lake_writer" / name / "checkpoint" / "offsets"
    # Spark has said up to where the batch goes, and a task is at it.
    writer.wait_for(lambda: any(plan.glob("[0-9]*")) and is_fetching(writer.pid))
    frozen = psutil.Process(broker.pid)
    frozen.suspend()
    try:
        children = psutil.Process(writer.pid).children(recursive=True)
        os.killpg(writer.pid, signal.SIGINT)
        writer.wait_for(lambda: "stopping:" in writer.said)
        os.killpg(writer.pid, signal.SIGINT)
        assert writer.end(INSIST_LIMIT_S) == 130, writer.said
    finally:
        frozen.resume()
    assert "Traceback" not in writer.said
    assert are_gone(children)
    last = Writer(path, root, "--once")
    assert last.end() == 0, last.said
    code, found = audit(path, root)
    assert (code, found["rows"]) == (0, BACKLOG), json.dumps(found)


def is_fetching(pid: int) -> bool:
    """Whether Spark has started Python workers below a process."""
    below = psutil.Process(pid).children(recursive=True)
    return any(one.name().startswith("python") for one in below if lives(one))
