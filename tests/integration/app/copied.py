"""An example in the tests' workspace, its topics, tables and results under a name of its own."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.config.load import load_lake_table
from headrace.kafka.sender import KafkaRecord
from headrace.signals import Drain
from lake_writer.maintenance import Maintenance

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from headrace.config.workspace.workspace import Workspace

EXAMPLES = Path(__file__).parents[3] / "examples"


def copy_example(example: str, database: str, workspace: Workspace, name: str) -> Path:
    """Copy an example, its database and whatever it names called by that name; where it is."""
    root = workspace.root / name
    shutil.copytree(EXAMPLES / example, root, ignore=shutil.ignore_patterns(".*", "events"))
    (root / "headrace.yaml").unlink()
    for path in root.glob("*/*.yaml"):
        text = path.read_text().replace(f"database: {database}", f"database: {name}")
        text = text.replace("schemas/", f"{name}/schemas/")
        text = re.sub(r"(topics?): ", rf"\1: {name}_", text)
        path.write_text(re.sub(r"^name: ", f"name: {name}_", text, flags=re.MULTILINE))
    return root


def record_of(envelope: dict[str, Any]) -> KafkaRecord:
    """Return the record that a line of `headrace produce --envelope` is."""
    headers = [(name, value.encode()) for name, value in envelope.get("headers", {}).items()]
    return KafkaRecord(
        json.dumps(envelope["value"]).encode(),
        envelope["key"].encode(),
        headers,
        envelope["timestamp"],
    )


def compact(spark: SparkSession, workspace: Workspace, tables: Iterable[Path]) -> None:
    """Compact lake tables, by their files."""
    for path in tables:
        Maintenance(workspace, load_lake_table(path, workspace)).run(spark, Drain())
