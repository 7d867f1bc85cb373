"""A plan as a picture: the time that each step holds, from the first to the last, as SVG or PNG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from xml.sax.saxutils import escape

from backfill.plan import span_us
from headrace.errors import UsageError
from headrace.times import format_time_us

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from backfill.plan import Plan

WIDTH = 960
LEFT, RIGHT = 70, WIDTH - 10
ROW = 12
TOP = 48
# Of the text, about: enough to set names side by side.
FONT, LETTER, NAME_GAP = 11, 7, 30
# More steps than that are drawn several to a line: a picture is to be looked at.
MOST_LINES = 200
# A PNG is drawn so many times larger, to be sharp where it is shown large.
PNG_SCALE = 2
INK, PAPER = "#1a202c", "#ffffff"
COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280", "#4a5568")


@dataclass(frozen=True, slots=True)
class Words:
    """A line of text, by its beginning or its end, on a base line."""

    x: float
    y: float
    text: str
    colour: str = INK
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """The time that a table has in a line."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    about: str


Shape: TypeAlias = "Words | Bar"


def draw(plan: Plan, path: Path) -> None:
    """Draw a plan into a file, as what its name ends in."""
    match path.suffix.lower():
        case ".svg":
            path.write_text(as_svg(plan), encoding="utf-8")
        case ".png":
            draw_png(plan, path)


def drawable(path: Path) -> Path:
    """Return a file that a picture can be drawn into; refuse any other before it is planned."""
    if path.suffix.lower() not in {".svg", ".png"}:
        raise UsageError(f"--picture {path} is no picture", "let its name end in .svg or .png")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--picture {path}: there is no such folder", "make it first")
    return path


def as_svg(plan: Plan) -> str:
    """Draw each step as a line of bars, a colour for each table; a pointer on one tells of it."""
    height, shapes = _drawn(plan)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        f' width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="{FONT}">'
    )
    background = f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>'
    return "\n".join([head, background, *map(_svg, shapes), "</svg>", ""])


def _svg(shape: Shape) -> str:
    match shape:
        case Words(x, y, text, colour, at_end):
            anchor = "end" if at_end else "start"
            return (
                f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}">'
                f"{escape(text)}</text>"
            )
        case Bar(x, y, width, height, colour, about):
            return (
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
                f' fill="{colour}"><title>{escape(about)}</title></rect>'
            )


def draw_png(plan: Plan, path: Path) -> None:
    """Draw the same as a PNG, for what shows no SVG."""
    from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 - few plans are drawn

    height, shapes = _drawn(plan)
    image = Image.new("RGB", (WIDTH * PNG_SCALE, height * PNG_SCALE), PAPER)
    pen = ImageDraw.Draw(image)
    # Pillow's own font: a server may have none.
    font = ImageFont.load_default(FONT * PNG_SCALE)
    for shape in shapes:
        place = round(shape.x * PNG_SCALE), round(shape.y * PNG_SCALE)
        match shape:
            case Words(text=text, colour=colour, at_end=at_end):
                pen.text(place, text, colour, font, anchor="rs" if at_end else "ls")
            case Bar(width=width, height=high, colour=colour):
                right, low = (shape.x + width) * PNG_SCALE, (shape.y + high) * PNG_SCALE
                end = max(place[0], round(right) - 1), max(place[1], round(low) - 1)
                pen.rectangle((place, end), colour)
    image.save(path, "PNG", optimize=True)


def _drawn(plan: Plan) -> tuple[int, list[Shape]]:
    """Return how high the picture is, and what is on it."""
    if not plan.steps:
        return TOP + ROW, [Words(LEFT, 20, f"{plan.period}: no rows")]
    per_line = -(-len(plan.steps) // MOST_LINES)
    lines = range(0, len(plan.steps), per_line)
    return TOP + len(lines) * ROW + 10, [*_heading(plan, per_line), *_lines(plan, lines)]


def _heading(plan: Plan, per_line: int) -> Iterator[Shape]:
    start, end = _span(plan)
    steps = "step" if len(plan.steps) == 1 else "steps"
    head = (
        f"{len(plan.steps):,} {steps}, {plan.rows:,} rows, order {plan.order}: the time that each"
        " holds"
    )
    yield Words(LEFT, 14, f"{head}, {per_line} to a line" if per_line > 1 else head)
    yield Words(LEFT, 42, format_time_us(start))
    yield Words(RIGHT, 42, format_time_us(end - 1), at_end=True)
    x = LEFT
    for number, source in enumerate(plan.sources):
        colour = COLOURS[number % len(COLOURS)]
        yield Bar(x, 20, 8, 8, colour, source.name)
        yield Words(x + 12, 28, source.name, colour)
        x += NAME_GAP + LETTER * len(source.name)


def _lines(plan: Plan, lines: range) -> Iterator[Shape]:
    start, end = _span(plan)
    scale = (RIGHT - LEFT) / (end - start)
    height = (ROW - 2) / len(plan.sources)
    for line, first in enumerate(lines):
        y = TOP + line * ROW
        yield Words(LEFT - 8, y + 9, str(first), at_end=True)
        steps = plan.steps[first : first + lines.step]
        for number, source in enumerate(plan.sources):
            units = [unit for step in steps for unit in step.units if unit.source == source.name]
            if not units:
                continue
            low = min(unit.min_ts_us for unit in units) - start
            high = max(unit.max_ts_us for unit in units) - start
            rows = sum(unit.rows for unit in units)
            yield Bar(
                LEFT + low * scale,
                y + number * height,
                max(1.0, (high - low) * scale),
                height,
                COLOURS[number % len(COLOURS)],
                f"{source.name}: {rows:,} rows, {len(units):,} units",
            )


def _span(plan: Plan) -> tuple[int, int]:
    start = min(step.frontier_us for step in plan.steps)
    return start, max(step.frontier_us + span_us(step) for step in plan.steps) + 1
