"""Speed-ups over the number of readers, both in powers of two, as an SVG picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from benchmarks.svg import head, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 60, 230, 30, 50
COLOURS = ("#2f855a", "#2b6cb0", "#6b46c1", "#c05621", "#b83280")
GREY = "#a0aec0"
TEXT_HEIGHT = 13


def as_svg(title: str, readers: Sequence[int], lines: Mapping[str, Sequence[float]]) -> str:
    """Draw a line for each order, and the line that nobody can cross."""
    most = math.log2(max(readers))
    drawn = [text(LEFT, 18, title)]
    for count in _marks(max(readers)):
        x, y = _x(count, most), _y(count, most)
        drawn += [
            f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#edf2f7"/>',
            f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#edf2f7"/>',
            text(x, HEIGHT - BOTTOM + 16, f"{count:,}", anchor="middle"),
            text(LEFT - 6, y + 4, f"{count:,}x", anchor="end"),
        ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    drawn.append(text(middle, HEIGHT - 12, "readers", anchor="middle"))
    drawn.append(_line(readers, [float(count) for count in readers], most, GREY, "4 4"))
    ends = [("as many times as readers", float(max(readers)), GREY)]
    for number, (name, values) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        drawn.append(_line(readers, values, most, colour))
        ends.append((f"{name}: {values[-1]:,.0f}x", values[-1], colour))
    taken: list[float] = []
    for words, value, colour in ends:
        taken.append(_free_place(_y(value, most) + 4, taken))
        drawn.append(text(WIDTH - RIGHT + 6, taken[-1], words, colour))
    return "\n".join([head(WIDTH, HEIGHT), *drawn, "</svg>", ""])


def _marks(most: int) -> list[int]:
    return [2**power for power in range(0, math.ceil(math.log2(most)) + 1, 2) if 2**power <= most]


def _line(
    readers: Sequence[int], values: Sequence[float], most: float, colour: str, dashes: str = "none"
) -> str:
    points = " ".join(
        f"{_x(count, most):.1f},{_y(value, most):.1f}"
        for count, value in zip(readers, values, strict=True)
    )
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"'
        f' stroke-dasharray="{dashes}"/>'
    )


def _free_place(y: float, taken: Sequence[float]) -> float:
    """Return where a text can stand that shall stand beside the end of a line, or below."""
    while any(abs(y - other) < TEXT_HEIGHT for other in taken):
        y += 1
    return y


def _x(count: float, most: float) -> float:
    return LEFT + math.log2(count) / most * (WIDTH - LEFT - RIGHT)


def _y(value: float, most: float) -> float:
    return HEIGHT - BOTTOM - math.log2(max(1.0, value)) / most * (HEIGHT - TOP - BOTTOM)
