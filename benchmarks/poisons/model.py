"""What a poison is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Poison:
    """An input of about `size` bytes, and what takes it: a value or a refusal, and no more work.

    `run` does all that is done with one record, and catches the refusal.
    """

    name: str
    make: Callable[[int], bytes]
    run: Callable[[bytes], object]
