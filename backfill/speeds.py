"""How fast replays went on this machine: what an estimate of the next one goes by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from headrace import state_files

if TYPE_CHECKING:
    from pathlib import Path

FILE = "speeds.json"
# A run of less says more of starting than of replaying.
LEAST_S = 1.0
LEAST_ROWS = 10_000
OF_APP = "app "


def remember(folder: Path, kind: str, rows: int, seconds: float) -> None:
    """Keep how fast a run went; of a kind of target the last run counts."""
    if seconds < LEAST_S or rows < LEAST_ROWS:
        return
    known = speeds(folder) | {kind: rows / seconds}
    state_files.write(folder / FILE, msgspec.json.encode(known))


def app_kind(name: str) -> str:
    """Return the kind of a replay through an application."""
    return f"{OF_APP}{name}"


def speeds_for(folder: Path, app: str | None) -> dict[str, float]:
    """Return what is known of replays like one of this application, or of none."""
    known = speeds(folder)
    if app is not None:
        return {kind: speed for kind, speed in known.items() if kind == app_kind(app)}
    return {kind: speed for kind, speed in known.items() if not kind.startswith(OF_APP)}


def speeds(folder: Path) -> dict[str, float]:
    """Return the rows a second of the last run into each kind of target."""
    path = folder / FILE
    if not path.exists():
        return {}
    return msgspec.json.decode(path.read_bytes(), type=dict[str, float])
