"""A log of Spark's JVM that lasts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.jvm.log_file import OLDER_KEPT, roll_over

if TYPE_CHECKING:
    from pathlib import Path


def test_a_large_log_is_rolled_over_while_it_is_written(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    with log.open("ab", buffering=0) as written:
        for turn in range(OLDER_KEPT + 3):
            written.write(b"%d" % turn * 100)
            roll_over(log, 99)
            assert log.stat().st_size == 0
        written.write(b"new")
        roll_over(log, 99)
    assert log.read_bytes() == b"new"
    older = {path.name: path.read_bytes()[:1] for path in tmp_path.iterdir() if path != log}
    assert older == {"spark.log.1": b"5", "spark.log.2": b"4", "spark.log.3": b"3"}


def test_a_small_log_stays(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    roll_over(log)
    log.write_bytes(b"small")
    roll_over(log, 5)
    assert [path.name for path in tmp_path.iterdir()] == ["spark.log"]


def test_a_log_that_cannot_be_copied_does_not_grow_further(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    log.write_bytes(b"much")
    # Nothing can be written there, as on a full disk.
    (tmp_path / "spark.log.1").symlink_to(tmp_path / "nowhere" / "file")
    roll_over(log, 3)
    assert log.read_bytes() == b""
