"""A ledger on disk: a line per batch, each with its checksum, synced before anyone builds on it.

A crash may leave a torn last line: without its end, or with parts of it never written. Such a
line is none: it is cut off at the next start, and its batch is repeated. Damage anywhere else is
an error that names file and line.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import structlog

from headrace import state_files
from headrace.errors import Terminal
from router.ledger.entries import (
    Counts,
    LedgerEntry,
    LedgerStretch,
    checked,
    flaws,
    rolled_up,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

VERSION: Final = 1
# So many batches are kept one by one; older ones are rolled up into one line.
KEPT_BATCHES: Final = 5_000
# The first line that is not written together with the file itself.
FIRST_APPENDED: Final = 3
_COUNTS: Final = itemgetter(*Counts.__slots__)
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Header:
    """Whose ledger it is, and of which topic: one re-created under the same name is another."""

    stream: str
    output: str
    cluster: str
    topic: str
    topic_id: str


class LedgerDamaged(Terminal):
    """A ledger that cannot be read, and so says nothing about the output's position."""

    def __init__(self, path: Path, line: int, why: str) -> None:
        self.path = path
        self.line = line
        super().__init__(
            f"the ledger {path} is damaged at line {line}: {why}",
            "restore the file; or remove its folder, and the output begins again at"
            " starting_offsets (what it wrote before is then written again)",
        )


class LedgerFile:
    """The ledger of one output. Not for two processes at once: its folder is locked by us.

    Who is not its owner may read it all the same: a last line that is still being written is left
    alone, and is none.
    """

    def __init__(self, path: Path, *, is_ours: bool = True) -> None:
        self.path = path
        self._is_ours = is_ours
        self._lines = 0
        self._length = 0
        self.header: Header | None = None
        self.entries: list[LedgerEntry] = []
        # The last stretch of each partition: its position, without a look at all entries.
        self.last: dict[int, LedgerStretch] = {}
        if path.exists():
            self._load()

    def begin(self, header: Header, first: LedgerEntry) -> None:
        """Write a new ledger, and where it begins: both are there, or neither."""
        self._replace([_header_line(header), _line(_entry_fields(checked(first)))])
        self.header, self.entries, self.last = header, [first], dict(first.stretches)

    @property
    def positions(self) -> dict[int, int]:
        """The next offset of each partition."""
        return {number: stretch.end_exclusive for number, stretch in self.last.items()}

    def append(self, entry: LedgerEntry) -> None:
        """Add a batch; when this returns, no crash can take it back."""
        checked(entry)
        # A line that an earlier try left unfinished, on a full disk, is written over.
        line = _line(_entry_fields(entry))
        self._length = state_files.append(self.path, self._length, line)
        self.entries.append(entry)
        self.last |= entry.stretches
        self._lines += 1
        if self._lines > 2 * KEPT_BATCHES:
            self._roll_up()

    def _roll_up(self) -> None:
        if self.header is None:
            return
        old, kept = self.entries[:-KEPT_BATCHES], self.entries[-KEPT_BATCHES:]
        if flaws(old) or any(
            one.lost or one.replaced for entry in old for one in entry.stretches.values()
        ):
            # What is missing would be lost sight of.
            return
        self.entries = [rolled_up(old), *kept]
        lines = [_header_line(self.header), *(_line(_entry_fields(one)) for one in self.entries)]
        self._replace(lines)

    def _replace(self, lines: Sequence[bytes]) -> None:
        state_files.write(self.path, b"".join(lines))
        self._lines = len(lines)
        self._length = sum(map(len, lines))

    def _load(self) -> None:
        for number, fields in self._fields():
            if number == 1:
                self.header = _header(self.path, fields)
            else:
                entry = _entry(self.path, number, fields)
                self.entries.append(entry)
                self.last |= entry.stretches
            self._lines = number
        if not self.entries:
            raise LedgerDamaged(self.path, 1, "it does not say at which offsets the output began")

    def _fields(self) -> Iterator[tuple[int, dict[str, Any]]]:
        data = self.path.read_bytes()
        if not data:
            raise LedgerDamaged(self.path, 1, "it is empty")
        lines = data.splitlines(keepends=True)
        for number, line in enumerate(lines, 1):
            try:
                fields = _read(self.path, number, line)
            except LedgerDamaged:
                # Header and beginning are written at once, and each line behind them is synced
                # before the next: only the last can be torn.
                if number < max(FIRST_APPENDED, len(lines)):
                    raise
                if self._is_ours:
                    self._cut(number)
                return
            yield number, fields
            self._length += len(line)

    def _cut(self, number: int) -> None:
        log.warning(
            "removed an incomplete last line; its batch is repeated",
            ledger=str(self.path),
            line=number,
        )
        state_files.cut(self.path, self._length)


def _line(fields: Mapping[str, object]) -> bytes:
    text = json.dumps(fields, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _read(path: Path, number: int, line: bytes) -> dict[str, Any]:
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    try:
        is_same = line.endswith(b"\n") and int(checksum, 16) == zlib.crc32(text)
        fields = json.loads(text) if is_same else None
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise LedgerDamaged(path, number, "its checksum does not match")
    return fields


def _header_line(header: Header) -> bytes:
    return _line({"version": VERSION, **asdict(header)})


def _header(path: Path, fields: dict[str, Any]) -> Header:
    version = fields.pop("version", None)
    if version != VERSION:
        raise LedgerDamaged(
            path, 1, f"it has version {version}; this headrace reads version {VERSION}"
        )
    return Header(**fields)


def _entry_fields(entry: LedgerEntry) -> dict[str, object]:
    return {
        "batch": entry.batch,
        "at": entry.at,
        "partitions": {
            str(partition): {
                "from": stretch.start,
                "to": stretch.end_exclusive,
                **({"lost": stretch.lost} if stretch.lost else {}),
                **({"replaced": stretch.replaced} if stretch.replaced else {}),
                **({"epoch": stretch.epoch} if stretch.epoch >= 0 else {}),
                **asdict(stretch.counts),
            }
            for partition, stretch in sorted(entry.stretches.items())
        },
    }


def _entry(path: Path, number: int, fields: dict[str, Any]) -> LedgerEntry:
    try:
        stretches = {
            int(partition): LedgerStretch(
                one["from"],
                one["to"],
                Counts(*_COUNTS(one)),
                one.get("lost", 0),
                one.get("replaced", 0),
                one.get("epoch", -1),
            )
            for partition, one in fields["partitions"].items()
        }
        return LedgerEntry(fields["batch"], fields["at"], stretches)
    except (KeyError, TypeError, ValueError) as problem:
        raise LedgerDamaged(path, number, f"{problem!r}") from None
