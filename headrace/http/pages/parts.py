"""A page in parts, and what of it has changed since somebody saw it."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Pages that were sent, and whose events have not begun.
MOST_SENT: Final = 64


@dataclass(frozen=True, slots=True)
class Part:
    """An element of a page with an id; with `rows`, elements of their own, by their ids."""

    id: str
    before: str
    rows: Mapping[str, str] = field(default_factory=dict)
    after: str = ""

    @property
    def html(self) -> str:
        """The whole element."""
        return "".join((self.before, *self.rows.values(), self.after))


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its parts from the top, and the same for programs; `still` never changes by itself."""

    title: str
    parts: Sequence[Part]
    data: Any
    current: str = ""
    still: str = ""


def changes(seen: Mapping[str, Part], parts: Sequence[Part]) -> Iterator[str]:
    """Give the elements that differ from those that were seen: a part, or some rows of one.

    Each text is to be parsed by itself: beside other elements, a parser drops rows of a table.
    """
    for part in parts:
        last = seen.get(part.id)
        if (
            last is None
            or (last.before, last.after) != (part.before, part.after)
            or list(last.rows) != list(part.rows)
        ):
            yield swapped(part.html)
            continue
        # A row is rendered once as long as it stays as it is: most are the same object.
        rows = [
            swapped(row)
            for key, row in part.rows.items()
            if row is not last.rows[key] and row != last.rows[key]
        ]
        if rows:
            yield "".join(rows)


def empty(name: str) -> str:
    """Return a part of which nothing is known yet: only what is on a page can be swapped later."""
    return f'<section id="{name}"></section>'


def swapped(html: str) -> str:
    """Return an element that takes the place of the one with its id."""
    return html.replace(" id=", ' hx-swap-oob="true" id=', 1)


class SentPages:
    """What pages showed when they were sent, until their events begin."""

    def __init__(self) -> None:
        self._sent: OrderedDict[str, Sequence[Part]] = OrderedDict()

    def add(self, parts: Sequence[Part]) -> str:
        """Keep it, and return under which name."""
        token = token_urlsafe(9)
        self._sent[token] = parts
        if len(self._sent) > MOST_SENT:
            self._sent.popitem(last=False)
        return token

    def take(self, token: str) -> dict[str, Part]:
        """Return it; nothing where nobody knows any more, and all has to be sent again."""
        return {part.id: part for part in self._sent.pop(token, ())}
