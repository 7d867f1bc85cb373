"""Reports as columns for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows under their header, each column as wide as its widest cell."""
    whole = [header, *rows]
    widths = [max(len(row[number]) for row in whole) for number in range(len(header))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in whole
    )
    return "\n".join(line.rstrip() for line in lines)
