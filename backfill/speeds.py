"""How fast replays went on this machine: what an estimate of the next one goes by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

FILE = "speeds.json"
# A run over in less says more of starting than of replaying.
LEAST_S = 1.0


def remember(folder: Path, kind: str, rows: int, seconds: float) -> None:
    """Keep how fast a run went; of a kind of target the last run counts."""
    if seconds < LEAST_S or not rows:
        return
    known = speeds(folder) | {kind: rows / seconds}
    temporary = folder / f"{FILE}.part"
    temporary.write_bytes(msgspec.json.encode(known))
    temporary.replace(folder / FILE)


def speeds(folder: Path) -> dict[str, float]:
    """Return the rows a second of the last run into each kind of target."""
    path = folder / FILE
    if not path.exists():
        return {}
    return msgspec.json.decode(path.read_bytes(), type=dict[str, float])
