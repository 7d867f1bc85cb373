"""Recorded series for each alert: some on which it fires, and some that look alike on which it does not.

A series is in promtool's notation: `0+60x10` is eleven samples from 0 on, each 60 more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

OUTPUT: Final = 'job="headrace",instance="a",stream="plays",output="starts"'
TABLE: Final = 'job="headrace",instance="a",table="starts"'
REPLAY: Final = 'job="headrace",instance="a",replay="run-1"'
TARGET: Final = 'job="routers",instance="a"'
STREAM_LABELS: Final = {"job": "headrace", "stream": "plays", "output": "starts"}
TABLE_LABELS: Final = {"job": "headrace", "table": "starts"}


@dataclass(frozen=True)
class Case:
    """Series with a sample each minute (`every`), and what the alert says at a time; without a summary it is quiet."""

    alert: str
    why: str
    series: Mapping[str, str]
    at: str
    summary: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    every: str = "1m"


GAP: Final = f"headrace_ledger_gap_offsets{{{OUTPUT}}}"
COMPLETE: Final = f"headrace_table_complete_up_to_timestamp_seconds{{{TABLE}}}"
LAG_S: Final = f"headrace_source_lag_seconds{{{OUTPUT}}}"
LAG: Final = f"headrace_source_lag_records{{{OUTPUT}}}"
READ: Final = f"headrace_records_in_total{{{OUTPUT}}}"
REJECTED: Final = f"headrace_quarantined_total{{{OUTPUT}}}"
UP: Final = 'headrace_job_up{job="headrace",instance="a",kind="stream",name="plays"}'
ENDED: Final = 'headrace_last_run_success{job="node",instance="a",kind="stream",name="plays"}'
PROGRESS: Final = f"headrace_backfill_progress_ratio{{{REPLAY}}}"


def dropped(reason: str) -> str:
    return f'headrace_records_dropped_total{{{OUTPUT},reason="{reason}"}}'


LOST: Final = (
    "Output starts of stream plays lost offsets within the last day: the topic no longer had them "
    "when they were to be read; 7 are lost in all."
)
CASES: Final = (
    Case(
        "HeadraceLedgerGap", "offsets are lost now", {GAP: "0x10 7x10"}, "12m", LOST, STREAM_LABELS
    ),
    Case(
        "HeadraceLedgerGap", "were lost when it started", {GAP: "7x10"}, "1m", LOST, STREAM_LABELS
    ),
    Case("HeadraceLedgerGap", "no offset was ever lost", {GAP: "0x100"}, "90m"),
    Case("HeadraceLedgerGap", "were lost the day before", {GAP: "0x1 7x300"}, "26h", every="10m"),
    Case(
        "HeadraceLedgerGap",
        "a restart has another instance, and no new gap",
        {GAP: "7x150", GAP.replace('"a"', '"b"'): "_x150 7x20"},
        "26h",
        every="10m",
    ),
    Case(
        "HeadraceTableNotComplete",
        "the table stands still",
        {COMPLETE: "0x60"},
        "30m",
        "Lake table starts is not complete for the last 30m 0s: records that arrived since then "
        "may be missing.",
        TABLE_LABELS,
    ),
    Case("HeadraceTableNotComplete", "it follows a minute behind", {COMPLETE: "-60+60x60"}, "60m"),
    Case(
        "HeadraceTableNotComplete",
        "a commit takes ten minutes",
        {COMPLETE: "0x10 600+60x60"},
        "11m",
    ),
    Case(
        "HeadraceLag",
        "the lag grows",
        {LAG_S: "0+60x60"},
        "20m",
        "Output starts of stream plays is 20m 0s behind its topic.",
        STREAM_LABELS,
    ),
    Case("HeadraceLag", "a peak of ten minutes is worked off", {LAG_S: "0+60x9 0x60"}, "15m"),
    Case(
        "HeadraceLag",
        "a table has an alert of its own",
        {f"headrace_source_lag_seconds{{{TABLE}}}": "0+60x60"},
        "60m",
    ),
    Case(
        "HeadraceNotCaughtUp",
        "an old topic, and no end in sight",
        {LAG: "9000x100"},
        "90m",
        "Output starts of stream plays has not reached the end of its topic since it was started; "
        "9000 offsets are left.",
        STREAM_LABELS,
    ),
    Case(
        "HeadraceNotCaughtUp",
        "the same of a table",
        {f"headrace_source_lag_records{{{TABLE}}}": "9000x100"},
        "90m",
        "Lake table starts has not reached the end of its topic since it was started; 9000 offsets "
        "are left.",
        TABLE_LABELS,
    ),
    Case(
        "HeadraceNotCaughtUp", "it was at the end before", {LAG: "9000x100", LAG_S: "60x100"}, "90m"
    ),
    Case(
        "HeadraceQuarantineRate",
        "one in twenty is rejected",
        {READ: "0+600x60", REJECTED: "0+30x60"},
        "30m",
        "Output starts of stream plays puts 5% of its records into the quarantine.",
        STREAM_LABELS,
    ),
    Case(
        "HeadraceQuarantineRate",
        "one in a thousand is rejected",
        {READ: "0+6000x60", REJECTED: "0+6x60"},
        "30m",
    ),
    Case(
        "HeadraceQuarantineRate",
        "nothing arrives, what was rejected is old",
        {READ: "600x60", REJECTED: "30x60"},
        "30m",
    ),
    Case(
        "HeadraceQuarantineRate",
        "a restart begins the counters at 0",
        {READ: "90000x10 0+600x60", REJECTED: "90000x10 0x60"},
        "30m",
    ),
    Case(
        "HeadraceDropRate",
        "two rules together reject one in fifty",
        {READ: "0+600x60", dropped("required"): "0+6x60", dropped("schema"): "0+6x60"},
        "30m",
        "Output starts of stream plays drops 2% of its records; they are kept nowhere.",
        STREAM_LABELS,
    ),
    Case(
        "HeadraceDropRate",
        "one in a thousand is dropped",
        {READ: "0+6000x60", dropped("required"): "0+6x60"},
        "30m",
    ),
    Case(
        "HeadraceJobDown",
        "the job waits after a failure",
        {UP: "1x5 0x20"},
        "15m",
        "stream plays is not running.",
        {"job": "headrace", "kind": "stream", "name": "plays"},
    ),
    Case("HeadraceJobDown", "it waited for three minutes", {UP: "1x5 0x2 1x20"}, "9m"),
    Case(
        "HeadraceJobDown",
        "another instance runs it",
        {UP: "0x20", UP.replace('"a"', '"b"'): "1x20"},
        "15m",
    ),
    Case(
        "HeadraceUnreachable",
        "the process is gone",
        {f"up{{{TARGET}}}": "1x5 0x20", f'headrace_build_info{{{TARGET},version="1"}}': "1x5 _x20"},
        "15m",
        "headrace at a does not answer Prometheus any more.",
        {"job": "routers", "instance": "a"},
    ),
    Case(
        "HeadraceUnreachable", "another system's target is gone", {f"up{{{TARGET}}}": "0x20"}, "15m"
    ),
    Case(
        "HeadraceUnreachable",
        "one scrape failed",
        {f"up{{{TARGET}}}": "1x5 0 1x20", f'headrace_build_info{{{TARGET},version="1"}}': "1x20"},
        "7m",
    ),
    Case(
        "HeadraceReplayStalled",
        "no step for an hour",
        {PROGRESS: "0+0.1x4 0.4x60"},
        "60m",
        "Replay run-1 has delivered no step for half an hour.",
        {"job": "headrace", "instance": "a", "replay": "run-1"},
    ),
    Case(
        "HeadraceReplayStalled",
        "a step each ten minutes",
        {PROGRESS: "0x9 0.1x9 0.2x9 0.3x9 0.4x9"},
        "48m",
    ),
    Case("HeadraceReplayStalled", "all steps are done", {PROGRESS: "0+0.1x10 1x60"}, "60m"),
    Case(
        "HeadraceRunFailed",
        "the second run has failed",
        {ENDED: "1x5 0x5"},
        "7m",
        "The last run of stream plays has failed.",
        {"job": "node", "instance": "a", "kind": "stream", "name": "plays"},
    ),
    Case("HeadraceRunFailed", "the run after it was good", {ENDED: "1x5 0x5 1x5"}, "13m"),
)
