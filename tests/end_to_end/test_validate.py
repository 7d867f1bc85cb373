"""`headrace validate` as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.config.validate import check_workspace
from tests.unit.config.workspaces import SOUND, Files

if TYPE_CHECKING:
    from types import FrameType

HEADRACE = Path(sys.executable).parent / "headrace"
MISTAKE = 'streams/playback.yaml:11:14: unknown column "evnt_type" — did you mean "event_type"?\n'


@pytest.fixture
def workspace(tmp_path: Path) -> Files:
    files = Files(tmp_path)
    for name, text in SOUND.items():
        files.write(name, text)
    return files


def validate(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(HEADRACE), "validate", *arguments],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def spoil(workspace: Files) -> None:
    workspace.spoil("streams/playback.yaml", "event_type = ", "evnt_type = ")


def test_a_sound_workspace(workspace: Files) -> None:
    done = validate(workspace.root)
    assert done.returncode == 0
    assert done.stdout == "ok: 4 files checked — 1 app, 1 stream, 1 lake table\n"
    assert done.stderr == ""


def test_a_mistake_is_printed_on_stdout_as_compilers_do(workspace: Files) -> None:
    spoil(workspace)
    done = validate(workspace.root)
    assert done.returncode == 1
    assert done.stdout == MISTAKE + "1 problem in 1 file\n"
    assert done.stderr == ""
    assert "\x1b" not in validate(workspace.root, NO_COLOR="1", FORCE_COLOR="1").stdout


def test_paths_are_as_seen_from_here(workspace: Files) -> None:
    spoil(workspace)
    below = validate(workspace.root / "streams")
    assert below.stdout.startswith("playback.yaml:11:14: ")
    outside = validate(workspace.root / "apps")
    assert outside.stdout.startswith(f"{workspace.root}/streams/playback.yaml:11:14: ")
    roundabout = validate(workspace.root / "apps", "../apps/../streams/playback.yaml")
    assert roundabout.stdout.startswith(f"{workspace.root}/streams/playback.yaml:11:14: ")
    elsewhere = validate(Path("/"), "--workspace", str(workspace.root))
    assert f"{workspace.root}/streams/playback.yaml:11:14: ".lstrip("/") in elsewhere.stdout
    assert elsewhere.returncode == 1


def test_only_the_files_that_are_named(workspace: Files) -> None:
    spoil(workspace)
    assert validate(workspace.root, "apps/rmi.yaml", "headrace.yaml").returncode == 0
    done = validate(workspace.root, "apps/rmi.yaml", "streams/playback.yaml")
    assert done.returncode == 1
    assert done.stdout == MISTAKE + "1 problem in 1 file\n"


def test_json_for_machines(workspace: Files) -> None:
    spoil(workspace)
    done = validate(workspace.root, "-o", "json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["ok"] is False
    assert found["kinds"] == {"app": 1, "stream": 1, "lake_table": 1}
    assert found["problems"] == [
        {
            "file": "streams/playback.yaml",
            "line": 11,
            "column": 14,
            "message": 'unknown column "evnt_type"',
            "suggestion": 'did you mean "event_type"?',
        }
    ]


def test_outside_a_workspace_the_way_in_is_told(tmp_path: Path) -> None:
    done = validate(tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "headrace init" in done.stderr


def test_a_secret_stays_one(workspace: Files) -> None:
    workspace.spoil("headrace.yaml", "properties: {}", 'properties: {p: "${PW}", q: ["${PW}"]}')
    workspace.spoil("streams/playback.yaml", "event_type = 'start'", "${PW} = 'start'")
    done = validate(workspace.root, PW="hunter2")
    assert done.returncode == 1
    assert "hunter2" not in done.stdout + done.stderr
    assert "streams/playback.yaml:11:13: this is not a usable expression" in done.stdout


def calls(root: Path) -> int:
    """Return how many Python functions a check of the whole workspace calls."""
    counted = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event == "call"

    sys.setprofile(count)
    try:
        findings = check_workspace(root)
    finally:
        sys.setprofile(None)
    assert not findings.problems
    return counted


def test_work_grows_as_the_files_do(workspace: Files) -> None:
    stream = (workspace.root / "streams/playback.yaml").read_text()

    def add(numbers: range) -> int:
        for number in numbers:
            text = stream.replace("name: playback\n", f"name: s{number}\n")
            workspace.write(f"streams/more/s{number}.yaml", text)
        return calls(workspace.root)

    add(range(2))  # what is loaded once is loaded now
    few, some, many = add(range(10)), add(range(10, 20)), add(range(20, 40))
    assert many - some <= 2.2 * (some - few)
    done = validate(workspace.root)
    assert done.stdout.startswith("ok: 44 files")


HEAVY = ("pyspark", "pyarrow", "pyiceberg", "confluent_kafka", "pydantic", "ruamel", "sqlglot")


def test_importing_the_command_is_light() -> None:
    script = (
        "import sys, headrace.cli.main, headrace.cli.validate;"
        f"print(*(name for name in {HEAVY} if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == []


def test_checking_loads_no_spark_arrow_or_kafka(workspace: Files) -> None:
    script = (
        "import sys; from pathlib import Path; from headrace.config.validate import check_workspace;"
        f"assert not check_workspace(Path({str(workspace.root)!r})).problems;"
        f"print(*(name for name in {HEAVY[:4]} if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == []
