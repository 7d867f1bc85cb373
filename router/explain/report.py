"""What `router explain` prints."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from headrace.records.hygiene.rules import Broken
from router.explain.outcomes import Filtered, Passed
from router.plan.model import ToSearch, ToTable, ToTopic
from router.tasks.search_documents import document_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from router.explain.explanation import Explanation
    from router.explain.outcomes import Evaluated, Evaluation, Outcome
    from router.plan.model import Outlet, RoutePlan, Target

LONGEST_TEXT = 400


def as_json(explanation: Explanation) -> str:
    """Return the whole explanation as one JSON object."""
    return json.dumps(as_dict(explanation), indent=2, ensure_ascii=False)


def as_dict(explanation: Explanation) -> dict[str, object]:
    """Return the whole explanation."""
    return {
        "stream": explanation.plan.stream,
        "outputs": {one.outlet.name: _output_fields(one) for one in explanation.evaluations},
        "records": [
            {"line": line, **record_fields(explanation, one)} for line, one in explanation.records
        ],
    }


def as_text(explanation: Explanation) -> str:
    """Return the explanation for a person."""
    width = max(len(name) for name in (*explanation.outlets, "read"))
    lines = [f"stream {explanation.plan.stream}"]
    lines += [
        f"  {one.outlet.name:<{width}}  to {target_text(one.outlet.target)}, {one}"
        for one in explanation.evaluations
    ]
    for line, one in explanation.records:
        lines.append(f"record {line}")
        lines += [f"  {text}" for text in record_lines(explanation, one, width)]
    return on_terminal(lines)


def target_text(target: Target) -> str:
    """Return where an output goes, as a phrase."""
    match target:
        case ToTopic():
            return f"topic {target.topic} as {target.format}"
        case ToSearch():
            return f"index {target.index}"
        case ToTable():
            return f"table {target.sink.identifier}"


def record_lines(explanation: Explanation, one: Evaluated, width: int) -> list[str]:
    """Return what becomes of a record, for a person; names of outputs are as wide as `width`."""
    plan = explanation.plan
    if one.broken is not None:
        return [_rejected(one.broken), _action(plan, one.broken.action)]
    masked = ", ".join(plan.hygiene.masks)
    lines = [
        f"{'read':<{width}}  {short(explanation.seen(one))}{f'  (masked: {masked})' if masked else ''}"
    ]
    for name, outcome in one.outcomes.items():
        head, *rest = _outcome_text(plan, explanation.outlets[name], outcome)
        lines.append(f"{name:<{width}}  {head}")
        lines += [f"{'':<{width}}    {line}" for line in rest]
    return lines


def _outcome_text(plan: RoutePlan, outlet: Outlet, outcome: Outcome | None) -> list[str]:
    target = outlet.target
    match outcome:
        case None:
            return ["only Spark can evaluate this output: add --spark"]
        case Filtered():
            return [f"filtered: {outlet.filter} is not true for this record"]
        case Broken():
            becomes = _action(plan, outcome.action)
            return [_rejected(outcome), f"by output {outlet.name} alone: {becomes}"]
        case Passed():
            return [
                f"written{_named(outcome, target)}",
                short(outcome.value),
                *_beside(outcome, target),
            ]


def _named(outcome: Passed, target: Target) -> str:
    match target:
        case ToSearch():
            return f", id {document_id(target, outcome.key, outcome.headers)}"
        case ToTopic() if outcome.key is not None:
            return f", key {short(outcome.key)}"
        case _:
            return ""


def _beside(outcome: Passed, target: Target) -> list[str]:
    """Return what there is to say beside the value: a topic's records have headers."""
    if not isinstance(target, ToTopic):
        return []
    note = (
        ["shown as JSON: its Avro form needs a schema id from the registry"]
        if target.format == "avro"
        else []
    )
    return [*note, *(f"{name}: {short(value)}" for name, value in outcome.headers)]


def _output_fields(one: Evaluation) -> dict[str, object]:
    return {
        "to": target_text(one.outlet.target),
        "expressions": "compiled" if one.reason is None else "spark",
        "reason": one.reason,
    }


def record_fields(explanation: Explanation, one: Evaluated) -> dict[str, object]:
    """Return what becomes of a record."""
    plan, broken = explanation.plan, one.broken
    if broken is not None:
        bad = {"rule": broken.kind, "column": broken.column, "reason": broken.reason}
        return {"bad": {**bad, "becomes": broken.action}}
    return {
        "bad": None,
        "read": json.loads(explanation.seen(one)),
        "masked": list(plan.hygiene.masks),
        "outputs": {
            name: _outcome_fields(outcome, explanation.outlets[name])
            for name, outcome in one.outcomes.items()
        },
    }


def _outcome_fields(outcome: Outcome | None, outlet: Outlet) -> dict[str, object]:
    match outcome:
        case None:
            return {"outcome": "not evaluated"}
        case Filtered():
            return {"outcome": "filtered", "filter": outlet.filter}
        case Broken():
            return {"outcome": "bad", "reason": outcome.reason, "becomes": outcome.action}
        case Passed():
            fields = {"outcome": "written", "value": plain_value(outcome.value)}
            return fields | _beside_fields(outcome, outlet.target)


def _beside_fields(outcome: Passed, target: Target) -> dict[str, object]:
    match target:
        case ToSearch():
            return {"id": document_id(target, outcome.key, outcome.headers)}
        case ToTopic():
            headers = [[name, plain(value)] for name, value in outcome.headers]
            return {"key": plain(outcome.key), "headers": headers}
        case _:
            return {}


def plain(data: bytes | None) -> str | dict[str, str] | None:
    """Return bytes as text, or in base64 where they are none."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def plain_value(value: bytes | None) -> object:
    """Return JSON as what it says, anything else as text, or in base64 where it is none."""
    try:
        return None if value is None else json.loads(value)
    except ValueError:
        return plain(value)


def on_terminal(lines: Iterable[str]) -> str:
    """Return lines that move no cursor: reasons quote records, and names of headers are theirs."""
    return "\n".join(printable(line.encode(errors="backslashreplace")) for line in lines)


def printable(data: bytes) -> str:
    """Return bytes as text that may stand on a terminal."""
    text = data.decode(errors="backslashreplace")
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


def short(data: bytes | None) -> str:
    """Return the beginning of bytes as text that may stand on a terminal."""
    if data is None:
        return "null"
    shown = printable(data)
    return shown if len(shown) <= LONGEST_TEXT else f"{shown[:LONGEST_TEXT]}… ({len(data):,} bytes)"


def _rejected(broken: Broken) -> str:
    rule = broken.kind if broken.column is None else f"{broken.kind} of {broken.column}"
    return f"rejected: {broken.reason} (rule: {rule})"


def _action(plan: RoutePlan, action: str) -> str:
    match action:
        case "quarantine" if plan.quarantine is not None:
            return f"it goes to the quarantine topic {plan.quarantine.topic}"
        case "drop":
            return "it is dropped and counted"
        case _:
            return "the stream stops at it"
