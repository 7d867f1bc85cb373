"""Upper and lower case by Unicode 16, which Spark 4.1 has, under every Python that we run on.

Python 3.11 knows Unicode 14. What came after it are two dozen pairs of letters, and characters that
count, or do not count, as the end of a word where a capital sigma asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_PAIRS: Final = (
    (0x1C89, 0x1C8A),
    (0xA7CB, 0x0264),
    (0xA7CC, 0xA7CD),
    (0xA7DA, 0xA7DB),
    (0xA7DC, 0x019B),
    *((upper, upper + 0x20) for upper in range(0x10D50, 0x10D66)),
)
_UPPER: Final = {lower: chr(upper) for upper, lower in _PAIRS}
_LOWER: Final = {upper: chr(lower) for upper, lower in _PAIRS}
_LETTERS: Final = """
1C89-1C8A A7CB-A7CD A7DA-A7DC 10D50-10D65 10D70-10D85 1DF25-1DF2A
"""
_PASSED_OVER: Final = """
897 ECE 10D4E 10D69-10D6D 10D6F 10EFC-10EFF 11241 113BB-113C0 113CE 113D0 113D2 113E1-113E2
11F00-11F01 11F36-11F3A 11F40 11F42 11F5A 13439-13440 13447-13455 1611E-16129 1612D-1612F
16D40-16D42 16D6B-16D6C 1E030-1E06D 1E08F 1E4EB-1E4EF 1E5EE-1E5EF
"""


def _codes(ranges: str) -> Iterator[int]:
    for one in ranges.split():
        first, _, last = one.partition("-")
        yield from range(int(first, 16), int(last or first, 16) + 1)


# Old characters that a sigma sees in the same way.
_STAND_INS: Final = {
    **dict.fromkeys(_codes(_LETTERS), "a"),
    **dict.fromkeys(_codes(_PASSED_OVER), "\u0301"),
    0x1171E: " ",
}
_NEW: Final = frozenset(map(chr, _STAND_INS))


def upper(text: str) -> str:
    """Return a text in upper case."""
    return text.upper() if text.isascii() else text.upper().translate(_UPPER)


def lower(text: str) -> str:
    """Return a text in lower case."""
    if text.isascii():
        return text.lower()
    lowered = text.lower().translate(_LOWER)
    if "Σ" not in text or _NEW.isdisjoint(text):
        return lowered
    sigmas = iter(
        [character for character in text.translate(_STAND_INS).lower() if character in "σς"]
    )
    return "".join(next(sigmas) if character in "σς" else character for character in lowered)
