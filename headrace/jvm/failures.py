"""An error of ours that went through Spark: found again in the traceback that it became."""

from __future__ import annotations

import importlib
import re
from typing import Final

from headrace.errors import HeadraceError, Terminal, Transient

_TOLD: Final = re.compile(
    r"^(?P<module>(?:headrace|backfill|stream_app)(?:\.\w+)*)\.(?P<name>\w+): (?P<message>.+)"
    r"(?:\n\s+→ (?P<advice>.+))?",
    re.MULTILINE,
)


def told_in(text: str) -> HeadraceError | None:
    """Return the error of ours that a traceback ends with, None where there is none."""
    found = list(_TOLD.finditer(text))
    for one in reversed(found):
        kind = getattr(importlib.import_module(one["module"]), one["name"], None)
        if isinstance(kind, type) and issubclass(kind, HeadraceError):
            base = Transient if issubclass(kind, Transient) else Terminal
            return base(one["message"].strip(), (one["advice"] or "").strip())
    return None
