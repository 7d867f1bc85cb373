"""Why a call into Spark failed: its JVM has ended, or an error of ours that became a traceback."""

from __future__ import annotations

import importlib
import re
from typing import Final

from py4j.protocol import (  # type: ignore[import-untyped]  # it ships no types
    Py4JError,
    Py4JNetworkError,
)

from headrace.errors import HeadraceError, Terminal, Transient

_IN_TRACEBACK: Final = re.compile(
    r"^(?P<module>(?:headrace|backfill|stream_app)(?:\.\w+)*)\.(?P<name>\w+): (?P<message>.+)"
    r"(?:\n\s+→ (?P<advice>.+))?",
    re.MULTILINE,
)


def has_ended(problem: BaseException | None) -> bool:
    """Whether a call failed because nobody answers it any more.

    A call whose answer was cut off raises py4j's plain error; one that Java refused has its trace.
    """
    if isinstance(problem, ConnectionError | Py4JNetworkError):
        return True
    return type(problem) is Py4JError and "Trace:" not in str(problem)


def error_in(text: str) -> HeadraceError | None:
    """Return the error of ours that a traceback ends with, None where there is none."""
    found = list(_IN_TRACEBACK.finditer(text))
    for one in reversed(found):
        kind = getattr(importlib.import_module(one["module"]), one["name"], None)
        if isinstance(kind, type) and issubclass(kind, HeadraceError):
            base = Transient if issubclass(kind, Transient) else Terminal
            return base(one["message"].strip(), (one["advice"] or "").strip())
    return None
