"""What is fuzzed: code that takes any bytes and keeps its promise whatever they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace.records.rows import MOST_REASON

if TYPE_CHECKING:
    from collections.abc import Callable

CORPUS: Final = Path(__file__).parent / "corpus"


@dataclass(frozen=True, slots=True)
class Target:
    """Code under test: `run` raises only where a promise is broken.

    `seeds` are inputs that reach far into the code: the search begins at them.
    """

    name: str
    run: Callable[[bytes], None]
    seeds: tuple[bytes, ...]

    @property
    def corpus(self) -> Path:
        """The folder of the inputs that were found to matter, one a file."""
        return CORPUS / self.name

    def inputs(self) -> list[bytes]:
        """Return the seeds and the corpus."""
        kept = sorted(self.corpus.iterdir()) if self.corpus.is_dir() else []
        return [*self.seeds, *(one.read_bytes() for one in kept)]


def check_reason(reason: str) -> None:
    """Check that a reason can be shown: it goes into a header, in UTF-8, beside the record."""
    assert 0 < len(reason) <= MOST_REASON
    assert reason.encode()
