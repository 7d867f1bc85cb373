"""The settings of Spark that give an expression another meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_USUAL: Final[Mapping[str, frozenset[str]]] = {
    "spark.sql.ansi.enabled": frozenset(["true"]),
    "spark.sql.caseSensitive": frozenset(["false"]),
    "spark.sql.decimalOperations.allowPrecisionLoss": frozenset(["true"]),
    "spark.sql.icu.caseMappings.enabled": frozenset(["true"]),
    "spark.sql.mapKeyDedupPolicy": frozenset(["exception"]),
    "spark.sql.session.timeZone": frozenset(["utc", "etc/utc", "z"]),
    "spark.sql.timestampType": frozenset(["timestamp_ltz"]),
    # What comes with these may read an expression in any way at all.
    "spark.sql.extensions": frozenset(),
    "spark.sql.preserveCharVarcharTypeInfo": frozenset(["false"]),
    "spark.sql.charAsVarchar": frozenset(["false"]),
}
_FAMILIES: Final = (
    "spark.sql.ansi.",
    "spark.sql.collation",
    "spark.sql.legacy.",
    "spark.sql.parser.",
)


# Each has a value in every session, whoever gave it.
ALWAYS_SET: Final = tuple(name for name, usual in _USUAL.items() if usual)


def other_meaning(conf: Mapping[str, str]) -> str | None:
    """Return the setting under which Spark alone knows what an expression means, None for none."""
    for name, value in sorted(conf.items()):
        usual = _USUAL.get(name)
        if usual is None and not name.startswith(_FAMILIES):
            continue
        if usual is None or value.strip().lower() not in usual:
            return name
    return None
