"""The answer to a schema that cannot be carried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterable


class SchemaRefused(Terminal):
    """A schema with something in it that a system of ours cannot hold, or Avro cannot say.

    `problems` has all of them, each as `path: reason`; `where` says whose schema it is.
    """

    def __init__(self, where: str, problems: Iterable[str]) -> None:
        self.where = where
        self.problems = tuple(problems)
        lines = "\n  ".join(self.problems)
        super().__init__(
            f"{where}: {lines}"
            if len(self.problems) == 1
            else f"{where}: {len(self.problems)} problems\n  {lines}"
        )


def refuse_if(where: str, problems: Iterable[str]) -> None:
    """Raise SchemaRefused with all the problems, if there are any."""
    found = tuple(dict.fromkeys(problems))
    if found:
        raise SchemaRefused(where, found)
