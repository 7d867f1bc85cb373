"""Memory over time, part upon part, with what happened meanwhile, as an SVG picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.svg import head, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH, HEIGHT = 860, 360
LEFT, RIGHT, TOP, BOTTOM = 60, 130, 34, 46
# From below.
PARTS = {"driver": "#2b6cb0", "JVM": "#c05621", "workers": "#2f855a"}
MARKED = {"killed headrace up": "#c53030", "killed a worker": "#d69e2e"}
STEP_MB = 250


@dataclass(frozen=True, slots=True)
class Sample:
    """The memory of each part at a time, or what happened then."""

    at_s: float
    parts_mb: Mapping[str, float]
    happened: str


def as_svg(title: str, samples: Sequence[Sample]) -> str:
    """Draw the parts, and a mark for each kill."""
    seen = [one for one in samples if one.parts_mb]
    end_s = max((one.at_s for one in samples), default=1.0)
    top_mb = max((sum(one.parts_mb.values()) for one in seen), default=1.0)
    top_mb = STEP_MB * (int(top_mb / STEP_MB) + 1)
    drawn = [text(LEFT + 20, 20, title)]
    for mb in range(0, top_mb + 1, STEP_MB):
        y = _y(mb, top_mb)
        drawn.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#edf2f7"/>')
        drawn.append(text(LEFT - 6, y + 4, f"{mb:,}", anchor="end"))
    drawn.append(text(4, 20, "MB (PSS)"))
    below = [0.0] * len(seen)
    for number, (part, colour) in enumerate(PARTS.items()):
        above = [at + one.parts_mb.get(part, 0.0) for at, one in zip(below, seen, strict=True)]
        there = [_point(one, mb, end_s, top_mb) for one, mb in zip(seen, above, strict=True)]
        back = [_point(one, mb, end_s, top_mb) for one, mb in zip(seen, below, strict=True)]
        points = " ".join([*there, *reversed(back)])
        drawn.append(f'<polygon points="{points}" fill="{colour}" fill-opacity="0.75"/>')
        drawn.append(text(WIDTH - RIGHT + 8, HEIGHT - BOTTOM - 16 * number, part, colour))
        below = above
    for one in samples:
        if one.happened in MARKED:
            x = _x(one.at_s, end_s)
            colour = MARKED[one.happened]
            drawn.append(f'<path d="M{x:.1f} {TOP}v6" stroke="{colour}" stroke-width="2"/>')
    for number, (what, colour) in enumerate(MARKED.items()):
        drawn.append(text(WIDTH - RIGHT + 8, TOP + 8 + 16 * number, what, colour))
    for share in range(5):
        at_s = end_s * share / 4
        drawn.append(text(_x(at_s, end_s), HEIGHT - 24, f"{at_s / 60:.0f} min", anchor="middle"))
    return "\n".join([head(WIDTH, HEIGHT), *drawn, "</svg>", ""])


def _point(sample: Sample, mb: float, end_s: float, top_mb: float) -> str:
    return f"{_x(sample.at_s, end_s):.1f},{_y(mb, top_mb):.1f}"


def _x(at_s: float, end_s: float) -> float:
    return LEFT + at_s / end_s * (WIDTH - LEFT - RIGHT)


def _y(mb: float, top_mb: float) -> float:
    return HEIGHT - BOTTOM - mb / top_mb * (HEIGHT - TOP - BOTTOM)
