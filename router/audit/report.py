"""What `router audit` prints."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from headrace.problems import counted
from router.ledger.entries import total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from router.audit.audit import StreamAudit
    from router.audit.findings import MemberAudit, PartitionAudit

HEADINGS = [
    *("partition", "began", "done up to", "read", "written", "filtered", "dropped"),
    *("quarantined", "lost", "no record", "lag"),
]


def as_json(audit: StreamAudit) -> str:
    """Return the audit as one JSON object."""
    return json.dumps(facts(audit), indent=2)


def facts(audit: StreamAudit) -> dict[str, object]:
    """Return what the audit found."""
    return {
        "stream": audit.stream,
        "cluster": audit.cluster,
        "topic": audit.topic,
        "ok": not audit.findings,
        "outputs": [_member_fields(member) for member in audit.members],
    }


def as_text(audit: StreamAudit) -> str:
    """Return the audit for a person: a table an output, the findings below it, and a verdict."""
    lines = [f"stream {audit.stream}, topic {audit.topic} of cluster {audit.cluster}"]
    for member in audit.members:
        lines += _member_lines(member)
    lines.append(_verdict(audit))
    return "\n".join(lines)


def _verdict(audit: StreamAudit) -> str:
    if not audit.has_run:
        return "no output has run yet: there is nothing to audit"
    count = len(audit.findings)
    if count:
        return counted(count, "finding")
    return "ok: every record up to each output's position is accounted for"


def _member_lines(member: MemberAudit) -> list[str]:
    if not member.has_run:
        return [f"{member.name}: has not run yet"]
    lines = [f"{member.name}:"]
    if member.partitions:
        lines += [f"  {line}" for line in _table(member.partitions)]
        by_rule = total(one.counts for one in member.partitions).dropped
        if by_rule:
            shown_counts = ", ".join(f"{rule} {count:,}" for rule, count in sorted(by_rule.items()))
            lines.append(f"  dropped by rule: {shown_counts}")
    lines += [f"  {finding.message}" for finding in member.findings]
    return [*lines, *(f"  note: {note}" for note in member.notes)]


def _table(partitions: Sequence[PartitionAudit]) -> list[str]:
    rows = [HEADINGS, *([str(one.partition), *_cells(one)] for one in partitions)]
    if len(partitions) > 1:
        counts = total(one.counts for one in partitions)
        sums = [sum(one.lost for one in partitions), sum(one.absent for one in partitions)]
        lag = sum(one.lag or 0 for one in partitions)
        numbers = [*counts.numbers.values(), *sums, lag]
        rows.append(["all", "", "", *(f"{number:,}" for number in numbers)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]


def _cells(one: PartitionAudit) -> list[str]:
    numbers = [one.began, one.done, *one.counts.numbers.values(), one.lost, one.absent]
    return [*(f"{number:,}" for number in numbers), "?" if one.lag is None else f"{one.lag:,}"]


def _member_fields(member: MemberAudit) -> dict[str, object]:
    return {
        "output": member.name,
        "has_run": member.has_run,
        "partitions": [_partition_fields(one) for one in member.partitions],
        "findings": [asdict(one) for one in member.findings],
        "notes": list(member.notes),
    }


def _partition_fields(one: PartitionAudit) -> dict[str, object]:
    fields = asdict(one) | {"lag": one.lag}
    counts: dict[str, object] = fields.pop("counts")
    return fields | counts
