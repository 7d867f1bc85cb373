"""Two results held against each other: how many rows match, and of what kind the others are."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

PERCENT_DIGITS = 4


class MismatchKind(StrEnum):
    """What a mismatch is. One that has a known cause is named by it, whatever else it is."""

    MISSING = "missing"
    EXTRA = "extra"
    DIFFERING = "differing"
    REPEATED = "repeated"
    BOUNDARY = "boundary"
    LATE = "late"


MEANING = {
    MismatchKind.MISSING: "the left table has the key, the right table does not",
    MismatchKind.EXTRA: "the right table has the key, the left table does not",
    MismatchKind.DIFFERING: "the same key, other values",
    MismatchKind.REPEATED: "both tables have the key, one of them more often",
    MismatchKind.BOUNDARY: "near the start or the end of the period",
    MismatchKind.LATE: "records came there later than the live watermark allows",
}


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two tables: its rows, and how many of its keys it has more than once."""

    name: str
    rows: int
    repeated_keys: int


@dataclass(frozen=True, slots=True)
class Example:
    """One mismatch: the key, and the row that stands without a partner on either side."""

    kind: MismatchKind
    key: Mapping[str, Any]
    left: Mapping[str, Any] | None
    right: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The counts: a pair of rows of one key counts once, and so does a row without a partner."""

    left: Side
    right: Side
    matched: int
    mismatches: Mapping[MismatchKind, int]
    differing_columns: Mapping[str, int]
    examples: tuple[Example, ...]

    @property
    def counted(self) -> int:
        """How many pairs and single rows there are."""
        return self.matched + sum(self.mismatches.values())

    @property
    def match_percent(self) -> float:
        """How many in a hundred match."""
        return 100 * self.matched / self.counted if self.counted else 0.0

    @property
    def match_percent_inside(self) -> float:
        """How many in a hundred match, what is near the period's ends left out."""
        inside = self.counted - self.mismatches.get(MismatchKind.BOUNDARY, 0)
        return 100 * self.matched / inside if inside else 0.0

    def is_at_least(self, min_match_percent: float) -> bool:
        """Whether enough matches; nothing at all is not enough."""
        return self.counted > 0 and self.match_percent >= min_match_percent

    def to_json(self, min_match_percent: float) -> str:
        """Write the comparison for machines."""
        whole = {
            "match_percent": self.match_percent,
            "match_percent_inside": self.match_percent_inside,
            "min_match_percent": min_match_percent,
            "passed": self.is_at_least(min_match_percent),
            "matched": self.matched,
            "mismatches": {kind.value: self.mismatches.get(kind, 0) for kind in MismatchKind},
            "differing_columns": dict(self.differing_columns),
            "left": asdict(self.left),
            "right": asdict(self.right),
            "examples": [asdict(example) for example in self.examples],
        }
        return json.dumps(whole, indent=2)

    def to_text(self, min_match_percent: float) -> str:
        """Write the comparison for a person."""
        lines = [
            f"match {shown_percent(self.match_percent)}: {self.matched:,} of {self.counted:,}",
            f"  left  {_side(self.left)}",
            f"  right {_side(self.right)}",
        ]
        lines += [
            f"  {kind.value:<9} {self.mismatches[kind]:>9,}  {MEANING[kind]}"
            for kind in MismatchKind
            if self.mismatches.get(kind)
        ]
        if self.differing_columns:
            often = sorted(self.differing_columns.items(), key=lambda item: (-item[1], item[0]))
            lines.append(f"  columns that differ: {', '.join(f'{c} {n:,}' for c, n in often)}")
        if self.mismatches.get(MismatchKind.BOUNDARY, 0):
            inside = shown_percent(self.match_percent_inside)
            lines.append(f"  without the rows near the period's ends, {inside} match")
        lines += [line for example in self.examples for line in _example(example)]
        if not self.is_at_least(min_match_percent):
            lines.append(f"less than the required {min_match_percent:g} %")
        return "\n".join(lines)


def shown_percent(percent: float) -> str:
    """Write a percentage, never as more than it is: 99.99999 is not 100."""
    scale = 10**PERCENT_DIGITS
    return f"{int(percent * scale) / scale:.{PERCENT_DIGITS}f} %"


def _side(side: Side) -> str:
    repeated = f", {side.repeated_keys:,} keys more than once" if side.repeated_keys else ""
    return f"{side.name}: {side.rows:,} rows{repeated}"


def _example(example: Example) -> list[str]:
    lines = [f"  {example.kind.value} {_said(example.key)}"]
    lines += [
        f"    {name:<5} {_said(row)}"
        for name, row in (("left", example.left), ("right", example.right))
        if row is not None
    ]
    return lines


def _said(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in values.items()) or "no more"
