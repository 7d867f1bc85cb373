"""What the demo counted, beside what it should have been."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from headrace.demo.events import Expected


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of every stage, by its own word, and what lies in topics and files."""

    expected: Expected
    in_topic: int
    routed: Mapping[str, Any]
    in_quarantine: int
    landed: Mapping[str, Any]
    replayed: Mapping[str, Any]
    lines: int
    json_bytes: int
    lake_bytes: int

    def checks(self) -> list[tuple[str, int, int]]:
        """Return each count with what it should be."""
        wanted = self.expected
        return [
            ("events in topic playback_raw", self.in_topic, wanted.sent),
            ("read by the router", self.routed["read"], wanted.sent),
            ("  written to playback_starts", self.routed["written"], wanted.starts),
            (
                "  filtered away",
                self.routed["filtered"],
                wanted.sent - wanted.starts - wanted.broken,
            ),
            ("  quarantined", self.routed["quarantined"], wanted.broken),
            ("records in the quarantine topic", self.in_quarantine, wanted.broken),
            ("rows landed in lake.playback.starts", self.landed["rows"], wanted.starts),
            ("rows replayed", self.replayed["rows"], wanted.starts),
            ("lines in replayed/*.jsonl", self.lines, wanted.starts),
        ]

    def problems(self) -> list[str]:
        """Name the counts that are not what they should be."""
        return [what.strip() for what, found, wanted in self.checks() if found != wanted]


def render(counted: Counted, root: Path, *, kept: bool) -> str:
    """Return the demo's last words."""
    lines = ["", f"{'':38}{'counted':>10}{'expected':>10}"]
    for what, found, wanted in counted.checks():
        mark = "" if found == wanted else "  ← differs"
        lines.append(f"{what:<38}{found:>10,}{wanted:>10,}{mark}")
    replayed = counted.replayed
    starts_bytes = counted.json_bytes * counted.landed["rows"] / max(1, counted.in_topic)
    lines += [
        "",
        (
            f"{counted.landed['commits']} commits to the lake, {replayed['steps']} replay steps,"
            f" largest disorder {replayed['max_disorder_ms'] / 1000:.3f} s"
            f" of {replayed['threshold_ms'] / 1000:g} s allowed,"
            f" dropped as late {replayed['dropped_late']}"
        ),
        (
            f"the same rows: {starts_bytes / 1e6:.1f} MB as JSON events,"
            f" {counted.lake_bytes / 1e6:.1f} MB in the lake"
        ),
    ]
    if counted.problems():
        lines.append(f"NOT AS EXPECTED: {', '.join(counted.problems())}")
    if kept:
        lines += [
            "",
            f"All files are in {root}",
            "  replayed/           the replayed rows, one file per step, and certificate.json",
            "  .headrace/          the lake, the broker's data, checkpoints and logs",
            "  cd there and run `headrace dev` to look at the topics",
        ]
    return "\n".join(lines)
