"""A workspace with a stream, for commands that ask no cluster."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from router.cli.main import router
from tests.integration.pipelines import EVENT_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from click.testing import Result

HOME = {
    "clusters": {
        "fronting": {"bootstrap_servers": "127.0.0.1:1", "region": "us-east-1"},
        "consumer": {"bootstrap_servers": "127.0.0.1:1"},
    },
    "catalogs": {
        "lake": {
            "type": "sql",
            "uri": "sqlite:///.headrace/catalog.db",
            "warehouse": ".headrace/warehouse",
        }
    },
}
SOURCE = {
    "type": "kafka",
    "cluster": "fronting",
    "topic": "raw",
    "format": "json",
    "schema": "event.avsc",
}


def to_topic(name: str, **more: object) -> dict[str, object]:
    sink = {"type": "kafka", "cluster": "consumer", "topic": f"raw.{name}", "format": "json"}
    return {"name": name, **more, "sink": sink}


def write_stream(root: Path, outputs: Sequence[Mapping[str, Any]], **more: object) -> Path:
    """Write headrace.yaml, the schema and the stream `events`; YAML reads JSON."""
    stream = {"kind": "stream", "name": "events", "source": SOURCE, "outputs": outputs, **more}
    files = {"headrace.yaml": HOME, "event.avsc": EVENT_SCHEMA, "events.yaml": stream}
    for name, content in files.items():
        (root / name).write_text(json.dumps(content), encoding="utf-8")
    return root / "events.yaml"


def invoke(
    command: str,
    stream: Path,
    *arguments: str,
    stdin: bytes | None = None,
    workspace: Path | None = None,
) -> Result:
    """Run a command of the router; what it raises is raised."""
    home = str(workspace or stream.parent)
    words = [*command.split(), "-c", str(stream), "--workspace", home, *arguments]
    return CliRunner().invoke(
        router, words, input=stdin, catch_exceptions=False, standalone_mode=False
    )
