"""The tokens of an expression, as a parser takes them from the left."""

from __future__ import annotations

from typing import Final

from headrace.expressions.compiled.syntax import Refused
from headrace.expressions.tokens import LONGEST, Token, tokens_of

END: Final = Token("symbol", "the end", -1)


class TokenStream:
    """The tokens of one text; what Spark might cut otherwise is refused."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise Refused(f"it is longer than {LONGEST} characters")
        if "${" in text:
            raise Refused("Spark fills in ${…}")
        self._tokens = tokens_of(text)
        self._at = 0
        for token in self._tokens:
            if token.kind == "comment":
                raise Refused("a comment")
            if token.kind == "word" and token.text[0].isdigit():
                raise Refused(f'the number "{text[token.start :][:20]}"')

    @property
    def next(self) -> Token:
        """The next token, or END."""
        return self._tokens[self._at] if self._at < len(self._tokens) else END

    def take(self) -> Token:
        """Return the next token and go on."""
        word = self.next
        self._at += 1
        return word

    def sees(self, *texts: str) -> bool:
        """Whether these words or symbols come next."""
        tokens = self._tokens[self._at : self._at + len(texts)]
        return [one.name for one in tokens if one.kind in {"word", "symbol"}] == list(texts)

    def accept(self, *texts: str) -> bool:
        """Go past these words or symbols where they come next."""
        if not self.sees(*texts):
            return False
        self._at += len(texts)
        return True

    def expect(self, text: str) -> None:
        """Go past this word or symbol, which has to come next."""
        if not self.accept(text):
            raise Refused(f'"{self.next.text}" where {text} is expected')
