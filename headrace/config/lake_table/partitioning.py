"""Partition transforms as Iceberg's and Spark's users write them: `day(ts)`, `bucket(16, id)`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal, cast

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from headrace.config.common.scalars import refusal
from headrace.problems import nearest

TransformName = Literal["identity", "year", "month", "day", "hour", "bucket", "truncate"]

WANTED = "a partition such as day(column), bucket(16, column) or column"

_PART = r"(?:[A-Za-z_]\w*|`[^`]+`)"
COLUMN = rf"{_PART}(?:\.{_PART})*"
_PLAIN = re.compile(rf"\s*({COLUMN})\s*", re.ASCII)
_CALL = re.compile(
    rf"\s*([A-Za-z]+)\s*\(\s*(?:([0-9]{{1,9}})\s*,\s*)?({COLUMN})\s*(?:,\s*([0-9]{{1,9}})\s*)?\)\s*",
    re.ASCII,
)
_PLURALS = {"years": "year", "months": "month", "days": "day", "hours": "hour"}
_TIMED = ("year", "month", "day", "hour")
_COUNTED = ("bucket", "truncate")


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition field. `argument` is the bucket count or the width, None for the others."""

    transform: TransformName
    argument: int | None
    column: str

    def __str__(self) -> str:
        if self.transform == "identity":
            return self.column
        inside = self.column if self.argument is None else f"{self.argument}, {self.column}"
        return f"{self.transform}({inside})"


def parse_partition(text: str) -> Partition:
    """Read one transform; the refusal says what would be one."""
    plain = _PLAIN.fullmatch(text)
    if plain:
        return Partition("identity", None, _unquoted(plain[1]))
    call = _CALL.fullmatch(text)
    if call is None:
        raise refusal(WANTED)
    # Spark writes truncate(column, width), Iceberg truncate[width]: both orders are one meaning.
    written, first, column, last = call.groups()
    name = _PLURALS.get(written.casefold(), written.casefold())
    numbers = [number for number in (first, last) if number is not None]
    if name not in (*_TIMED, *_COUNTED, "identity"):
        near = nearest(name, (*_TIMED, *_COUNTED))
        advice = f'did you mean "{near}"?' if near else "there are year, month, day, hour, bucket"
        raise refusal(WANTED, f'unknown transform "{written}"', advice)
    wanted_numbers = 1 if name in _COUNTED else 0
    if len(numbers) != wanted_numbers or numbers == ["0"]:
        shape = f"{name}(16, {column})" if wanted_numbers else f"{name}({column})"
        raise refusal(WANTED, f"{name} has another form", f'write "{shape}"')
    argument = int(numbers[0]) if numbers else None
    return Partition(cast("TransformName", name), argument, _unquoted(column))


def _unquoted(column: str) -> str:
    return column.replace("`", "")


def _validate(value: object) -> Partition:
    if isinstance(value, Partition):
        return value
    if not isinstance(value, str):
        raise refusal(WANTED)
    return parse_partition(value)


PartitionField = Annotated[
    Partition,
    BeforeValidator(_validate),
    PlainSerializer(str),
    WithJsonSchema(
        {"type": "string", "examples": ["day(__metadata__.kafka_ingestion_ts)", "bucket(16, id)"]}
    ),
]
