from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.errors import Terminal
from router.ledger import file as ledger_file
from router.ledger.entries import Counts, LedgerEntry, LedgerStretch
from router.ledger.file import Header, LedgerDamaged, LedgerFile
from router.quarantine.replay_records import Replayed

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = Header("playback", "starts", "fronting", "playback_raw", "id")


def entry(batch: int, lost: int = 0) -> LedgerEntry:
    counts = Counts(10, 4, 3, {"range": 1}, 2)
    stretch = LedgerStretch(batch * 12, batch * 12 + 12, counts, lost)
    return LedgerEntry(batch, "2026-01-05T00:00:00.000Z", {0: stretch})


def ledger_of(path: Path, batches: int) -> LedgerFile:
    ledger = LedgerFile(path)
    ledger.begin(HEADER, entry(0))
    for batch in range(1, batches):
        ledger.append(entry(batch))
    return ledger


def test_what_was_kept_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "ledger.jsonl"
    kept = ledger_of(path, 3)
    read = LedgerFile(path)
    assert read.header == HEADER
    assert read.entries == kept.entries == [entry(0), entry(1), entry(2)]
    assert read.positions == {0: 36}


def test_epochs_and_replaced_offsets_are_kept(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path / "ledger.jsonl", 1)
    assert ledger.last[0].epoch == -1
    ledger.append(LedgerEntry(1, "", {0: LedgerStretch(12, 17, Counts(5, 5), replaced=4, epoch=7)}))
    read = LedgerFile(ledger.path)
    assert (read.entries, read.last) == (ledger.entries, ledger.last)
    assert read.last[0].epoch == 7


@pytest.mark.parametrize("cut", [1, 5, 60])
def test_a_torn_last_line_is_none(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger_of(path, 3)
    path.write_bytes(path.read_bytes()[:-cut])
    torn = LedgerFile(path)
    assert torn.positions == {0: 24}
    torn.append(entry(2))
    assert LedgerFile(path).positions == {0: 36}


@pytest.mark.parametrize("line", [1, 2, 3])
def test_damage_is_named_by_file_and_line(tmp_path: Path, line: int) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger_of(path, 3)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line - 1] = lines[line - 1].replace(b":", b";", 1)
    path.write_bytes(b"".join(lines))
    with pytest.raises(
        LedgerDamaged, match=f"ledger.jsonl is damaged at line {line}: its checksum"
    ):
        LedgerFile(path)


def zeros(line: bytes) -> bytes:
    return b"\0" * (len(line) - 1) + b"\n"


def first_half_missing(line: bytes) -> bytes:
    return b"\0" * (len(line) // 2) + line[len(line) // 2 :]


def middle_missing(line: bytes) -> bytes:
    return line[:20] + b"\0" * 20 + line[40:]


@pytest.mark.parametrize("torn", [zeros, first_half_missing, middle_missing])
def test_a_last_line_of_which_not_all_blocks_were_written_is_none(
    tmp_path: Path, torn: Callable[[bytes], bytes]
) -> None:
    # A machine that goes down may have written the end of a line, and not what is before it.
    path = tmp_path / "ledger.jsonl"
    ledger_of(path, 3)
    *before, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*before, torn(last)]))
    assert LedgerFile(path, is_ours=False).positions == {0: 24}
    again = LedgerFile(path)
    assert again.positions == {0: 24}
    again.append(entry(2))
    assert LedgerFile(path).entries == [entry(0), entry(1), entry(2)]
    path.write_bytes(b"".join([*before[:-1], torn(before[-1]), last]))
    with pytest.raises(LedgerDamaged, match="damaged at line 3"):
        LedgerFile(path)


def test_an_empty_file_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.touch()
    with pytest.raises(LedgerDamaged, match="it is empty"):
        LedgerFile(path)


def test_old_batches_are_rolled_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_file, "KEPT_BATCHES", 4)
    path = tmp_path / "ledger.jsonl"
    ledger = ledger_of(path, 30)
    read = LedgerFile(path)
    assert len(path.read_bytes().splitlines()) < 12
    assert read.positions == ledger.positions == {0: 360}
    assert sum((one.counts for one in read.entries), Counts()).read == 300
    assert read.entries[-4:] == [entry(26), entry(27), entry(28), entry(29)]


def test_what_was_lost_stays_in_sight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_file, "KEPT_BATCHES", 4)
    ledger = ledger_of(tmp_path / "ledger.jsonl", 2)
    ledger.append(entry(2, lost=1))
    for batch in range(3, 30):
        ledger.append(entry(batch))
    read = LedgerFile(ledger.path)
    assert entry(2, lost=1) in read.entries
    assert len(read.entries) == 30


def test_a_batch_that_does_not_add_up_is_not_kept(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path / "ledger.jsonl", 1)
    with pytest.raises(Terminal, match="read 5 records, but accounts for only 4"):
        ledger.append(LedgerEntry(1, "", {0: LedgerStretch(12, 17, Counts(5, 4))}))
    assert LedgerFile(ledger.path).positions == {0: 12}


def test_what_holds_the_ledger_outlasts_a_lost_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: set[str] = set()
    really = os.fsync

    def note(handle: int) -> None:
        found.add(str(Path(f"/proc/self/fd/{handle}").readlink()))
        really(handle)

    monkeypatch.setattr(os, "fsync", note)
    ledger_of(tmp_path / "stream" / "output" / "ledger.jsonl", 1)
    folders = {tmp_path, tmp_path / "stream", tmp_path / "stream" / "output"}
    assert set(map(str, folders)) <= found
    found.clear()
    replayed = Replayed(tmp_path / "quarantine" / "replayed.json", "id")
    replayed.save()
    assert {str(tmp_path), str(tmp_path / "quarantine")} <= found
