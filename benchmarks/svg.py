"""The pieces that pictures are drawn of."""

from __future__ import annotations

from xml.sax.saxutils import escape


def head(width: int, height: int) -> str:
    """Return how a picture begins: its size, its font, its ground."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" font-family="sans-serif" font-size="12">\n'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    )


def text(x: float, y: float, words: str, colour: str = "#1a202c", anchor: str = "start") -> str:
    """Return words at a place; `anchor` says which part of them is there."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )
