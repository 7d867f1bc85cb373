"""The state in a checkpoint: which of its versions can still be put together, and from what.

Batch N leaves version N + 1 of every store. A store has some versions whole (`.snapshot`, or
`.zip` of RocksDB) and the others as changes to the version before (`.delta`, `.changelog`).
"""

from __future__ import annotations

import json
import re
import zipfile
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import Terminal

if TYPE_CHECKING:
    from pathlib import Path

# With Spark's second format of checkpoints the version has the id of its attempt behind it.
_VERSIONED: Final = re.compile(
    r"\.?(?P<version>\d+)(_[0-9a-f-]{36})?\.(?P<kind>snapshot|zip|delta|changelog)(?P<sums>(\.crc)*)"
)
_WHOLE: Final = frozenset({"snapshot", "zip"})
_METADATA: Final = "_metadata"


def version_of(name: str) -> int | None:
    """Return which version of a store a file is of, None where it is of none alone."""
    found = _VERSIONED.fullmatch(name)
    return None if found is None else int(found["version"])


@dataclass(frozen=True)
class Store:
    """One store of one partition of a stateful operator, by the files that are there."""

    name: str
    folder: Path
    whole: frozenset[int]
    changes: frozenset[int]

    @classmethod
    def read(cls, name: str, folder: Path) -> Store:
        """Look at what the folder holds; one that is not there holds nothing."""
        found = [_VERSIONED.fullmatch(path.name) for path in _files(folder)]
        kinds = [
            (one["kind"], int(one["version"]))
            for one in found
            # A file of checksums is not what it is of.
            if one is not None and not one["sums"] and not one.string.startswith(".")
        ]
        return cls(
            name,
            folder,
            frozenset(version for kind, version in kinds if kind in _WHOLE),
            frozenset(version for kind, version in kinds if kind not in _WHOLE),
        )

    def missing(self, version: int) -> str | None:
        """Say what a version cannot be put together without, None where all of it is there."""
        base = max((one for one in self.whole if one <= version), default=0)
        gone = [one for one in range(base + 1, version + 1) if one not in self.changes]
        if gone:
            return f"the state of {self.name} lacks the change to version {gone[0]}"
        lacking = self._lacking_of(base)
        return None if lacking is None else f"the state of {self.name} lacks the file {lacking}"

    def _lacking_of(self, base: int) -> str | None:
        """Return a file that RocksDB's zip refers to and that is not there as it was."""
        for path in sorted(self.folder.glob(f"{base}*.zip")):
            if version_of(path.name) == base:
                return _lacking(path)
        return None


@dataclass(frozen=True)
class QueryState:
    """The state of all stateful operators of a query."""

    folder: Path

    @cached_property
    def stores(self) -> tuple[Store, ...]:
        """Every store that there should be, by what the operators say of themselves."""
        return tuple(
            store
            for operator in sorted(_folders(self.folder), key=lambda path: path.name)
            for store in _stores(operator)
        )

    def missing(self, batch: int) -> str | None:
        """Say what the state after a batch cannot be put together without."""
        for operator in _folders(self.folder):
            said = _said_at(operator)
            if said and not any(one <= batch for one in said):
                return f"operator {operator.name} no longer has the metadata of its state"
        return next((why for one in self.stores if (why := one.missing(batch + 1))), None)


def belongs_to_later(path: Path, batch: int) -> bool:
    """Whether a file below `state` is of a batch after this one alone."""
    if path.parent.name == "v2" and path.parent.parent.name == _METADATA:
        number = path.name.removeprefix(".").partition(".")[0]
        return number.isdecimal() and int(number) > batch
    version = version_of(path.name)
    return version is not None and version > batch + 1


def _stores(operator: Path) -> list[Store]:
    said = _metadata(operator)
    try:
        name = f"operator {operator.name} ({said['operatorInfo']['operatorName']})"
        found = []
        for info in said["stateStoreInfo"]:
            for partition in range(int(info["numPartitions"])):
                folder, called = operator / str(partition), f"{name}, partition {partition}"
                if info["storeName"] != "default":
                    folder, called = folder / info["storeName"], f"{called}, {info['storeName']}"
                found.append(Store.read(called, folder))
    except (KeyError, TypeError, ValueError):
        raise _unreadable(operator) from None
    return found


def _metadata(operator: Path) -> dict[str, Any]:
    """Read what an operator says of its stores: the newest word, for their number never changes."""
    plain = operator / _METADATA / "metadata"
    said = _said_at(operator)
    place = operator / _METADATA / "v2" / str(max(said)) if said else plain
    try:
        found: dict[str, Any] = json.loads(place.read_text(encoding="utf-8").partition("\n")[2])
    except (OSError, ValueError):
        raise _unreadable(operator) from None
    return found


def _unreadable(operator: Path) -> Terminal:
    return Terminal(
        f"the state metadata of operator {operator.name} cannot be read",
        f"it is in {operator / _METADATA}: restore that folder, or start over",
    )


def _said_at(operator: Path) -> list[int]:
    """Return the batches at which an operator of many kinds of state has described itself."""
    return [int(one.name) for one in _files(operator / _METADATA / "v2") if one.name.isdecimal()]


def _lacking(zipped: Path) -> str | None:
    try:
        with zipfile.ZipFile(zipped) as file:
            said = json.loads(file.read("metadata").partition(b"\n")[2])
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return zipped.name
    for one in said.get("sstFiles", ()):
        place = zipped.parent / "SSTs" / one["dfsSstFileName"]
        if not place.exists() or place.stat().st_size != one["sizeBytes"]:
            return f"SSTs/{place.name}"
    return None


def _folders(folder: Path) -> list[Path]:
    return [one for one in folder.glob("*") if one.is_dir() and one.name.isdecimal()]


def _files(folder: Path) -> list[Path]:
    return [one for one in folder.glob("*") if one.is_file()]
