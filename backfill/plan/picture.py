"""A plan as an SVG picture: the time that each step holds, from the first to the last."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from backfill.plan.plan import span_us
from headrace.errors import UsageError
from headrace.problems import counted
from headrace.times import format_time_us

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from backfill.plan.plan import Plan

WIDTH = 960
LEFT, RIGHT = 70, WIDTH - 10
ROW = 12
TOP = 48
# Of the text, about: enough to set names side by side.
FONT, LETTER, NAME_GAP = 11, 7, 30
# More steps than that are drawn several to a line: a picture is to be looked at.
MOST_LINES = 200
INK, PAPER = "#1a202c", "#ffffff"
COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280", "#4a5568")


def draw(plan: Plan, path: Path) -> None:
    """Draw a plan into a file."""
    path.write_text(as_svg(plan), encoding="utf-8")


def drawable(path: Path) -> Path:
    """Return a file that a picture can be drawn into; refuse any other before it is planned."""
    if path.suffix.lower() != ".svg":
        raise UsageError(f"--picture {path} is not an SVG file", "give it a name that ends in .svg")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--picture {path}: there is no such folder", "create it first")
    return path


def as_svg(plan: Plan) -> str:
    """Draw each step as a line of bars, a colour for each table; a pointer on one tells of it."""
    if plan.steps:
        per_line = -(-len(plan.steps) // MOST_LINES)
        lines = range(0, len(plan.steps), per_line)
        height = TOP + len(lines) * ROW + 10
        shapes = [*_heading(plan, per_line), *_lines(plan, lines)]
    else:
        height, shapes = TOP + ROW, [_text(LEFT, 20, f"{plan.period}: no rows")]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        f' width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="{FONT}">'
    )
    background = f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>'
    return "\n".join([head, background, *shapes, "</svg>", ""])


def _text(x: int, y: int, text: str, colour: str = INK, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}">{escape(text)}</text>'


def _bar(box: tuple[float, float, float, float], colour: str, about: str) -> str:
    x, y, width, height = box
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        f' fill="{colour}"><title>{escape(about)}</title></rect>'
    )


def _heading(plan: Plan, per_line: int) -> Iterator[str]:
    start, end = _span(plan)
    head = (
        f"{counted(len(plan.steps), 'step')}, {plan.rows:,} rows, order {plan.order}: the time that each"
        " holds"
    )
    yield _text(LEFT, 14, f"{head}, {per_line} to a line" if per_line > 1 else head)
    yield _text(LEFT, 42, format_time_us(start))
    yield _text(RIGHT, 42, format_time_us(end - 1), anchor="end")
    x = LEFT
    for number, source in enumerate(plan.sources):
        colour = COLOURS[number % len(COLOURS)]
        yield _bar((x, 20, 8, 8), colour, source.name)
        yield _text(x + 12, 28, source.name, colour)
        x += NAME_GAP + LETTER * len(source.name)


def _lines(plan: Plan, lines: range) -> Iterator[str]:
    start, end = _span(plan)
    scale = (RIGHT - LEFT) / (end - start)
    height = (ROW - 2) / len(plan.sources)
    for line, first in enumerate(lines):
        y = TOP + line * ROW
        yield _text(LEFT - 8, y + 9, str(first), anchor="end")
        steps = plan.steps[first : first + lines.step]
        for number, source in enumerate(plan.sources):
            units = [unit for step in steps for unit in step.units if unit.source == source.name]
            if not units:
                continue
            low = min(unit.min_ts_us for unit in units) - start
            high = max(unit.max_ts_us for unit in units) - start
            rows = sum(unit.rows for unit in units)
            yield _bar(
                (LEFT + low * scale, y + number * height, max(1.0, (high - low) * scale), height),
                COLOURS[number % len(COLOURS)],
                f"{source.name}: {rows:,} rows, {len(units):,} units",
            )


def _span(plan: Plan) -> tuple[int, int]:
    start = min(step.frontier_us for step in plan.steps)
    return start, max(step.frontier_us + span_us(step) for step in plan.steps) + 1
