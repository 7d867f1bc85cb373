"""Write deploy/prometheus/headrace.rules.yaml: the alerts, from the list of metrics."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Final, Literal

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from headrace.metrics.definitions import (
    BACKFILL_PROGRESS,
    BUILD_INFO,
    JOB_UP,
    LAG_RECORDS,
    LAG_SECONDS,
    LAST_RUN_SUCCESS,
    LEDGER_GAP,
    QUARANTINED,
    RECORDS_DROPPED,
    RECORDS_IN,
    TABLE_COMPLETE_UP_TO,
    Metric,
)

RULES: Final = Path(__file__).resolve().parents[1] / "deploy" / "prometheus" / "headrace.rules.yaml"
HEAD: Final = """\
# Alerts of headrace. Written by `make generated` from tools/write_alert_rules.py; docs/metrics.md
# says how they are used. A restart may bring another `instance`, so the expressions leave it out.
"""
# Of what a stream's alert is about, and a table's.
WHO: Final = (
    "{{ if $labels.table }}Lake table {{ $labels.table }}"
    "{{ else }}Output {{ $labels.output }} of stream {{ $labels.stream }}{{ end }}"
)
LAG_S: Final = 300
INCOMPLETE_S: Final = 900
REJECTED_SHARE: Final = 0.01


@dataclass(frozen=True, slots=True)
class Alert:
    """When somebody has to look, what they read first, and what they do then."""

    name: str
    condition: str
    expr: str
    wait: str
    severity: Literal["critical", "warning"]
    summary: str
    action: str

    def as_rule(self) -> dict[str, Any]:
        """Return the rule, as Prometheus reads it."""
        return {
            "alert": self.name,
            "expr": LiteralScalarString(self.expr),
            "for": self.wait,
            "labels": {"severity": self.severity},
            "annotations": {
                "summary": LiteralScalarString(self.summary),
                "action": LiteralScalarString(self.action),
            },
        }


def _share_of_records(counter: Metric) -> str:
    """Return the share of the records read that a counter has counted, where it is too high."""
    without = ", ".join(["instance", *({"reason"} & set(counter.labels))])
    return (
        f"sum without ({without}) (rate({counter.name}[10m]))\n"
        f"  / (sum without (instance) (rate({RECORDS_IN.name}[10m])) > 0) > {REJECTED_SHARE}"
    )


_GAP: Final = f"max without (instance) ({LEDGER_GAP.name})"

ALERTS: Final = (
    Alert(
        "HeadraceLedgerGap",
        "an output lost offsets within the last day",
        # The gap stays in the ledger for ever, so what is looked at is whether it was there a day ago.
        f"{_GAP}\n"
        f"  > (max without (instance) (max_over_time({LEDGER_GAP.name}[1h] offset 1d)) or 0 * {_GAP})",
        "0m",
        "critical",
        "Output {{ $labels.output }} of stream {{ $labels.stream }} lost offsets within the last "
        "day: the topic no longer had them when they were to be read; {{ $value }} are lost in all.",
        "Run `router audit` with the stream's file: it names the partition and the offsets. Give "
        "the topic a longer retention than the longest time that the router may be away. If "
        "another system still has the records, send them to the topic again.",
    ),
    Alert(
        "HeadraceTableNotComplete",
        "a lake table is complete up to a time more than 15 minutes ago",
        f"time() - max without (instance) ({TABLE_COMPLETE_UP_TO.name}) > {INCOMPLETE_S}",
        "5m",
        "critical",
        "Lake table {{ $labels.table }} is not complete for the last "
        "{{ $value | humanizeDuration }}: records that arrived since then may be missing.",
        "Run `headrace status`: it says whether the writer runs, and what is wrong. If "
        "nothing is, compare the rates of the topic and of the table: the writer needs more cores, "
        "or commits take too long (the dashboard «headrace: lake table»). Do not replay this "
        "period until the table is complete.",
    ),
    Alert(
        "HeadraceLag",
        "an output of a stream is more than 5 minutes behind its topic",
        f'max without (instance) ({LAG_SECONDS.name}{{stream!=""}}) > {LAG_S}',
        "10m",
        "warning",
        "Output {{ $labels.output }} of stream {{ $labels.stream }} is "
        "{{ $value | humanizeDuration }} behind its topic.",
        "Look at its batches on the dashboard «headrace: stream». If they fail, `headrace status` "
        "says why. If they succeed, more arrives than is processed: give the stream more cores, "
        "and use expressions that are compiled (`router explain` says which are not).",
    ),
    Alert(
        "HeadraceNotCaughtUp",
        "an output or a table has not been at the end of its topic since it was started",
        f"max without (instance) ({LAG_RECORDS.name}) > 0\n"
        f"  unless max without (instance) ({LAG_SECONDS.name})",
        "1h",
        "warning",
        f"{WHO} has not reached the end of its topic since it was started; "
        "{{ $value }} offsets are left.",
        "If it was given an old topic to read, compare the lag with its rate, and wait. If the lag "
        "does not fall, do as for HeadraceLag.",
    ),
    Alert(
        "HeadraceQuarantineRate",
        "more than 1 % of the records go into the quarantine",
        _share_of_records(QUARANTINED),
        "10m",
        "warning",
        f"{WHO} puts {{{{ $value | humanizePercentage }}}} of its records into the quarantine.",
        "Of a stream, run `router quarantine list` with its file: it groups them by reason, with "
        "samples. Correct the file, the schema, or what the producer sends; try the file with "
        "`router quarantine replay --dry-run`, then replay them. Of a lake table, read its "
        "quarantine topic: a header of each record has the reason.",
    ),
    Alert(
        "HeadraceDropRate",
        "more than 1 % of the records are dropped",
        _share_of_records(RECORDS_DROPPED),
        "10m",
        "warning",
        f"{WHO} drops {{{{ $value | humanizePercentage }}}} of its records; they are kept nowhere.",
        "The ledger counts them by rule (`router audit`). To keep them and see what they hold, set "
        "`on_bad_record: quarantine` in the file.",
    ),
    Alert(
        "HeadraceJobDown",
        "a stream, table, application or replay is not running",
        f"max without (instance) ({JOB_UP.name}) == 0",
        "5m",
        "critical",
        "{{ $labels.kind }} {{ $labels.name }} is not running.",
        "Run `headrace status`, or read /readyz of the command: both say in a sentence what is "
        "wrong. headrace tries the job again by itself, at least once a minute: do not restart it.",
    ),
    Alert(
        "HeadraceUnreachable",
        "a command does not answer Prometheus any more",
        # Whatever the scrape job is called: it has served our metrics within the last day.
        f"up == 0 and on (job, instance) max_over_time({BUILD_INFO.name}[1d])",
        "3m",
        "critical",
        "headrace at {{ $labels.instance }} does not answer Prometheus any more.",
        "Look whether the process runs, and at the end of its log. Start it again: it goes on from "
        "its positions, and nothing is lost as long as the topics have the records.",
    ),
    Alert(
        "HeadraceReplayStalled",
        "a replay has delivered no step for 15 minutes",
        f"changes({BACKFILL_PROGRESS.name}[15m]) == 0 and {BACKFILL_PROGRESS.name} < 1",
        "15m",
        "warning",
        "Replay {{ $labels.replay }} has delivered no step for half an hour.",
        "Read the end of the command's log: a step that fails is named there. See in Spark's page "
        "whether its tasks run. The replay may be stopped; `backfill replay --resume` goes on "
        "after the last step.",
    ),
    Alert(
        "HeadraceRunFailed",
        "a command that ends (--metrics-file, --metrics-push) has failed",
        f"{LAST_RUN_SUCCESS.name} == 0",
        "0m",
        "warning",
        "The last run of {{ $labels.kind }} {{ $labels.name }} has failed.",
        "Read the end of the command's log: it says in a sentence what is wrong. Run the command "
        "again; a replay with --resume. Nothing is lost as long as the topics have the records.",
    ),
)


def rules() -> str:
    """Return the file."""
    yaml = YAML()
    yaml.width = 100
    yaml.indent(mapping=2, sequence=4, offset=2)
    groups = [{"name": "headrace", "rules": [one.as_rule() for one in ALERTS]}]
    out = StringIO()
    yaml.dump({"groups": groups}, out)
    return HEAD + out.getvalue()


if __name__ == "__main__":
    RULES.write_text(rules(), encoding="utf-8")
