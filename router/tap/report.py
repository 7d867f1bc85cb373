"""How a record is shown that passes: for a person, or as a line of JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headrace.times import format_time_us
from router.explain.report import plain, plain_value, record_fields, record_lines, short

if TYPE_CHECKING:
    from router.explain.explanation import Explanation
    from router.explain.outcomes import Evaluated

HIDDEN = "***"


def as_text(explanation: Explanation, one: Evaluated) -> str:
    """Return a record and what becomes of it."""
    record, is_masked = one.record, bool(explanation.plan.hygiene.masks)
    head = f"{record.position}  {format_time_us(record.timestamp_ms * 1000)}"
    if record.key() is not None:
        head += f"  key {HIDDEN if is_masked else short(record.key())}"
    width = max(len(name) for name in (*explanation.outlets, "read"))
    lines = record_lines(explanation, one, width)
    if one.broken is not None:
        value = f"{HIDDEN} (the stream masks fields)" if is_masked else short(record.value())
        lines = [f"{'value':<{width}}  {value}", *lines]
    return "\n".join([head, *(f"  {line}" for line in lines)])


def as_json(explanation: Explanation, one: Evaluated) -> str:
    """Return the same as a line; of a stream with masks, no key, and no value that was not read."""
    record, is_masked = one.record, bool(explanation.plan.hygiene.masks)
    facts: dict[str, object] = {
        "topic": record.topic(),
        "partition": record.partition(),
        "offset": record.offset(),
        "timestamp": format_time_us(record.timestamp_ms * 1000),
        "key": HIDDEN if is_masked and record.key() is not None else plain(record.key()),
        "headers": [[name, plain(value)] for name, value in record.given_headers],
    }
    if one.broken is not None:
        facts["value"] = HIDDEN if is_masked else plain_value(record.value())
    return json.dumps({**facts, **record_fields(explanation, one)}, ensure_ascii=False)
