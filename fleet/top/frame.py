"""A frame of the overview: lines that fit a terminal, or columns for a file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.cells import set_cell_size
from rich.text import Text

from fleet.text import columns
from fleet.top.rows import STATES, in_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fleet.top.rows import Key, TopRow

HEADER: Final = ("KIND", "NAME", "STATE", "RATE", "LAG", "COMPLETE UP TO", "PROBLEM")
# Each has a shape beside its colour.
MARKS: Final = {
    "failed": ("x", "bold red"),
    "starting": (">", "yellow"),
    "stopped": ("-", "yellow"),
    "new": (".", "dim"),
    "running": ("o", "green"),
    "complete": ("=", "green"),
}
WIDTHS: Final = {"KIND": 6, "STATE": 10, "RATE": 9, "LAG": 9, "COMPLETE UP TO": 20}
RIGHT: Final = ("RATE", "LAG")
LEAST_NAME: Final = 16
GAP: Final = "  "


@dataclass(frozen=True, slots=True)
class Head:
    """What stands above the lines: the workspace, the time and the source of the figures, and why there are no newer ones."""

    workspace: str
    source: str
    at: str
    problem: str | None = None


def as_text(rows: Sequence[TopRow], rates: Mapping[Key, float]) -> str:
    """Return all rows as columns."""
    cells = [(one, _cells(one, rates)) for one in in_order(rows)]
    return columns(HEADER, [(*found[:2], one.state, *found[3:]) for one, found in cells])


def frame(
    head: Head, rows: Sequence[TopRow], rates: Mapping[Key, float], width: int, height: int
) -> list[Text]:
    """Return the lines of a frame: no more than `height`, none wider than `width`."""
    lines = [
        _line(f"headrace top  {head.workspace}  {head.at}  {head.source}", width, "bold"),
        _states(rows, width),
    ]
    if head.problem is not None:
        lines.append(_line(f"no newer figures: {head.problem}", width, "bold red"))
    lines.append(_row(HEADER[:-1], width, "bold"))
    shown, room = 0, height - len(lines) - 1
    ordered = in_order(rows)
    for one in ordered:
        of_row = [_row(_cells(one, rates)[:-1], width, MARKS.get(one.state, ("", ""))[1])]
        if one.problem is not None:
            of_row.append(_line(f"{GAP}→ {one.problem}", width, "red"))
        if len(of_row) > room:
            break
        lines += of_row
        room -= len(of_row)
        shown += 1
    lines.append(_line(_rest(ordered[shown:]), width, "dim"))
    return lines[:height]


def _states(rows: Sequence[TopRow], width: int) -> Text:
    counts = Counter(one.state for one in rows)
    parts = [f"{MARKS[one][0]} {counts[one]:,} {one}" for one in STATES if counts[one]]
    return _line(GAP.join(parts) or "nothing to show yet", width, "")


def _rest(rows: Sequence[TopRow]) -> str:
    if not rows:
        return "q ends"
    wrong = sum(one.is_wrong for one in rows)
    problems = f", {wrong:,} with a problem" if wrong else ", none with a problem"
    return f"{len(rows):,} more{problems}; q ends"


def _cells(row: TopRow, rates: Mapping[Key, float]) -> tuple[str, ...]:
    complete = "-" if row.complete_up_to is None else f"{row.complete_up_to[:19]}Z"
    return (
        "table" if row.kind == "lake_table" else row.kind,
        row.name if row.part is None else f"{row.name}/{row.part}",
        f"{MARKS.get(row.state, ('?', ''))[0]} {row.state}",
        _rate(rates.get(row.key)),
        "-" if row.lag is None else _number(row.lag),
        complete,
        row.problem or "",
    )


def _rate(rate: float | None) -> str:
    if rate is None:
        return "-"
    return f"{_number(round(rate))}/s" if rate >= 10 or rate == 0 else f"{rate:.1f}/s"


def _number(number: int) -> str:
    """Return a number in seven characters at most, as far as anybody has so many records."""
    if number < 1_000_000:
        return f"{number:,}"
    for unit, size in (("M", 1e6), ("G", 1e9)):
        if number < 1000 * size:
            return f"{number / size:.1f}{unit}"
    return f"{number / 1e12:.1f}T"


def _row(cells: Sequence[str], width: int, style: str) -> Text:
    """Return a row whose name takes what the other columns leave."""
    fixed = sum(WIDTHS.values()) + len(GAP) * len(WIDTHS)
    name_width = max(LEAST_NAME, width - fixed)
    parts = []
    for title, cell in zip(HEADER, cells, strict=False):
        size = WIDTHS.get(title, name_width)
        text = _printable(cell)
        if len(text) > size:
            text = f"{text[: size - 1]}…"
        parts.append(text.rjust(size) if title in RIGHT else set_cell_size(text, size))
    return _line(GAP.join(parts), width, style)


def _line(text: str, width: int, style: str) -> Text:
    found = Text(_printable(text), style=style, no_wrap=True)
    found.truncate(width, overflow="ellipsis")
    return found


def _printable(text: str) -> str:
    """Return text that moves no cursor."""
    return "".join(char if char.isprintable() else " " for char in text)
