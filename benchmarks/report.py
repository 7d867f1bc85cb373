"""A contest as JSON for machines and as a Markdown table for people."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.model import Failure, Omission, Sample
from benchmarks.summary import summarize, summarize_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from benchmarks.model import Benchmark, Outcome
    from benchmarks.statistics import Spread
    from benchmarks.summary import Line

NOTHING = "-"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What has to be known to read the figures."""

    started: datetime
    form: str
    rounds: int
    events: int
    seed: int
    value_bytes: int
    interrupted: bool
    machine: Mapping[str, str | int | float]
    versions: Mapping[str, str]


def write(
    folder: Path, benchmark: Benchmark, around: Circumstances, outcomes: Sequence[Outcome]
) -> tuple[Path, str]:
    """Write both forms beside each other; returns the JSON's path and the Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    markdown = as_markdown(benchmark, around, outcomes)
    path = folder / f"{benchmark.name}-{around.started:%Y%m%dT%H%M%SZ}.json"
    path.write_text(as_json(benchmark, around, outcomes), encoding="utf-8")
    path.with_suffix(".md").write_text(markdown, encoding="utf-8")
    return path, markdown


def as_json(benchmark: Benchmark, around: Circumstances, outcomes: Sequence[Outcome]) -> str:
    """Return everything that was measured."""
    whole = {
        "benchmark": benchmark.name,
        "title": benchmark.title,
        "baseline": benchmark.baseline,
        "limit": benchmark.limit,
        **asdict(around),
        "started": around.started.isoformat(),
        "competitors": [
            {"name": one.name, "what": one.what, "start_up": one.start_up}
            for one in benchmark.competitors
        ],
        "samples": [asdict(outcome) for outcome in outcomes if isinstance(outcome, Sample)],
        "failures": [asdict(outcome) for outcome in outcomes if isinstance(outcome, Failure)],
        "left_out": [asdict(outcome) for outcome in outcomes if isinstance(outcome, Omission)],
        "summary": [asdict(line) for line in summarize(benchmark, outcomes)],
        "pairs": [asdict(pair) for pair in summarize_pairs(benchmark, outcomes)],
    }
    return json.dumps(whole, indent=2) + "\n"


def as_markdown(benchmark: Benchmark, around: Circumstances, outcomes: Sequence[Outcome]) -> str:
    """Return the table, what it was measured on, and what failed."""
    versions = ", ".join(f"{name} {version}" for name, version in around.versions.items())
    base = benchmark.baseline
    head = ["", "start", "wall s", "work s", "CPU s", "broker CPU s", "others' CPU s", "rows/s"]
    head += ["rows/s at work", "rows/CPU-s", "rows/CPU-s at work", "peak MB"]
    head += [f"wall ÷ {base}", f"work ÷ {base}", f"CPU ÷ {base}"]
    rows = [head, ["---", "---", *["---:"] * (len(head) - 2)]]
    starts = {one.name: one.start_up for one in benchmark.competitors}
    rows += [
        _cells(line, benchmark, starts[line.competitor]) for line in summarize(benchmark, outcomes)
    ]
    lines = [
        f"### {benchmark.name}: {benchmark.title}",
        "",
        f"{around.started:%Y-%m-%d %H:%M} UTC, {around.form}, {around.events:,} events"
        f"{_sent(around)}, {_rounds(around, outcomes)}"
        + (", **interrupted**" if around.interrupted else ""),
        "",
        *_table(rows),
        "",
        *_pairs(benchmark, outcomes),
        f"{described(around.machine)}. {versions}.",
    ]
    lines += _facts(benchmark, outcomes)
    left_out = {(one.competitor, one.reason): None for one in outcomes if isinstance(one, Omission)}
    lines += [""] * bool(left_out)
    lines += [f"**Left out**: {competitor}: {reason}" for competitor, reason in left_out]
    failed = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    lines += [""] * bool(failed)
    lines += [
        f"**Failed**: {one.competitor}, round {one.round + 1}: {one.reason}" for one in failed
    ]
    return "\n".join(lines) + "\n"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(row) + " |" for row in rows]


def _pairs(benchmark: Benchmark, outcomes: Sequence[Outcome]) -> list[str]:
    """Return the table that compares like with like."""
    pairs = summarize_pairs(benchmark, outcomes)
    if not pairs:
        return []
    head = ["like with like", "wall", "CPU", "time at work", "CPU at work"]
    rows = [head, ["---", *["---:"] * (len(head) - 1)]]
    rows += [
        [
            f"{pair.ours} ÷ {pair.theirs}",
            _with_ends(pair.wall_ratio),
            _with_ends(pair.cpu_ratio),
            _with_ends(pair.work_ratio),
            _with_ends(pair.work_cpu_ratio),
        ]
        for pair in pairs
    ]
    return [*_table(rows), ""]


def _facts(benchmark: Benchmark, outcomes: Sequence[Outcome]) -> list[str]:
    """Return what competitors have to tell beside their times: medians over the rounds."""
    lines = []
    for one in benchmark.competitors:
        told = [
            outcome.facts
            for outcome in outcomes
            if isinstance(outcome, Sample) and outcome.competitor == one.name and outcome.facts
        ]
        if told:
            shown = ", ".join(
                f"{name} {median(facts[name] for facts in told):,.10g}" for name in told[0]
            )
            lines.append(f"- {one.name}: {shown}")
    return ["", *lines] if lines else []


def _rounds(around: Circumstances, outcomes: Sequence[Outcome]) -> str:
    held = len({outcome.round for outcome in outcomes})
    if held != around.rounds:
        return f"{held} of {around.rounds} rounds"
    return "1 round" if held == 1 else f"{held} rounds"


def _sent(around: Circumstances) -> str:
    return f" ({around.value_bytes / 1e6:,.0f} MB of values)" if around.value_bytes else ""


def described(machine: Mapping[str, str | int | float]) -> str:
    """Return a machine in a sentence."""
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB,"
        f" {machine['kernel']}, load average {machine['load_average_1min']} before"
    )


def _cells(line: Line, benchmark: Benchmark, start: str) -> list[str]:
    name = line.competitor
    if name == benchmark.limit:
        name = f"*limit: {name}*"
    elif name == benchmark.baseline:
        name = f"{name} (baseline)"
    if line.failures:
        name += f" ({line.failures} failed)"
    seconds = (line.wall_s, line.work_s, line.cpu_s, line.broker_cpu_s, line.elsewhere_cpu_s)
    rates = (line.rows_per_s, line.rows_per_work_s, line.rows_per_cpu_s, line.rows_per_work_cpu_s)
    ratios = (line.wall_ratio, line.work_ratio, line.cpu_ratio)
    return [
        name,
        start,
        *(_middle(found, "{:,.2f}") for found in seconds),
        *(_middle(found, "{:,.0f}") for found in (*rates, line.peak_rss_mb)),
        *(_with_ends(found) for found in ratios),
    ]


def _middle(found: Spread | None, form: str) -> str:
    return NOTHING if found is None else form.format(found.median)


def _with_ends(found: Spread | None) -> str:
    if found is None:
        return NOTHING
    return f"{found.median:.2f} ({found.minimum:.2f}…{found.maximum:.2f})"
