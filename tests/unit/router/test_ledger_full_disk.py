from __future__ import annotations

import contextlib
import resource
from typing import TYPE_CHECKING

import pytest

from router.ledger.entries import Counts, LedgerEntry, LedgerStretch
from router.ledger.file import Header, LedgerDamaged, LedgerFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def entry(batch: int) -> LedgerEntry:
    return LedgerEntry(batch, "", {0: LedgerStretch(batch * 10, batch * 10 + 10, Counts(10, 10))})


@contextlib.contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """Let a write end in its middle, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_line_that_a_full_disk_cut_off_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = LedgerFile(path)
    ledger.begin(Header("s", "out", "fronting", "t", "id"), entry(0))
    whole = path.stat().st_size
    with no_file_above(whole + 20), pytest.raises(OSError, match="File too large"):
        ledger.append(entry(1))
    assert path.stat().st_size == whole + 20
    assert ledger.positions == {0: 10}
    # The batch is done again once there is room; by this process, or by the next.
    assert LedgerFile(path, is_ours=False).positions == {0: 10}
    ledger.append(entry(1))
    ledger.append(entry(2))
    assert LedgerFile(path).entries == [entry(0), entry(1), entry(2)]


def test_a_ledger_that_ends_behind_its_header_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    LedgerFile(path).begin(Header("s", "out", "fronting", "t", "id"), entry(0))
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(LedgerDamaged, match="does not say at which offsets the output began"):
        LedgerFile(path)
