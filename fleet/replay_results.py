"""The staged result of a replay: whether it can be compared and published, and how it is compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from backfill.run.options import parse_percent
from headrace.config.common.units import UnitError, parse_duration
from headrace.errors import Terminal, UsageError
from headrace.http.replay_rows import Mistake, RequestRefused
from headrace.problems import did_you_mean
from headrace.times import format_time_us

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from backfill.results.runs import RunStatus
    from backfill.run.state import RunRecord

OPTIONS: Final = ("key", "ignore", "min_match", "boundary")
EXAMPLES: Final = 5
LONGEST: Final = 1_000


def can_publish(run: RunStatus, record: RunRecord) -> bool:
    """Whether the staged rows of a run are complete, and wait to be published."""
    deletes = (record.sink or {}).get("deleted") is not None
    return run.stage == "complete" and run.staged is not None and not deletes


def can_compare(run: RunStatus) -> bool:
    """Whether a run has a result that stands beside the live one."""
    return run.stage == "complete" and run.staged is not None


def has_own_output(run: RunStatus) -> bool:
    """Whether what a run has written can be told from what others have written there."""
    return run.staged is not None or (run.app is None and run.to.startswith("jsonl:"))


def live_table(record: RunRecord) -> str | None:
    """Return the table of the application's live result."""
    kind, _, place = record.to.partition(":")
    return place if record.app is not None and kind == "iceberg" else None


def key_of(record: RunRecord) -> list[str]:
    """Return the columns by which the sink of a run knows its rows."""
    return [str(one) for one in (record.sink or {}).get("key") or ()]


def compare_words(
    run: RunStatus, record: RunRecord, options: Mapping[str, str]
) -> tuple[list[str], dict[str, Any]]:
    """Return the words of `backfill compare` for a run, and what they say of it, to show beside it."""
    mistakes = list(_mistakes(options))
    if mistakes:
        raise RequestRefused(mistakes)
    live = live_table(record)
    if not can_compare(run) or live is None or run.staged is None:
        raise Terminal(
            f"{run.run_id} has no complete staged result to compare",
            "start a replay of an application with a staged result, and wait until it is complete",
        )
    key = options.get("key") or ",".join(key_of(record))
    if not key:
        raise RequestRefused(
            [Mistake("key", "it is missing", "name the columns that identify a row: A,B")]
        )
    words = ["backfill", "compare", "-o", "json", f"--left={live}", f"--right={run.staged}"]
    words += [f"--key={key}", f"--examples={EXAMPLES}"]
    words += [f"--ignore={options['ignore']}"] if options.get("ignore") else []
    words += [f"--min-match={options['min_match']}"] if options.get("min_match") else []
    time_column, period = (record.sink or {}).get("time_column"), record.emitted
    if time_column and period is not None:
        start, end = format_time_us(period.start_us), format_time_us(period.end_us_exclusive)
        words += [f"--time={time_column}", f"--start-ts={start}", f"--end-ts={end}"]
        words += [f"--boundary={options['boundary']}"] if options.get("boundary") else []
        if record.app is not None and Path(record.app).is_file():
            words.append(f"--config={record.app}")
    return words, {"key": key, "ignore": options.get("ignore", "")}


def _mistakes(options: Mapping[str, str]) -> Iterator[Mistake]:
    for name, value in options.items():
        if name not in OPTIONS:
            yield Mistake(name[:LONGEST], "it is not known", did_you_mean(name, OPTIONS))
        elif len(value) > LONGEST or "`" in value or not value.isprintable():
            yield Mistake(name, "it has characters that no column has")
        elif name == "min_match" and value:
            try:
                parse_percent(value)
            except UsageError as problem:
                yield Mistake(name, f"{value} is not a percentage", problem.advice)
        elif name == "boundary" and value:
            try:
                parse_duration(value)
            except UnitError as problem:
                yield Mistake(name, f"{value}: {problem.reason}", problem.advice)
