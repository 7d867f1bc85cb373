"""What `${…}` stands for in a file that is about many topics: one topic, and parts of its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TOPIC: Final = "topic"
# After a placeholder, this asks for a text that a name may have everywhere.
AS_NAME: Final = "_"
_REFERENCE: Final = re.compile(r"\$\$\{|\$\{([^}:]*)[^}]*\}")
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Placeholders:
    """One topic's values. A group that took no part in the match has None.

    A `sample` is an example of a topic that the pattern matches: there need not be such a topic.
    `is_unknown`: the pattern is broken, so that nobody knows which placeholders there are.
    """

    topic: str
    values: Mapping[str, str | None]
    cluster: str = ""
    is_sample: bool = False
    is_unknown: bool = False

    @property
    def names(self) -> list[str]:
        """The names that a user may write, without those with `_` behind them."""
        return [name for name in self.values if name.removesuffix(AS_NAME) == name]

    def has(self, name: str) -> bool:
        """Whether that is a placeholder."""
        return self.is_unknown or name in self.values

    def used_in(self, text: str) -> list[str]:
        """Return the placeholders in a text as it was written."""
        found = (one[1] for one in _REFERENCE.finditer(text) if one[1] is not None)
        return [name for name in found if self.has(name)]


def placeholders_of(
    topic: str, groups: Iterable[tuple[str, str | None]], cluster: str, *, is_sample: bool = False
) -> Placeholders:
    """Return what a topic's name and the groups of the pattern stand for."""
    values: dict[str, str | None] = {}
    written = {TOPIC: topic, **dict(groups)}
    for name, value in written.items():
        values[f"{name}{AS_NAME}"] = None if value is None else as_name(value)
    # What a user has named wins over what is made of another name.
    return Placeholders(topic, values | written, cluster, is_sample)


def as_name(text: str) -> str:
    """Return a text with letters, digits and `_` alone: `TV.play-back` is `tv_play_back`."""
    return _NOT_IN_NAMES.sub("_", text.casefold()).strip("_")
