"""How a record is shown that passes: for a person, or as a line of JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from headrace.times import format_time_us
from router.explain.report import (
    on_terminal,
    plain,
    plain_value,
    record_fields,
    record_lines,
    short,
    target_text,
)
from router.tap.following import BEGINNING, END

if TYPE_CHECKING:
    from headrace.kafka.message import GivenMessage
    from router.explain.explanation import Explanation
    from router.explain.outcomes import Evaluated

HIDDEN: Final = "***"
FROM: Final = {BEGINNING: "from its beginning", END: "from its end on"}


def head(explanation: Explanation, begin: str) -> str:
    """Return what is read, and where each output goes."""
    source = explanation.plan.source
    where = FROM.get(begin, f"from {begin} on")
    lines = [f"reading topic {source.topic} of cluster {source.cluster} {where}"]
    lines += [
        f"  {one.outlet.name}  to {target_text(one.outlet.target)}, {one}"
        for one in explanation.evaluations
    ]
    return "\n".join(lines)


def as_text(explanation: Explanation, one: Evaluated) -> str:
    """Return a record and what becomes of it."""
    record, is_masked = one.record, bool(explanation.plan.hygiene.masks)
    first = f"{record.position}  {_time(record) or 'without a timestamp'}"
    if record.key() is not None:
        first += f"  key {HIDDEN if is_masked else short(record.key())}"
    width = max(len(name) for name in (*explanation.outlets, "read"))
    lines = record_lines(explanation, one, width)
    if one.broken is not None:
        value = f"{HIDDEN} (the stream masks fields)" if is_masked else short(record.value())
        lines = [f"{'value':<{width}}  {value}", *lines]
    return on_terminal([first, *(f"  {line}" for line in lines)])


def as_json(explanation: Explanation, one: Evaluated) -> str:
    """Return the same as a line; of a stream with masks, no key, and no value that was not read."""
    record, is_masked = one.record, bool(explanation.plan.hygiene.masks)
    facts: dict[str, object] = {
        "topic": record.topic(),
        "partition": record.partition(),
        "offset": record.offset(),
        "timestamp": _time(record),
        "key": HIDDEN if is_masked and record.key() is not None else plain(record.key()),
        "headers": [[name, plain(value)] for name, value in record.given_headers],
    }
    if one.broken is not None:
        facts["value"] = HIDDEN if is_masked else plain_value(record.value())
    facts |= record_fields(explanation, one)
    if one.broken is None:
        facts["to"] = {
            name: target_text(outlet.target) for name, outlet in explanation.outlets.items()
        }
    return json.dumps(facts, ensure_ascii=False)


def _time(record: GivenMessage) -> str | None:
    """Return a record's timestamp; Kafka has -1 for none."""
    return None if record.timestamp_ms < 0 else format_time_us(record.timestamp_ms * 1000)
