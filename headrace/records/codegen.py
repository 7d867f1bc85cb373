"""Functions made from source, where a loop over steps would cost more than the steps.

The source is ours alone: what a user wrote reaches it as an object behind a name, never as text.
"""

from __future__ import annotations

import itertools
import linecache
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_numbers = itertools.count()


def function(
    name: str, arguments: Sequence[str], body: Sequence[str], names: Mapping[str, object]
) -> Callable[..., Any]:
    """Return the function with that body; `names` are the globals it sees."""
    lines = [f"def {name}({', '.join(arguments)}):", *(f"    {line}" for line in body)]
    source = "\n".join(lines) + "\n"
    file = f"<headrace {name} {next(_numbers)}>"
    space: dict[str, Any] = dict(names)
    exec(compile(source, file, "exec"), space)  # noqa: S102 - the source is put together by us
    # A traceback shows the line, as it would of any file.
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    # Nothing but its user holds a function, and nothing holds the lines of one that is gone.
    made: Callable[..., Any] = space.pop(name)
    weakref.finalize(made, linecache.cache.pop, file, None)
    return made


class Names:
    """The objects that source refers to; a schema's content reaches source only through them."""

    def __init__(self, given: Mapping[str, object] | None = None) -> None:
        self.objects = dict(given or {})

    def name(self, value: object) -> str:
        """Return how source calls that object."""
        name = f"o{len(self.objects)}"
        self.objects[name] = value
        return name
