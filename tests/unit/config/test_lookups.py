"""Lookups in an application's file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.config.load import load_app, load_workspace

if TYPE_CHECKING:
    from tests.unit.config.workspaces import Files

TITLES = "{type: iceberg, catalog: lake, database: playback, table: titles"


def with_lookups(files: Files, text: str) -> None:
    files.spoil("apps/rmi.yaml", "transform:", f"lookups:\n  {text}\ntransform:")


@pytest.mark.parametrize(
    ("as_of", "said"),
    [
        ("", "replayed"),
        (", as_of: today", "today"),
        (", as_of: 2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"),
        (", as_of: 5781947118336215154", "5781947118336215154"),
    ],
)
def test_a_sound_lookup_is_taken(files: Files, as_of: str, said: str) -> None:
    with_lookups(files, f"titles: {TITLES}{as_of}}}")
    assert files.problems() == []
    lookup = load_app(files.root / "apps/rmi.yaml", load_workspace(files.root)).config.lookups
    assert lookup["titles"].as_of == said
    assert lookup["titles"].is_fixed == (said not in {"replayed", "today"})


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        (f"titles: {TITLES}, as_off: today}}", "8:77", 'did you mean "as_of"'),
        (f"titles: {TITLES}, as_of: yesterday}}", "8:84", "expected replayed, today, a time"),
        (f"titles: {TITLES}, as_of: 1.5}}", "8:84", "expected replayed, today, a time"),
        (
            "titles: {type: iceberg, catalog: lak, database: d, table: t}",
            "8:36",
            'did you mean "lake"',
        ),
        (f"Impressions: {TITLES}}}", "8:3", "a source have the same name"),
        (f"titles: {TITLES.replace('iceberg', 'kafka')}}}", "8:18", "expected iceberg"),
    ],
)
def test_a_mistake_is_told_at_its_place(files: Files, text: str, place: str, told: str) -> None:
    with_lookups(files, text)
    (problem,) = files.problems()
    assert told in problem
    assert f"rmi.yaml:{place}" in problem
