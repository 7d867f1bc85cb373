"""The text of metrics, read by Prometheus's own client."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from headrace.metrics.definitions import BATCH_DURATION, METRICS, RECORDS_IN, RECORDS_OUT
from headrace.metrics.durations import BOUNDS_S, Durations
from headrace.metrics.text import Sample, exposition
from tools.write_metrics_page import PAGE, page

# What the contract with users names; no release takes one away.
PROMISED = [
    "headrace_records_in_total",
    "headrace_records_out_total",
    "headrace_records_dropped_total",
    "headrace_quarantined_total",
    "headrace_batch_duration_seconds",
    "headrace_source_lag_records",
    "headrace_source_lag_seconds",
    "headrace_watermark_timestamp_seconds",
    "headrace_watermark_drift_seconds",
    "headrace_backfill_files_total",
    "headrace_backfill_files_done",
    "headrace_backfill_progress_ratio",
    "headrace_backfill_eta_seconds",
    "headrace_ledger_gap_offsets",
    "headrace_table_complete_up_to_timestamp_seconds",
    "headrace_table_seconds_since_last_commit",
    "headrace_commit_duration_seconds",
    "headrace_committed_rows_total",
    "headrace_committed_bytes_total",
    "headrace_committed_files_total",
    "headrace_backfill_frontier_timestamp_seconds",
    "headrace_job_up",
]


@given(st.text(), st.integers(0, 2**53), st.floats(allow_nan=False))
def test_any_label_and_number_is_read_back(name: str, count: int, number: float) -> None:
    labels = {"stream": name, "output": "o"}
    text = exposition([Sample(RECORDS_IN, labels, count), Sample(RECORDS_OUT, labels, number)])
    # The parser goes by str.splitlines, which knows more ends of a line than the format does.
    if len(name.splitlines()) > 1 or "\r" in name:
        return
    first, second = text_string_to_metric_families(text)
    assert [(one.labels, one.value) for one in first.samples] == [(labels, count)]
    assert [one.value for one in second.samples] == [number]


def test_a_histogram_is_cumulative() -> None:
    took = Durations()
    for seconds in (0.05, 0.1, 0.3, 400.0):
        took.observe(seconds)
    text = exposition([Sample(BATCH_DURATION, {"table": "t"}, took)])
    (family,) = text_string_to_metric_families(text)
    found = {one.labels.get("le", one.name): one.value for one in family.samples}
    assert [found[str(bound)] for bound in BOUNDS_S] == [2, 2, 3, 3, 3, 3, 3, 3, 3]
    assert found["+Inf"] == found["headrace_batch_duration_seconds_count"] == 4
    assert found["headrace_batch_duration_seconds_sum"] == pytest.approx(400.45)


def test_samples_of_a_metric_stand_together_whatever_their_order() -> None:
    one, two = ({"stream": "s", "output": name} for name in "ab")
    samples = [Sample(metric, labels, 1) for labels in (one, two) for metric in METRICS[2:4]]
    names = re.findall(r"^(\w+)\{", exposition(samples), re.MULTILINE)
    assert names == sorted(names, key=[metric.name for metric in METRICS].index)


def test_a_label_that_is_not_in_the_list_is_refused() -> None:
    with pytest.raises(ValueError, match="no label key"):
        Sample(RECORDS_IN, {"key": "k"}, 1)


def test_the_list_has_every_promised_name_once_and_no_other_form() -> None:
    names = [one.name for one in METRICS]
    assert len(names) == len(set(names))
    assert set(PROMISED) <= set(names)
    assert all(name.startswith("headrace_") for name in names)
    assert all(one.name.endswith("_total") for one in METRICS if one.kind == "counter")


def test_the_page_of_metrics_is_the_lists_one() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "make generated"
