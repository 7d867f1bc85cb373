"""Tests of the files of this workspace. Run them with `pytest`."""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_every_file_is_valid() -> None:
    checked = subprocess.run(
        ["headrace", "validate", "--workspace", ROOT], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout


def test_sample_records_fit_the_schema() -> None:
    schema = json.loads((ROOT / "schemas" / "playback.avsc").read_text())
    required = {field["name"] for field in schema["fields"] if "default" not in field}
    lines = (ROOT / "records" / "playback.jsonl").read_text().splitlines()
    records = [json.loads(line)["value"] for line in lines]
    assert len(records) == 24
    assert [record for record in records if not required <= record.keys()] == []
