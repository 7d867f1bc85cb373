"""How a table is followed: what may be written, and where a mistake is told."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from headrace.config.app.file import IcebergSource
from headrace.config.load import load_app, load_workspace

if TYPE_CHECKING:
    from headrace.config.app.file import Follow
    from tests.unit.config.workspaces import Files

LAST_KEY = "max_misalignment_threshold: 15min"


def follow(files: Files, said: str) -> None:
    files.spoil("apps/rmi.yaml", LAST_KEY, f"{LAST_KEY}, follow: {said}")


def followed(files: Files, said: str) -> Follow:
    follow(files, said)
    app = load_app(files.root / "apps/rmi.yaml", load_workspace(files.root))
    (source,) = [one for one in app.config.sources.values() if isinstance(one, IcebergSource)]
    assert source.follow is not None
    return source.follow


@pytest.mark.parametrize("start", ["2026-03-01T00:00:00Z", "2026-03-01", "latest"])
def test_a_start_is_a_word_or_a_time(files: Files, start: str) -> None:
    found = followed(files, f"{{start: {start}, discovery_interval: 1min}}")
    assert found.start == start
    assert found.discovery_interval == timedelta(minutes=1)


def test_nothing_need_be_said(files: Files) -> None:
    found = followed(files, "{}")
    assert (found.start, found.up_to, found.on_overwrite) == ("earliest", "complete", "fail")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("{from: latest}", 'unknown key "from"'),
        ("{discovery_intervall: 30s}", 'did you mean "discovery_interval"?'),
        ("{start: soon}", "expected earliest, latest, or a time such as 2026-03-01T00:00:00Z"),
        ("{start: 7}", "expected earliest, latest, or a time"),
        ("{up_to: completed}", 'did you mean "complete"?'),
        ("{on_overwrite: ignore}", "expected fail or skip"),
        ("{discovery_interval: 0}", "it must be more than 0"),
        ("{max_rows: 0}", "expected a number above 0"),
    ],
)
def test_a_mistake_is_told_where_it_is(files: Files, said: str, told: str) -> None:
    follow(files, said)
    (problem,) = files.problems()
    assert told in problem
    assert "rmi.yaml:6:1" in problem
