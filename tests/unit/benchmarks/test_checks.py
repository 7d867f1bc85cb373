from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.checks import landed, lines
from benchmarks.events import FIELDS
from benchmarks.model import WrongResult

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.arena import Arena

Places = list[tuple[int, int]]
ALL: Places = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]


def arena() -> Arena:
    kafka = SimpleNamespace(offsets=lambda _topic: {0: range(3), 1: range(2)})
    return cast("Arena", SimpleNamespace(kafka=kafka, loaded=SimpleNamespace(topic="t")))


def write(path: Path, places: Places) -> Path:
    metadata = [{"partition": partition, "offset": offset} for partition, offset in places]
    pq.write_table(pa.table({"__metadata__": metadata}), path)
    return path


def test_each_record_once_in_any_file_and_order_is_right(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a", ALL[3:]), write(tmp_path / "b", ALL[:3])
    landed(arena(), [first, second])


def test_a_row_too_few_is_found(tmp_path: Path) -> None:
    with pytest.raises(WrongResult, match="rows landed: 4, not 5"):
        landed(arena(), [write(tmp_path / "a", ALL[1:])])


def test_one_row_missing_and_another_twice_is_found(tmp_path: Path) -> None:
    with pytest.raises(WrongResult, match="offsets of partition 0: 2, not 3"):
        landed(arena(), [write(tmp_path / "a", [*ALL[1:], ALL[1]])])


def test_no_file_is_found() -> None:
    with pytest.raises(WrongResult, match="no data file"):
        landed(arena(), [])


def test_lines_are_counted_over_all_files(tmp_path: Path) -> None:
    row = json.dumps(dict.fromkeys((*FIELDS, "__metadata__"), 0)) + "\n"
    for name, rows in (("a", 2), ("b", 3)):
        (tmp_path / name).write_text(row * rows, encoding="utf-8")
    lines(tmp_path.iterdir(), 5)
    with pytest.raises(WrongResult, match="lines written: 5, not 6"):
        lines(tmp_path.iterdir(), 6)


def test_lines_without_the_metadata_are_found(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(json.dumps(dict.fromkeys(FIELDS, 0)) + "\n", encoding="utf-8")
    with pytest.raises(WrongResult, match="the first line is"):
        lines(tmp_path.iterdir(), 1)
