"""`--help` is quick because it loads nothing of weight."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import metadata

import pytest

HEAVY = ("pyspark", "pyarrow", "confluent_kafka", "pyiceberg", "pandas", "pydantic", "sqlglot")
SCRIPT = """\
import contextlib, sys
from importlib import metadata
(script,) = metadata.entry_points(group="console_scripts", name=sys.argv[1])
main = script.load()
sys.argv = sys.argv[1:]
with contextlib.suppress(SystemExit):
    main()
print("loaded:", *(name for name in {heavy!r} if name in sys.modules))
"""


def commands() -> list[str]:
    names = [one.name for one in metadata.entry_points(group="headrace.commands")]
    stages = [f"router {name}" for name in ("start", "show", "explain", "audit", "quarantine")]
    stages += ["router", "router quarantine list", "router quarantine replay"]
    stages += ["lake-writer", "lake-writer start"]
    stages += ["backfill", "backfill replay", "backfill compare", "backfill publish"]
    return ["headrace", *(f"headrace {name}" for name in sorted(names)), *stages]


@pytest.mark.parametrize("command", commands())
def test_help_loads_nothing_heavy(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(heavy=HEAVY), *command.split(), "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=os.environ | {"NO_COLOR": "1", "COLUMNS": "100"},
    )
    assert done.stderr == ""
    assert "Usage: " + command in done.stdout
    assert done.stdout.splitlines()[-1] == "loaded:"
    # Markdown takes <words> for tags and leaves them out, unless they stand in backticks.
    assert not re.search(r"[^.]\.\.[^.]", done.stdout)
