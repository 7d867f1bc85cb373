"""What the commands of the quarantine print."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Final

from headrace.times import format_time_us

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from router.kept import Kept
    from router.quarantine_list import Listing
    from router.replay_records import Report, Tally

FIRST_BYTES: Final = 120
MOST_REASONS_SHOWN: Final = 10


def list_json(listing: Listing) -> str:
    """Return a listing as one JSON object."""
    summary = listing.summary
    whole = {
        "stream": listing.stream,
        "cluster": listing.cluster,
        "topic": listing.topic,
        "count": summary.records,
        "bytes": summary.bytes,
        "others": listing.others,
        "reasons": [
            {"stage": stage, "reason": reason, "count": count}
            for (stage, reason), count in summary.reasons.most_common()
        ],
        "newest": [_fields(kept) for kept in listing.newest],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False)


def list_text(listing: Listing) -> str:
    """Return a listing for a person: how many and why, then the newest, one by one."""
    summary = listing.summary
    head = f"stream {listing.stream}, quarantine {listing.topic} of cluster {listing.cluster}"
    lines = [f"{head}: {_records(summary.records)}, {summary.bytes:,} bytes"]
    shown = summary.reasons.most_common(MOST_REASONS_SHOWN)
    lines += [f"  {count:>9,}  {reason} ({stage})" for (stage, reason), count in shown]
    rest = len(summary.reasons) - len(shown)
    if rest:
        lines.append(f"  and {rest:,} other reasons; -o json has all of them")
    if listing.others:
        lines.append(f"  {_records(listing.others)} of other streams or writers left out")
    if listing.newest:
        lines.append(f"the newest {len(listing.newest):,}:")
        lines += [line for kept in listing.newest for line in _kept_lines(kept)]
    return "\n".join(lines)


def replay_json(report: Report) -> str:
    """Return a replay as one JSON object."""
    whole = {
        "stream": report.stream,
        "topic": report.topic,
        "dry_run": report.dry_run,
        "drained": report.drained,
        "outputs": {name: _tally_fields(tally) for name, tally in report.outputs.items()},
        "tables": list(report.tables),
        "others": report.others,
        "other_topic": report.other_topic,
    }
    return json.dumps(whole, indent=2, ensure_ascii=False)


def replay_text(report: Report) -> str:
    """Return a replay for a person: a line an output, and why records are still bad."""
    lines = [f"stream {report.stream}, quarantine {report.topic}"]
    width = max(map(len, [*report.outputs, *report.tables]), default=0)
    for name, tally in report.outputs.items():
        lines.append(f"  {name:<{width}}  {_tally_text(tally, dry_run=report.dry_run)}")
        shown = tally.reasons.most_common(MOST_REASONS_SHOWN)
        lines += [f"  {'':<{width}}  {count:>9,}  {reason}" for reason, count in shown]
    lines += [f"  {name:<{width}}  left out: it is a table" for name in report.tables]
    if report.others:
        lines.append(f"  {_records(report.others)} of other streams or writers left out")
    if report.other_topic:
        advice = "--region replays those of another deployment"
        lines.append(f"  {_records(report.other_topic)} of another topic left out ({advice})")
    if report.dry_run:
        lines.append("a dry run: nothing was sent, and nothing noted")
    if report.drained:
        lines.append("ended early, as asked: the same command goes on from here")
    return "\n".join(lines)


def _kept_lines(kept: Kept) -> Iterator[str]:
    time = format_time_us(kept.record.timestamp_ms * 1000)
    yield f"  {kept.record.place}  {time}  {kept.size:,} bytes  {kept.connector} {kept.stage}"
    yield f"    {kept.reason}"
    yield f"    {_first(kept)}"


def _fields(kept: Kept) -> dict[str, object]:
    place, origin = kept.place, kept.record.place
    value = kept.record.value()
    return {
        "topic": origin.topic,
        "partition": origin.partition,
        "offset": origin.offset,
        "timestamp_ms": kept.record.timestamp_ms,
        "connector": kept.connector,
        "stage": kept.stage,
        "reason": kept.reason,
        "size": kept.size,
        "first_bytes": _first(kept),
        "first_bytes_base64": None
        if value is None
        else base64.b64encode(value[:FIRST_BYTES]).decode(),
        "quarantine": {"partition": place.partition, "offset": place.offset},
    }


def _first(kept: Kept) -> str | None:
    """Return the beginning of a value, as it may stand on a terminal."""
    value = kept.record.value()
    if value is None:
        return None
    text = value[:FIRST_BYTES].decode(errors="backslashreplace")
    shown = "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)
    return f"{shown}…" if len(value) > FIRST_BYTES else shown


def _tally_fields(tally: Tally) -> dict[str, object]:
    return {
        "replayed": tally.replayed,
        "filtered": tally.filtered,
        "dropped": tally.dropped,
        "still_bad": tally.still_bad,
        "already": tally.already,
        "reasons": _reasons(tally.reasons),
    }


def _reasons(reasons: Counter[str]) -> list[dict[str, object]]:
    return [{"reason": reason, "count": count} for reason, count in reasons.most_common()]


def _tally_text(tally: Tally, *, dry_run: bool) -> str:
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


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"
