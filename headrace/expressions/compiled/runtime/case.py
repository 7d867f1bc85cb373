"""Upper and lower case by Unicode 16, which Spark 4.1 has, under every Python that we run on.

Python 3.11 knows Unicode 14. What came after it are two dozen pairs of letters, and signs that
count, or do not count, as the end of a word where a capital sigma asks for it.
"""

from __future__ import annotations

from typing import Final

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
_LETTERS: Final = (
    (0x1C89, 0x1C8A),
    (0xA7CB, 0xA7CD),
    (0xA7DA, 0xA7DC),
    (0x10D50, 0x10D65),
    (0x10D70, 0x10D85),
    (0x1DF25, 0x1DF2A),
)
_PASSED_OVER: Final = (
    (0x897, 0x897),
    (0xECE, 0xECE),
    (0x10D4E, 0x10D4E),
    (0x10D69, 0x10D6D),
    (0x10D6F, 0x10D6F),
    (0x10EFC, 0x10EFF),
    (0x11241, 0x11241),
    (0x113BB, 0x113C0),
    (0x113CE, 0x113CE),
    (0x113D0, 0x113D0),
    (0x113D2, 0x113D2),
    (0x113E1, 0x113E2),
    (0x11F00, 0x11F01),
    (0x11F36, 0x11F3A),
    (0x11F40, 0x11F40),
    (0x11F42, 0x11F42),
    (0x11F5A, 0x11F5A),
    (0x13439, 0x13440),
    (0x13447, 0x13455),
    (0x1611E, 0x16129),
    (0x1612D, 0x1612F),
    (0x16D40, 0x16D42),
    (0x16D6B, 0x16D6C),
    (0x1E030, 0x1E06D),
    (0x1E08F, 0x1E08F),
    (0x1E4EB, 0x1E4EF),
    (0x1E5EE, 0x1E5EF),
)
# Old signs that a sigma sees in the same way.
_STAND_INS: Final = {
    **{code: "a" for first, last in _LETTERS for code in range(first, last + 1)},
    **{code: "\u0301" for first, last in _PASSED_OVER for code in range(first, last + 1)},
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
    sigmas = iter([sign for sign in text.translate(_STAND_INS).lower() if sign in "σς"])
    return "".join(next(sigmas) if sign in "σς" else sign for sign in lowered)
