"""A plan for a person: what it costs, and a picture of what each step holds."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from backfill.plan.period import duration
from backfill.plan.plan import span_us
from headrace.problems import counted
from headrace.times import format_time_us

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from backfill.apps.live_differences import LiveDifference
    from backfill.command.planned import PlannedReplay
    from backfill.plan.plan import Plan, PlannedSource
    from backfill.plan.widening import PlannedWatermark
    from headrace.errors import HeadraceError

PICTURE_WIDTH = 60
PICTURE_STEPS = 40
SIZES = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


@dataclass(frozen=True, slots=True)
class PictureLine:
    """A line of the picture: so many steps from the first one, the time that they hold, their rows."""

    first: int
    steps: int
    start_us: int
    end_us: int
    rows: int

    def to_json(self) -> dict[str, object]:
        """Return the line for a machine."""
        return {
            "step": self.first,
            "steps": self.steps,
            "start": format_time_us(self.start_us),
            "end": format_time_us(self.end_us),
            "rows": self.rows,
        }


def as_json(planned: PlannedReplay, speeds: Mapping[str, float]) -> str:
    """Return the plan's figures for a machine; speeds are in rows a second, by target."""
    plan = planned.plan
    whole = {
        "period": str(plan.period),
        "order": plan.order,
        "threshold_ms": plan.threshold_us / 1000,
        "steps": len(plan.steps),
        "rows": plan.rows + plan.null_times,
        "null_times": plan.null_times,
        "state_window_ms": plan.state_window_us / 1000,
        "smallest_free_threshold_ms": plan.smallest_free_threshold_us / 1000,
        "estimated_s": {kind: round(plan.rows / speed, 1) for kind, speed in speeds.items()},
        "sources": [
            asdict(source) | {"conditions": [str(one) for one in source.conditions]}
            for source in plan.sources
        ],
        "read_in_part": [part._asdict() for part in planned.parts],
        "lookups": [lookup.to_json() for lookup in plan.lookups],
        "differs_from_live": [one.to_json() for one in planned.differences],
        "watermarks": [watermark_json(one) for one in plan.watermarks],
        "refused": None if planned.refused is None else _refusal_json(planned.refused),
        "picture": [one.to_json() for one in lines_of(plan)],
    }
    return json.dumps(whole, indent=2)


def as_text(planned: PlannedReplay, speeds: Mapping[str, float]) -> str:
    """Return the plan's figures and picture for a person."""
    plan = planned.plan
    lines = [f"period {plan.period}", f"order {plan.order}{_promise(plan)}", ""]
    lines += [line for source in plan.sources for line in _source(source)]
    lines += [
        (
            f"{part.table}: {len(part.columns)} of {part.all_columns} columns are read, about "
            f"{size(part.size_bytes)} of {size(part.whole_bytes)}: {', '.join(part.columns)}"
        )
        for part in planned.parts
    ]
    lines += [lookup.to_text() for lookup in plan.lookups]
    lines += [line for one in plan.watermarks for line in watermark_text(one)]
    lines += _differences(planned.differences)
    if planned.refused is not None:
        lines += [f"a replay would be refused: {planned.refused.message}"]
        lines += [f"  {planned.refused.advice}"] if planned.refused.advice else []
    if not plan.steps:
        return "\n".join([*lines, "", "nothing to replay: no steps and no rows"])
    lines += [
        "",
        (
            f"{counted(len(plan.steps), 'step')}, {counted(plan.rows + plan.null_times, 'row')} by metadata;"
            f" the widest step holds {duration(plan.state_window_us)} of time"
        ),
    ]
    if plan.order == "bounded":
        lines.append(_free_threshold(plan))
    lines += [
        f"about {duration(int(plan.rows / speed * 1_000_000))} to {kind},"
        f" at the {speed:,.0f} rows/s of the last run here"
        for kind, speed in sorted(speeds.items())
    ]
    return "\n".join([*lines, *_picture(plan)])


def _refusal_json(problem: HeadraceError) -> dict[str, str | None]:
    return {"message": problem.message, "advice": problem.advice or None}


def _differences(differences: Sequence[LiveDifference]) -> list[str]:
    """Say what of the query may differ from the live run, each advice once."""
    lines = []
    for kind, alike in groupby(differences, key=lambda one: one.kind):
        first, *more = alike
        lines += [f"may differ from live, {kind}: {one.where}" for one in (first, *more)]
        lines.append(f"  {first.what_to_do}")
    return lines


def watermark_json(watermark: PlannedWatermark) -> dict[str, object]:
    """Return a watermark for a machine: `widened_by_ms` is null where it is not known."""
    widened_us, cause = watermark.widened_by_us, watermark.cause
    return {
        "source": watermark.source,
        "table": watermark.table,
        "column": watermark.column,
        "delay_ms": watermark.delay_us / 1000,
        "widened_by_ms": None if widened_us is None else widened_us / 1000,
        "given": watermark.is_given,
        "unknown": watermark.unknown,
        "cause": None
        if cause is None
        else {
            "step": cause.step,
            "arrival": format_time_us(cause.frontier_us),
            "event": format_time_us(cause.newest_us),
            "file": cause.file,
            "ahead_of_arrival_ms": cause.ahead_us / 1000,
        },
    }


def watermark_text(watermark: PlannedWatermark) -> Iterator[str]:
    """Say by how much a watermark is wider than live, why, and what is kept for it."""
    widened_us, cause, name = watermark.widened_by_us, watermark.cause, watermark.source
    live = duration(watermark.delay_us)
    if widened_us is None:
        yield f"watermark of {name}: the plan cannot compute how much wider than live it must be"
        yield f"  {watermark.unknown}: --scan-without-bounds, or --widen-watermarks DURATION"
        return
    if not widened_us:
        yield f"watermark of {name}: as live, {live} behind {watermark.column}"
        return
    total = duration(watermark.delay_us + widened_us)
    by = "as you say, " if watermark.is_given else ""
    yield (
        f"watermark of {name}: {by}wider by {duration(widened_us)} than live ({live}); state is kept"
        f" for {total} of {watermark.column}"
    )
    if cause is not None:
        yield (
            f"  since step {cause.step} has records that arrived at {_second(cause.frontier_us)}, and"
            f" {cause.file.rpartition('/')[2]} is delivered before, with {watermark.column} up to"
            f" {_second(cause.newest_us)}"
        )
    if cause is not None and watermark.is_from_the_future:
        yield (
            f"  that is {duration(cause.ahead_us)} ahead of its arrival: bound it by"
            f" watermarks.{name}.max_ahead; without that, or --widen-watermarks, nothing is replayed"
        )


def _free_threshold(plan: Plan) -> str:
    free = duration(plan.smallest_free_threshold_us)
    if any(source.bytes_read_again for source in plan.sources):
        return f"with --max-misalignment {free.replace(' ', '')}, nothing would be read twice"
    return f"nothing is read twice; this holds from a threshold of {free} on"


def size(count: int) -> str:
    """Write a number of bytes in the largest unit that it fills."""
    for name, bytes_each in SIZES:
        if count >= bytes_each:
            return f"{count / bytes_each:,.1f} {name}"
    return f"{count} bytes"


def _promise(plan: Plan) -> str:
    match plan.order:
        case "bounded":
            return f", no record more than {duration(plan.threshold_us)} out of order"
        case "strict":
            return ", each Kafka partition by its offsets"
        case _:
            return ""


def _source(source: PlannedSource) -> list[str]:
    cut = f", {source.files_cut:,} of them cut" if source.files_cut else ""
    again = f", {size(source.bytes_read_again)} read again" if source.bytes_read_again else ""
    lines = [
        (
            f"{source.name} @ snapshot {source.snapshot_id}: {counted(source.files, 'file')}{cut},"
            f" read in {counted(source.units, 'piece')}; {counted(source.rows, 'row')}, {size(source.size_bytes)}{again}"
        )
    ]
    lines += [
        f"  {file.path.rpartition('/')[2]} spans {duration(file.width_us)}, read in"
        f" {counted(file.units, 'piece')}, {size(file.bytes_read_again)} of it again"
        for file in source.worst
    ]
    if source.conditions:
        wanted = " AND ".join(map(str, source.conditions))
        lines.append(
            f"  only rows with {wanted}: {source.files_skipped:,} more files, "
            f"{source.rows_skipped:,} rows, have none of these and are not read"
        )
    if source.null_times:
        files = [f"{one.path.rpartition('/')[2]} ({one.rows:,})" for one in source.null_times_in]
        lines.append(
            f"  {counted(source.null_times, 'row')} without a time, in {', '.join(files)}: not "
            "delivered; the replay is rejected without --null-times skip"
        )
    lines.append(_completeness(source))
    if source.worst:
        lines.append("  lake-writer maintain rewrites such files in the order of time")
    return lines


def _completeness(source: PlannedSource) -> str:
    match source.beyond_complete:
        case None:
            return "  up to when it is complete is unknown: no lake writer says so"
        case True:
            upto = source.complete_up_to or "no time yet"
            return f"  complete up to {upto}, but the period ends later"
        case False:
            return f"  complete up to {source.complete_up_to}"


def lines_of(plan: Plan) -> list[PictureLine]:
    """Return what a picture of a plan draws: the time that steps hold, many of them to a line."""
    per_line = max(1, -(-len(plan.steps) // PICTURE_STEPS))
    return [
        PictureLine(
            first,
            len(group),
            min(step.frontier_us for step in group),
            max(step.frontier_us + span_us(step) for step in group),
            sum(step.rows for step in group),
        )
        for first in range(0, len(plan.steps), per_line)
        if (group := plan.steps[first : first + per_line])
    ]


def _picture(plan: Plan) -> list[str]:
    """Draw each step as the time that it holds; many steps are drawn several to a line."""
    drawn = lines_of(plan)
    start, end = drawn[0].start_us, max(one.end_us for one in drawn) + 1
    start = min(start, plan.steps[0].frontier_us)
    each = "a line is a step" if drawn[0].steps == 1 else f"a line is {drawn[0].steps:,} steps"
    lines = [
        "",
        f"the steps ({each}; █ the time that a step covers, · the rest of the period):",
        f"{'step':>6}  {_second(start)}{_second(end - 1):>{PICTURE_WIDTH - len(_second(start))}} rows",
    ]
    lines += [f"{one.first:>6}  {_bar(one, start, end)} {one.rows:,}" for one in drawn]
    return lines


def _second(time_us: int) -> str:
    return f"{format_time_us(time_us)[:19]}Z"


def _bar(line: PictureLine, start: int, end: int) -> str:
    scale = PICTURE_WIDTH / (end - start)
    low = int((line.start_us - start) * scale)
    high = int((line.end_us - start) * scale)
    return "·" * low + "█" * (high - low + 1) + "·" * (PICTURE_WIDTH - high - 1)
