"""Which metrics and labels an expression of PromQL asks for, and which of them do not exist."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from headrace.metrics.definitions import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable

# What Prometheus itself adds to each series, and makes of its own.
TARGET_LABELS: Final = {"job", "instance"}
OF_PROMETHEUS: Final = {
    "up": {"job", "instance"},
    "ALERTS": {"alertname", "alertstate", "severity"},
}
SUFFIXES: Final = ("_bucket", "_sum", "_count")

_TEXT: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_SELECTOR: Final = re.compile(r"\b(headrace_\w+|up|ALERTS)\b(?:\{([^}]*)\})?")
_GROUPED: Final = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_MATCHED: Final = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_NAME: Final = re.compile(r"\w+")


def labels_by_series() -> dict[str, set[str]]:
    """Return the labels of each series there is."""
    found: dict[str, set[str]] = dict(OF_PROMETHEUS)
    for one in METRICS:
        labels = {*one.labels, *TARGET_LABELS}
        if one.kind == "histogram":
            found |= {one.name + suffix: labels for suffix in SUFFIXES}
            found[one.name + "_bucket"] = labels | {"le"}
        else:
            found[one.name] = labels
    everywhere = set().union(*found.values())
    # An alert has the labels of what it is about.
    found["ALERTS"] = found["ALERTS"] | everywhere
    return found


def unknown_in(expr: str, shown: Iterable[str] = ()) -> list[str]:
    """Return the metrics and labels that do not exist; `shown` are labels that its text names."""
    known, plain = labels_by_series(), _TEXT.sub('""', expr)
    problems, of_all = [], set(TARGET_LABELS)
    selectors = _SELECTOR.findall(plain)
    if not selectors:
        problems.append(f"no metric in: {expr}")
    for name, matchers in selectors:
        if name not in known:
            problems.append(f"there is no metric {name}")
            continue
        of_all |= known[name]
        asked = set(_MATCHED.findall(matchers))
        problems += [f"{name} has no label {one}" for one in sorted(asked - known[name])]
    grouped = {one for part in _GROUPED.findall(plain) for one in _NAME.findall(part)}
    missing = (grouped | set(shown)) - of_all
    return problems + [f"no metric has the label {one} in: {expr}" for one in sorted(missing)]
