"""Texts of files that a form makes: they hold what was typed, and leave what a person has written."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from headrace.config.edit.region_text import RegionChoice, with_region
from headrace.config.edit.stream_text import StreamChoice, scalar, stream_text
from headrace.config.yaml.reader import read_document
from headrace.errors import Terminal, UsageError
from headrace.proposed_files import proposed
from tests.unit.config.workspaces import FULL_STREAM, STREAM, Files

WRITTEN = """\
# The first line.
kind: stream
name: 'plays'      # in quotes
source: {type: kafka, cluster: fronting, topic: playback_raw, format: json, schema: schemas/playback.avsc}
outputs:
- name: starts     # the dash does not stand in
  filter: >-
    event_type = 'start'
  sink:
    type: kafka
    cluster: consumer
    topic: "starts"
    format: json

# The last line.
"""


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    lines = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    return [one[2:] for one in lines if one[0] == "-"], [one[2:] for one in lines if one[0] == "+"]


def test_a_region_is_added_below_the_others_and_nothing_else_changes() -> None:
    removed, added = changed_lines(WRITTEN, with_region(WRITTEN, RegionChoice("eu", "consumer")))
    assert removed == []
    assert added == ["overrides:", "  eu:", "    source: {cluster: consumer}"]
    there = WRITTEN + "overrides:\n  # the east\n  east: {trigger: 5s}   # slow\n"
    choice = RegionChoice("eu", "consumer", "raw_eu", "eu-west-1", "10s")
    removed, added = changed_lines(there, with_region(there, choice))
    assert removed == []
    assert added == [
        "  eu:",
        "    source: {cluster: consumer, topic: raw_eu}",
        "    region: eu-west-1",
        "    trigger: 10s",
    ]
    removed, added = changed_lines(STREAM, with_region(STREAM, RegionChoice("eu")))
    assert removed == [
        "overrides: {}                        # by deployment: source, spark conf, trigger"
    ]
    assert added[1:] == ["  eu: {}"]


def test_a_region_that_is_there_and_a_file_that_is_no_stream_are_refused() -> None:
    with pytest.raises(UsageError, match="deployment eu-west-1 already"):
        with_region(FULL_STREAM, RegionChoice("eu-west-1"))
    for text in ("", "[1]", "a: [", "overrides: 1\n", "&a [*a]"):
        with pytest.raises((Terminal, UsageError)):
            with_region(text, RegionChoice("eu"))


TEXTS = st.text(max_size=30)


@given(TEXTS)
def test_a_scalar_is_read_as_the_text_that_was_typed(text: str) -> None:
    assert YAML(typ="safe", pure=True).load(f"a: [{scalar(text)}]\nb: {scalar(text)}\n") == {
        "a": [text],
        "b": text,
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "true",
        "No",
        "1",
        "1.0",
        "null",
        "~",
        "a: b",
        "#x",
        "\u2028",
        "\U0001f600",
        "- a",
        "x\ny",
        "1e3",
        "0x1",
        "@a",
        "é",
    ],
)
def test_texts_that_yaml_takes_for_something_else_are_in_quotes(files: Files, text: str) -> None:
    path = files.root / "a.yaml"
    with proposed({path: f"a: {scalar(text)}\n".encode()}):
        assert read_document(path).get("a") == text


@given(TEXTS, TEXTS, st.lists(TEXTS.filter(str.strip), max_size=3))
def test_the_text_of_a_stream_holds_what_was_chosen(
    name: str, condition: str, columns: list[str]
) -> None:
    choice = StreamChoice(
        name, "c", "t", "json", "s.avsc", required=columns, filter=condition, project=columns
    )
    text = stream_text(choice)
    found = YAML(typ="safe", pure=True).load(str(text))
    [output] = found["outputs"]
    assert (found["name"], output.get("filter", "")) == (name, condition)
    assert output.get("project", []) == columns == found["hygiene"].get("required", [])
    lines = str(text).splitlines()
    assert len(lines) == len(text.lines)
    for number, line in enumerate(lines, start=1):
        if line.startswith("    filter:"):
            assert text.field_of(number) == "filter"
