"""What Spark's planning process asks a line: the names of it, for those who import no Spark."""

from __future__ import annotations

from typing import Final

LATEST: Final = "latest"
WORKS: Final = "works"
# The module that Spark's processes import of us.
SOURCE_MODULE: Final = "headrace.line.source"
