"""Write docs/metrics.md from the list of metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from headrace.metrics.definitions import METRICS
from headrace.metrics.durations import BOUNDS_S

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "metrics.md"
INTRODUCTION: Final = """\
# Metrics

<!-- Written by `make generated` from headrace/metrics/definitions.py. -->

`/metrics` has these, in the text format of Prometheus. [http.md](http.md) says which commands serve it, and how it is scraped. Names and labels do not change between minor versions.

- A metric has the labels of what it is about: `stream` and `output`, or `table`, or `app`, or `replay`. No label has a record's key, and none grows with the records.
- Counters begin at 0 when a command starts, and when `headrace up` takes over a changed file. What counts from a stream's first record on is its ledger (`router audit`, `/api/v1/streams`).
- What is not known yet is left out.

| Name | Type | Labels | What it says |
|---|---|---|---|
"""


def page() -> str:
    """Return the page."""
    rows = [
        f"| `{one.name}` | {one.kind} | {', '.join(f'`{label}`' for label in one.labels)} | {one.help} |"
        for one in METRICS
    ]
    bounds = ", ".join(f"{bound:g}" for bound in BOUNDS_S)
    return INTRODUCTION + "\n".join(rows) + f"\n\nThe buckets of histograms end at {bounds} s.\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
