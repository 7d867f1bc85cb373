"""A plan as an SVG picture: the time that each step holds, from the first to the last."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from backfill.plan import span_us
from headrace.times import format_time_us

if TYPE_CHECKING:
    from backfill.plan import Plan

WIDTH = 960
LEFT = 70
ROW = 12
TOP = 48
# Of the text, about: enough to set names side by side.
LETTER, NAME_GAP = 7, 30
# More steps than that are drawn several to a line: a picture is to be looked at.
MOST_LINES = 200
COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280", "#4a5568")


def as_svg(plan: Plan) -> str:
    """Draw each step as a line of bars, a colour for each table."""
    if not plan.steps:
        return _document(TOP + ROW, [_text(LEFT, 20, f"{plan.period}: no rows")])
    start = min(step.frontier_us for step in plan.steps)
    end = max(step.frontier_us + span_us(step) for step in plan.steps) + 1
    scale = (WIDTH - LEFT - 10) / (end - start)
    names = [source.name for source in plan.sources]
    per_line = -(-len(plan.steps) // MOST_LINES)
    drawn = [
        _text(LEFT, 14, f"{_head(plan)}, {per_line} to a line" if per_line > 1 else _head(plan)),
        _text(LEFT, 42, format_time_us(start)),
        _text(WIDTH - 10, 42, format_time_us(end - 1), anchor="end"),
    ]
    x = LEFT
    for number, name in enumerate(names):
        drawn.append(_text(x, 28, f"■ {name}", COLOURS[number % len(COLOURS)]))
        x += NAME_GAP + LETTER * len(name)
    lines = range(0, len(plan.steps), per_line)
    for line, first in enumerate(lines):
        y = TOP + line * ROW
        drawn.append(_text(LEFT - 8, y + 9, str(first), anchor="end"))
        for number, name in enumerate(names):
            units = [
                unit
                for step in plan.steps[first : first + per_line]
                for unit in step.units
                if unit.source == name
            ]
            if units:
                low = min(unit.min_ts_us for unit in units) - start
                high = max(unit.max_ts_us for unit in units) - start
                rows = sum(unit.rows for unit in units)
                height = (ROW - 2) / len(names)
                drawn.append(
                    f'<rect x="{LEFT + low * scale:.1f}" y="{y + number * height:.1f}"'
                    f' width="{max(1.0, (high - low) * scale):.1f}" height="{height:.1f}"'
                    f' fill="{COLOURS[number % len(COLOURS)]}">'
                    f"<title>{escape(name)}: {rows:,} rows, {len(units):,} units</title></rect>"
                )
    return _document(TOP + len(lines) * ROW + 10, drawn)


def _head(plan: Plan) -> str:
    steps = "step" if len(plan.steps) == 1 else "steps"
    return f"{len(plan.steps):,} {steps}, {plan.rows:,} rows, order {plan.order}: the time that each holds"


def _text(x: float, y: float, text: str, colour: str = "#1a202c", anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}">{escape(text)}</text>'


def _document(height: int, drawn: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        f' width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="11">'
    )
    background = f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, background, *drawn, "</svg>", ""])
