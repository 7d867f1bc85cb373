"""A row of the lake as JSON: as stored, times in ISO-8601, bytes in base64."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
import math
import uuid
import warnings
from typing import TYPE_CHECKING

from headrace.times import EPOCH, MICROSECOND, format_time_us

if TYPE_CHECKING:
    import pyarrow as pa


def as_json_line(row: dict[str, object], step: int, source: str) -> str:
    """Return a row as a line, with the step and the source that it came from."""
    whole = {name: _plain(value) for name, value in row.items()}
    whole |= {"__step__": step, "__source__": source}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def rows_of(batch: pa.RecordBatch) -> list[dict[str, object]]:
    """Return a batch's rows; maps as dictionaries, the last of a key that is there twice."""
    with warnings.catch_warnings(action="ignore"):
        rows: list[dict[str, object]] = batch.to_pylist(maps_as_pydicts="lossy")
    return rows


def _plain(value: object) -> object:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case dt.datetime():
            if value.tzinfo is None:
                return value.isoformat(timespec="microseconds")
            return format_time_us((value - EPOCH) // MICROSECOND)
        case dt.date() | dt.time():
            return value.isoformat()
        case decimal.Decimal() | uuid.UUID():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case dict():
            return {name: _plain(inner) for name, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
        case _:
            return str(value)
