"""An expression cut into tokens the way Spark's own grammar cuts it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["space", "comment", "text", "quoted", "word", "sign"]

_TOKEN = re.compile(
    r"""
      (?P<space>[ \t\r\n]+)
    | (?P<comment>--|/\*|\*/)
    | (?P<text>[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    | (?P<quoted>`(?:[^`]|``)*`)
    | (?P<word>[A-Za-z0-9_]+)
    | (?P<sign>->|::|.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token without the white space around it; `end` is exclusive."""

    kind: Kind
    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset after the last character."""
        return self.start + len(self.text)

    @property
    def name(self) -> str:
        """The name that the token is as an identifier, in lower case and without quotes."""
        if self.kind == "quoted":
            return self.text[1:-1].replace("``", "`").casefold()
        return self.text.casefold()

    @property
    def is_name(self) -> bool:
        """Whether the token can be an identifier."""
        return self.kind in {"word", "quoted"}


def tokens_of(text: str) -> list[Token]:
    """Return all tokens; a character that fits nowhere is a sign of its own."""
    return [
        Token(found.lastgroup, found[0], found.start())  # type: ignore[arg-type]  # the groups are the kinds
        for found in _TOKEN.finditer(text)
        if found.lastgroup != "space"
    ]
