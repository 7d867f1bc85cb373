"""What `router explain` prints."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from router.outcomes import Failed, Filtered, Passed
from router.plan import ToSearch, ToTable, ToTopic
from router.search import document_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.records.hygiene import Broken
    from router.explaining import Explained, Explanation
    from router.outcomes import Lane, Outcome
    from router.plan import RoutePlan, Target

LONGEST_TEXT = 400


def as_json(explanation: Explanation) -> str:
    """Return the whole explanation as one JSON object."""
    plan = explanation.plan
    targets = {one.outlet.name: one.outlet.target for one in explanation.lanes}
    whole = {
        "stream": plan.stream,
        "outputs": {one.outlet.name: _lane_fields(one) for one in explanation.lanes},
        "records": [_record_fields(plan, one, targets) for one in explanation.records],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False)


def as_text(explanation: Explanation) -> str:
    """Return the explanation for a person."""
    plan = explanation.plan
    names = [one.outlet.name for one in explanation.lanes]
    width = max(len(name) for name in (*names, "read"))
    lines = [f"stream {plan.stream}"]
    lines += [
        f"  {one.outlet.name:<{width}}  to {target_text(one.outlet.target)}, lane {one}"
        for one in explanation.lanes
    ]
    targets = {one.outlet.name: one.outlet.target for one in explanation.lanes}
    for one in explanation.records:
        lines.append(f"record {one.line}")
        lines += [f"  {line}" for line in _told(plan, one, targets, width)]
    return "\n".join(lines)


def target_text(target: Target) -> str:
    """Return where an output goes, as a phrase."""
    match target:
        case ToTopic():
            return f"topic {target.topic} as {target.format}"
        case ToSearch():
            return f"index {target.index}"
        case ToTable():
            return f"table {target.sink.identifier}"


def _told(plan: RoutePlan, one: Explained, targets: Mapping[str, Target], width: int) -> list[str]:
    if one.broken is not None:
        return [f"bad: {one.broken.reason} (rule: {_rule(one.broken)})", _becomes(plan, one.broken)]
    masked = ", ".join(plan.hygiene.mask)
    lines = [f"{'read':<{width}}  {_short(one.seen)}{f'  (masked: {masked})' if masked else ''}"]
    for name, outcome in one.outcomes.items():
        head, *rest = _outcome_text(plan, name, outcome, targets[name])
        lines.append(f"{name:<{width}}  {head}")
        lines += [f"{'':<{width}}    {line}" for line in rest]
    return lines


def _outcome_text(plan: RoutePlan, name: str, outcome: Outcome | None, target: Target) -> list[str]:
    match outcome:
        case None:
            return ["only Spark evaluates this output: --spark does it here"]
        case Filtered():
            return ["filtered: the filter is not true for it"]
        case Failed():
            return [
                f"bad: {outcome.reason} (rule: expression)",
                f"by output {name} alone: {_action(plan, plan.hygiene.on_bad_record)}",
            ]
        case Passed():
            return [
                f"written{_named(outcome, target)}",
                _short(outcome.value),
                *_beside(outcome, target),
            ]


def _named(outcome: Passed, target: Target) -> str:
    match target:
        case ToSearch():
            return f", id {document_id(target, outcome.key, outcome.headers)}"
        case ToTopic() if outcome.key is not None:
            return f", key {_short(outcome.key)}"
        case _:
            return ""


def _beside(outcome: Passed, target: Target) -> list[str]:
    """Return what there is to say beside the value: a topic's records have headers."""
    if not isinstance(target, ToTopic):
        return []
    note = (
        ["shown as JSON: its Avro needs an id of the registry"] if target.format == "avro" else []
    )
    return [*note, *(f"{name}: {_short(value)}" for name, value in outcome.headers)]


def _lane_fields(lane: Lane) -> dict[str, object]:
    return {
        "to": target_text(lane.outlet.target),
        "lane": "direct" if lane.reason is None else "spark",
        "reason": lane.reason,
    }


def _record_fields(
    plan: RoutePlan, one: Explained, targets: Mapping[str, Target]
) -> dict[str, object]:
    if one.broken is not None:
        bad = {
            "rule": one.broken.kind,
            "column": one.broken.column,
            "reason": one.broken.reason,
            "becomes": one.broken.action,
        }
        return {"line": one.line, "bad": bad}
    return {
        "line": one.line,
        "bad": None,
        "read": json.loads(one.seen or b"null"),
        "masked": list(plan.hygiene.mask),
        "outputs": {
            name: _outcome_fields(plan, outcome, targets[name])
            for name, outcome in one.outcomes.items()
        },
    }


def _outcome_fields(plan: RoutePlan, outcome: Outcome | None, target: Target) -> dict[str, object]:
    match outcome:
        case None:
            return {"outcome": "not evaluated"}
        case Filtered():
            return {"outcome": "filtered"}
        case Failed():
            becomes = plan.hygiene.on_bad_record
            return {"outcome": "bad", "reason": outcome.reason, "becomes": becomes}
        case Passed():
            fields = {"outcome": "written", "value": _value(outcome.value)}
            return fields | _beside_fields(outcome, target)


def _beside_fields(outcome: Passed, target: Target) -> dict[str, object]:
    match target:
        case ToSearch():
            return {"id": document_id(target, outcome.key, outcome.headers)}
        case ToTopic():
            headers = [[name, _plain(value)] for name, value in outcome.headers]
            return {"key": _plain(outcome.key), "headers": headers}
        case _:
            return {}


def _plain(data: bytes | None) -> str | dict[str, str] | None:
    """Return bytes as text, or in base64 where they are none."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _value(value: bytes | None) -> object:
    try:
        return None if value is None else json.loads(value)
    except ValueError:
        return _plain(value)


def _short(data: bytes | None) -> str:
    if data is None:
        return "null"
    text = data.decode(errors="backslashreplace")
    shown = "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)
    return shown if len(shown) <= LONGEST_TEXT else f"{shown[:LONGEST_TEXT]}… ({len(data):,} bytes)"


def _rule(broken: Broken) -> str:
    return broken.kind if broken.column is None else f"{broken.kind} of {broken.column}"


def _becomes(plan: RoutePlan, broken: Broken) -> str:
    return f"what becomes of it: {_action(plan, broken.action)}"


def _action(plan: RoutePlan, action: str) -> str:
    match action:
        case "quarantine" if plan.quarantine is not None:
            return f"to the quarantine topic {plan.quarantine.topic}"
        case "drop":
            return "dropped, and counted"
        case _:
            return "the stream stops at it"
