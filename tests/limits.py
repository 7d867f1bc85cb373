"""How long tests wait before they give up; none of them says how long something may take."""

from __future__ import annotations

from typing import Final

# For what a broker, Spark or another process does.
LIMIT_S: Final = 180.0
# For whole runs beside kills and damage.
LONG_LIMIT_S: Final = 600.0
