"""Draw the layers that the import contracts in pyproject.toml hold, as docs/images/layers.svg."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
PICTURE: Final = ROOT / "docs" / "images" / "layers.svg"
WIDTH, ROW, PAD = 720, 26, 8
STYLE: Final = (
    "text{font:13px sans-serif;fill:#1c2733}"
    ".room{fill:#fff;stroke:#8aa0b4}.whole{fill:#eef3f7;stroke:#5b7488}.name{font-weight:bold}"
)


def layers_of(contracts: list[dict[str, Any]], container: str) -> list[list[str]]:
    """Return the rooms of a package, layer by layer, from the top."""
    for contract in contracts:
        if contract.get("containers") == [container]:
            return [one.replace(":", "|").replace(" ", "").split("|") for one in contract["layers"]]
    return []


def draw(pyproject: str) -> str:
    """Return the picture: each layer imports only from layers below it."""
    contracts = tomllib.loads(pyproject)["tool"]["importlinter"]["contracts"]
    third = (WIDTH - 4 * PAD) // 3
    left, middle, right = PAD, 2 * PAD + third, 3 * PAD + 2 * third
    top = PAD
    shapes = _package("fleet", [], PAD, top, WIDTH - 2 * PAD)
    top += _height([]) + PAD
    # The stages stand side by side; backfill is under stream_app alone.
    shapes += _package("stream_app", [], right, top, third)
    top += _height([]) + PAD
    shapes += _package("router", layers_of(contracts, "router"), left, top, third)
    shapes += _package("lake_writer", [], middle, top, third)
    rooms = layers_of(contracts, "backfill")
    shapes += _package("backfill", rooms, right, top, third)
    top += _height(rooms) + PAD
    rooms = layers_of(contracts, "headrace")
    shapes += _package("headrace", rooms, PAD, top, WIDTH - 2 * PAD)
    height = top + _height(rooms) + PAD
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        f' width="{WIDTH}" height="{height}"><style>{STYLE}</style>\n' + "\n".join(shapes)
    ) + "\n</svg>\n"


def _height(rooms: list[list[str]]) -> int:
    return ROW + PAD + len(rooms) * (ROW + 4)


def _package(name: str, rooms: list[list[str]], left: int, top: int, width: int) -> list[str]:
    shapes = [
        f'<rect class="whole" x="{left}" y="{top}" width="{width}" height="{_height(rooms)}"/>',
        f'<text class="name" x="{left + PAD}" y="{top + 18}">{name}/</text>',
    ]
    for number, layer in enumerate(rooms):
        each = (width - PAD * (len(layer) + 1)) // len(layer)
        y = top + ROW + number * (ROW + 4)
        for place, room in enumerate(layer):
            x = left + PAD + place * (each + PAD)
            shapes.append(
                f'<rect class="room" x="{x}" y="{y}" width="{each}" height="{ROW}" rx="3"/>'
                f'<text x="{x + each // 2}" y="{y + 17}" text-anchor="middle">{room}</text>'
            )
    return shapes


if __name__ == "__main__":
    PICTURE.write_text(draw((ROOT / "pyproject.toml").read_text(encoding="utf-8")))
