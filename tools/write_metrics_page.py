"""Write docs/metrics.md from the list of metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from headrace.metrics.definitions import METRICS
from headrace.metrics.durations import BOUNDS_S
from tools.write_alert_rules import ALERTS

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

AT_END: Final = """
## Commands that end

Prometheus cannot ask a command that has ended, such as `router start --once` from cron or a replay. Such a command leaves its metrics at its end, also after a failure:

| Option of `router start`, `lake-writer start`, `headrace run`, `backfill replay` | What it does |
|---|---|
| `--metrics-file FILE.prom` | writes them into a file, in one atomic step, for the textfile collector of Prometheus's node_exporter: name its folder (`--collector.textfile.directory`) |
| `--metrics-push URL` | pushes them to a Pushgateway, under `job="headrace"` with the labels `kind` and `name`. They replace those of the run before |

```
router start -c streams/playback.yaml --once --metrics-file /var/lib/node_exporter/playback.prom
```

- They have `headrace_last_run_success`, `headrace_last_run_timestamp_seconds` and `headrace_last_run_duration_seconds`, and all others as they were at the end, without `headrace_job_up` and `headrace_build_info`. The `name` of a replay is its application, or its tables.
- Counters are those of this run, so `rate()` over several runs means nothing; the value itself is the number of the last run.
- A kill (`SIGKILL`) leaves the metrics of the run before. Compare `headrace_last_run_timestamp_seconds` with the time at which it should have run.
- If the file cannot be written in the end, or the Pushgateway does not answer, the log says so, and the exit code stays what it is. A URL with `USER:PASSWORD@` logs in, and is never logged; write it into `HEADRACE_METRICS_PUSH`, because a list of processes shows options.
- With a file for many topics (`for_each`) and `--once`, the metrics of all topics go to one place, and `name` is the file's. Without `--once`, such a command needs `--topic` with these options.
"""

DEPLOY: Final = """
## Alerts and dashboards

`deploy/` has them ready for use, made from this list. Tests run the alerts with Prometheus 2.42.

- **Alerts**: copy `deploy/prometheus/headrace.rules.yaml` beside your `prometheus.yml`, and name it there: `rule_files: [headrace.rules.yaml]`. Each alert has a label `severity` for Alertmanager's routes (`critical`: somebody has to look now), an annotation `summary` that says what is wrong, and an annotation `action` that says what to do.
- **Dashboards**: import each `deploy/grafana/*.json` (Dashboards → New → Import), or put the files into the folder of a provider in `provisioning/dashboards`. They ask for your Prometheus, and link to each other.

| Alert | Severity | For | Fires if |
|---|---|---|---|
"""
AFTER_ALERTS: Final = """
If a lake table commits less often than every ten minutes (`batch.max_interval`), or if a stream has a trigger of minutes, the bounds are too small: write the rule with your bound into a file of your own, and silence this one for that table or stream in Alertmanager.

- Lost offsets stay in the ledger for ever. HeadraceLedgerGap fires for a day after each loss, and for a day after Prometheus has seen a stream for the first time that has lost some before.
- HeadraceTableNotComplete and HeadraceLag also see the last value of a [command that has ended](#commands-that-end): for a table that lands once an hour, 15 minutes are too small a bound, too.
- HeadraceUnreachable is about targets of Prometheus that have served these metrics within the last day. If you end a command on purpose, it fires until you remove the target.
"""


def page() -> str:
    """Return the page."""
    rows = [
        f"| `{one.name}` | {one.kind} | {', '.join(f'`{label}`' for label in one.labels)} | {one.help} |"
        for one in METRICS
    ]
    bounds = ", ".join(f"{bound:g}" for bound in BOUNDS_S)
    metrics = INTRODUCTION + "\n".join(rows) + f"\n\nThe buckets of histograms end at {bounds} s.\n"
    alerts = [f"| `{one.name}` | {one.severity} | {one.wait} | {one.condition} |" for one in ALERTS]
    return metrics + AT_END + DEPLOY + "\n".join(alerts) + "\n" + AFTER_ALERTS


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
