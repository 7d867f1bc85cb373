from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from headrace.queries.checkpoint import CheckpointDamaged, batch_ends, fit

if TYPE_CHECKING:
    from pathlib import Path


def offsets(checkpoint: Path, batch: int, ends: dict[int, int], topic: str = "t") -> Path:
    file = checkpoint / "offsets" / str(batch)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({topic: {str(number): end for number, end in ends.items()}})
    file.write_text(f'v1\n{{"batchWatermarkMs":0}}\n{text}', encoding="utf-8")
    return file


def commit(checkpoint: Path, batch: int) -> None:
    file = checkpoint / "commits" / str(batch)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("v1\n{}", encoding="utf-8")


def test_the_ends_of_a_batch(tmp_path: Path) -> None:
    offsets(tmp_path, 3, {0: 10, 1: 20})
    assert batch_ends(tmp_path, 3, "t") == {0: 10, 1: 20}


@pytest.mark.parametrize("text", ["", "v1", "v1\n{}\n", "v2\n{}\n{}", "v1\n{}\n[", "v1\n{}\n[1]"])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    file = offsets(tmp_path, 3, {0: 10})
    file.write_text(text, encoding="utf-8")
    with pytest.raises(CheckpointDamaged, match=r"offsets/3 is damaged.*") as told:
        batch_ends(tmp_path, 3, "t")
    assert f"remove the folder {tmp_path}" in told.value.advice


def test_another_topic_is_told(tmp_path: Path) -> None:
    offsets(tmp_path, 3, {0: 10}, "other")
    with pytest.raises(CheckpointDamaged, match="of another topic than t"):
        batch_ends(tmp_path, 3, "t")


@pytest.mark.parametrize(("place", "stays"), [(5, False), (9, False), (10, True), (30, True)])
def test_a_checkpoint_that_is_ahead_of_a_ledger_goes(
    tmp_path: Path, place: int, stays: bool
) -> None:
    checkpoint = tmp_path / "checkpoint"
    for batch in range(3):
        offsets(checkpoint, batch, {0: (batch + 1) * 5})
    commit(checkpoint, 0)
    commit(checkpoint, 1)
    # Batch 2 was begun and not committed: Spark does it again, from where batch 1 ended.
    fit(checkpoint, "t", {0: place})
    assert checkpoint.exists() == stays


def test_a_partition_that_no_ledger_knows_is_no_reason(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    offsets(checkpoint, 0, {0: 5, 1: 7})
    commit(checkpoint, 0)
    fit(checkpoint, "t", {0: 5})
    assert checkpoint.exists()


def test_what_cannot_be_read_is_told_before_spark_starts(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    commit(checkpoint, 0)
    offsets(checkpoint, 0, {0: 5}).write_text("", encoding="utf-8")
    with pytest.raises(CheckpointDamaged):
        fit(checkpoint, "t", {0: 5})
