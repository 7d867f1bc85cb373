"""Candidates of one source have one schema, or `validate` names the columns."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from headrace.config.validate import check_workspace
from tests.unit.config.workspaces import APP, AVRO, HEADRACE, Files

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.validate import ValidationReport


def findings(root: Path, app: str, other: str, table: str = "") -> ValidationReport:
    files = Files(root)
    files.write("headrace.yaml", HEADRACE)
    files.write("apps/rmi.yaml", app)
    files.write("schemas/playback.avsc", AVRO)
    files.write("schemas/other.avsc", other)
    if table:
        files.write("tables/t.yaml", table)
    return check_workspace(root)


def changed(**fields: object) -> str:
    """Return the schema with other types for some of its fields; None takes one out."""
    schema = json.loads(AVRO)
    kept = [one for one in schema["fields"] if fields.get(one["name"], one) is not None]
    schema["fields"] = [one | {"type": fields.get(one["name"], one["type"])} for one in kept]
    return json.dumps(schema)


TWO_LIVE = APP.replace(
    "candidates: [live-impressions, ", "candidates: [live-impressions, other, "
).replace(
    "  backfill-impressions:",
    "  other: {type: kafka, cluster: consumer, topics: t, format: json, schema: schemas/other.avsc}\n"
    "  backfill-impressions:",
)
DIFFERENT = [
    ({"user_id": "long"}, r"user_id is string not null in .* and long not null in "),
    ({"user_id": ["null", "string"]}, "user_id is string not null in .* and string in "),
    ({"country": None}, r"country is in live-impressions only"),
]


@pytest.mark.parametrize(("fields", "sentence"), DIFFERENT)
def test_two_topics(tmp_path: Path, fields: dict[str, object], sentence: str) -> None:
    (problem,) = findings(tmp_path, TWO_LIVE, changed(**fields)).problems
    problem_text = str(problem)
    assert '"live-impressions" and "other" have different columns' in problem_text
    assert "apps/rmi.yaml:4:" in problem_text
    assert re.search(sentence, problem_text)


@pytest.mark.parametrize(("fields", "sentence"), DIFFERENT)
def test_a_topic_and_the_table_that_a_file_of_the_workspace_fills(
    tmp_path: Path, fields: dict[str, object], sentence: str
) -> None:
    schema, table = changed(**fields), table_of("impressions")
    (problem,) = findings(tmp_path, APP, schema, table).problems
    assert re.search(sentence, str(problem))
    assert '"live-impressions" and "backfill-impressions"' in str(problem)
    assert findings(tmp_path, APP, schema, table_of("another")).problems == []


def test_the_same_columns_are_the_same_whatever_else_differs(tmp_path: Path) -> None:
    schema = json.loads(AVRO) | {"name": "Renamed", "doc": "another"}
    assert findings(tmp_path, TWO_LIVE, json.dumps(schema), table_of("impressions")).problems == []


def test_candidates_that_differ_are_told_once_each(tmp_path: Path) -> None:
    told = findings(tmp_path, TWO_LIVE, changed(user_id="long"), table_of("impressions")).problems
    pairs = sorted(str(one).split(" have ")[0].split(": ")[-1] for one in told)
    assert pairs == [
        '"live-impressions" and "backfill-impressions"',
        '"live-impressions" and "other"',
    ]


def table_of(table: str) -> str:
    return f"""
kind: lake_table
name: landed
source: {{type: kafka, cluster: consumer, topic: impressions, format: json, schema: schemas/other.avsc}}
table: {{catalog: lake, database: playback, table: {table}}}
"""


@pytest.mark.parametrize(
    ("halves", "sentence"),
    [
        ("past: backfil, live: live-impressions", 'did you mean "backfill-impressions"?'),
        ("past: live-impressions, live: live-impressions", "past must be a source of type iceberg"),
        (
            "past: backfill-impressions, live: backfill-impressions",
            "live must be a source of type kafka",
        ),
    ],
)
def test_halves_that_are_none_are_told(tmp_path: Path, halves: str, sentence: str) -> None:
    app = APP.replace(
        "  live-impressions: {", f"  both: {{type: hybrid, {halves}}}\n  live-impressions: {{"
    )
    (problem,) = findings(tmp_path, app, AVRO).problems
    assert sentence in str(problem)


def test_a_hybrid_of_a_table_and_topics_is_sound(tmp_path: Path) -> None:
    halves = "past: backfill-impressions, live: live-impressions"
    app = APP.replace(
        "  live-impressions: {", f"  both: {{type: hybrid, {halves}}}\n  live-impressions: {{"
    )
    assert findings(tmp_path, app, AVRO).problems == []
