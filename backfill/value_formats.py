"""How the values of a topic's records may be encoded."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

ValueFormat: TypeAlias = Literal["json", "avro", "raw"]
FORMATS: Final[tuple[ValueFormat, ...]] = get_args(ValueFormat)
