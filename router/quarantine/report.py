"""What the commands of the quarantine print."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from headrace.problems import counted
from headrace.records.decoding import NO_TIME_MS
from headrace.times import format_time_us
from router.explain.report import on_terminal, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from router.quarantine.records import Listing, QuarantinedRecord
    from router.quarantine.replay_records import ReplayReport, ReplayTally

FIRST_BYTES: Final = 120
MOST_REASONS_SHOWN: Final = 10


def list_json(listing: Listing) -> str:
    """Return a listing as one JSON object."""
    whole = {
        "stream": listing.stream,
        "cluster": listing.cluster,
        "topic": listing.topic,
        "count": listing.records,
        "bytes": listing.bytes,
        "others": listing.others,
        "reasons": [
            {"stage": stage, "reason": reason, "count": count}
            for (stage, reason), count in listing.reasons.most_common()
        ],
        "newest": [_fields(kept) for kept in listing.newest],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False)


def list_text(listing: Listing) -> str:
    """Return a listing for a person: how many and why, then the newest, one by one."""
    head = f"stream {listing.stream}, quarantine {listing.topic} of cluster {listing.cluster}"
    lines = [f"{head}: {counted(listing.records, 'record')}, {listing.bytes:,} bytes"]
    shown = listing.reasons.most_common(MOST_REASONS_SHOWN)
    lines += [f"  {count:>9,}  {reason} ({stage})" for (stage, reason), count in shown]
    rest = len(listing.reasons) - len(shown)
    if rest:
        lines.append(f"  and {rest:,} other reasons; -o json has all of them")
    if listing.others:
        lines.append(f"  {counted(listing.others, 'record')} of other streams or writers skipped")
    if listing.newest:
        lines.append(f"the newest {len(listing.newest):,}:")
        lines += [line for kept in listing.newest for line in _kept_lines(kept)]
    return on_terminal(lines)


def replay_json(report: ReplayReport) -> str:
    """Return a replay as one JSON object."""
    return json.dumps(replay_fields(report), indent=2, ensure_ascii=False)


def replay_fields(report: ReplayReport) -> dict[str, Any]:
    """Return the facts of a replay."""
    outputs = {name: _tally_fields(tally) for name, tally in report.outputs.items()}
    return asdict(report) | {"outputs": outputs}


def replay_text(report: ReplayReport) -> str:
    """Return a replay for a person: a line an output, and why records are still bad."""
    lines = [f"stream {report.stream}, quarantine {report.topic}"]
    width = max(map(len, [*report.outputs, *report.tables]), default=0)
    for name, tally in report.outputs.items():
        lines.append(f"  {name:<{width}}  {_tally_text(tally, dry_run=report.dry_run)}")
        shown = tally.reasons.most_common(MOST_REASONS_SHOWN)
        lines += [f"  {'':<{width}}  {count:>9,}  {reason}" for reason, count in shown]
    lines += [f"  {name:<{width}}  skipped: it is a table" for name in report.tables]
    if report.others:
        lines.append(f"  {counted(report.others, 'record')} of other streams or writers skipped")
    if report.other_topic:
        advice = "--region replays those of another deployment"
        lines.append(
            f"  {counted(report.other_topic, 'record')} of another topic skipped ({advice})"
        )
    if report.dry_run:
        lines.append("dry run: nothing was sent or recorded")
    if report.drained:
        lines.append("stopped early; run the same command to continue")
    return on_terminal(lines)


def _kept_lines(kept: QuarantinedRecord) -> Iterator[str]:
    at_ms = kept.record.timestamp_ms
    time = "no timestamp" if at_ms == NO_TIME_MS else format_time_us(at_ms * 1000)
    yield f"  {kept.record.position}  {time}  {kept.size:,} bytes  {kept.connector} {kept.stage}"
    yield f"    {kept.reason}"
    yield f"    {_first(kept)}"


def _fields(kept: QuarantinedRecord) -> dict[str, object]:
    value = kept.record.value()
    first = None if value is None else base64.b64encode(value[:FIRST_BYTES]).decode()
    return {
        **asdict(kept.record.position),
        "timestamp_ms": kept.record.timestamp_ms,
        "connector": kept.connector,
        "stage": kept.stage,
        "reason": kept.reason,
        "size": kept.size,
        "first_bytes": _first(kept),
        "first_bytes_base64": first,
        "quarantine": {"partition": kept.position.partition, "offset": kept.position.offset},
    }


def _first(kept: QuarantinedRecord) -> str | None:
    """Return the beginning of a value, as it may stand on a terminal."""
    value = kept.record.value()
    if value is None:
        return None
    return printable(value[:FIRST_BYTES]) + ("…" if len(value) > FIRST_BYTES else "")


def _tally_fields(tally: ReplayTally) -> dict[str, object]:
    reasons = tally.reasons.most_common()
    return asdict(tally) | {"reasons": [{"reason": one, "count": count} for one, count in reasons]}


def _tally_text(tally: ReplayTally, *, dry_run: bool) -> str:
    words = {
        "would be replayed" if dry_run else "replayed": tally.replayed,
        "filtered": tally.filtered,
        "dropped": tally.dropped,
        "still bad": tally.still_bad,
        "done before": tally.already,
    }
    first, *rest = words.items()
    shown = [first, *(one for one in rest if one[1])]
    return ", ".join(f"{word} {count:,}" for word, count in shown)
