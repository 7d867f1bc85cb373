"""Folders are read again when they have changed, and not before."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from fleet import stamps
from fleet.stamps import YamlFiles
from headrace.config.validate import yaml_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONG_AGO_S = 3_600


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the folders that were walked from the root on."""
    found: list[Path] = []

    def walked(root: Path, seen: list[Path]) -> Iterator[Path]:
        found.append(root)
        return yaml_files(root, seen)

    monkeypatch.setattr(stamps, "yaml_files", walked)
    return found


def grown_old(*folders: Path) -> None:
    then_s = time.time() - LONG_AGO_S
    for one in folders:
        os.utime(one, (then_s, then_s))


def test_what_is_settled_is_not_walked_again(tmp_path: Path, walks: list[Path]) -> None:
    inner = tmp_path / "streams"
    inner.mkdir()
    (inner / "a.yaml").write_text("kind: stream")
    grown_old(tmp_path, inner)
    files = YamlFiles(tmp_path)
    assert files.now() == [inner / "a.yaml"]
    # What came between the list and the stamps is in a second list.
    assert files.now() == [inner / "a.yaml"]
    assert len(walks) == 2
    for _ in range(3):
        assert files.now() == [inner / "a.yaml"]
    assert len(walks) == 2


def test_a_folder_that_has_just_changed_is_walked_each_time(
    tmp_path: Path, walks: list[Path]
) -> None:
    files = YamlFiles(tmp_path)
    for number in range(4):
        (tmp_path / f"{number}.yaml").write_text("kind: stream")
        assert len(files.now()) == number + 1
    assert len(walks) == 4


def test_what_comes_and_goes_in_any_folder_is_seen(tmp_path: Path, walks: list[Path]) -> None:
    inner = tmp_path / "streams" / "tv"
    inner.mkdir(parents=True)
    grown_old(inner, inner.parent, tmp_path)
    files = YamlFiles(tmp_path)
    for _ in range(3):
        assert files.now() == []
    assert len(walks) == 2
    (inner / "new.yml").write_text("kind: stream")
    assert files.now() == [inner / "new.yml"]
    (inner / "new.yml").unlink()
    assert files.now() == []
    # A folder that was a workspace of its own is a part of this one now.
    other = tmp_path / "other"
    other.mkdir()
    (other / "headrace.yaml").write_text("")
    (other / "one.yaml").write_text("kind: stream")
    assert files.now() == []
    grown_old(other, inner, inner.parent, tmp_path)
    for _ in range(3):
        assert files.now() == []
    (other / "headrace.yaml").unlink()
    assert files.now() == [other / "one.yaml"]
