from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from backfill.run.certificate import Certificate, SourceCount
from backfill.run.lineage import job_of, replay_result
from backfill.run.options import parse_request
from backfill.run.state import RunRecord
from headrace.config.load import load_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.config.workspace.workspace import Workspace
    from headrace.lineage.jobs import LineageJob, LineageResult

IMPRESSIONS = "lake.playback.impressions"
PERIOD = {"start": "2026-03-01T00:00:00Z", "end": "2026-03-02T00:00:00Z"}
GOOD = Certificate(
    period="[a, b)",
    order="strict",
    steps=3,
    threshold_ms=60_000,
    max_disorder_ms=59_000,
    dropped_late=0,
    complete=True,
    sources=(SourceCount("lake.a.b", 77, 2, 10, 10, 10),),
    offset_order_held=True,
)


def locations(job: LineageJob) -> tuple[list[str], list[str]]:
    return [one.location for one in job.inputs], [one.location for one in job.outputs]


def test_a_replay_of_an_application_reads_tables_and_writes_its_sink(
    workspace: Callable[..., Workspace],
) -> None:
    home = workspace()
    app, request = parse_request(
        {"app_path": home.root / "apps/rmi.yaml", "start": PERIOD["start"], "end": PERIOD["end"]},
        home,
    )
    job = job_of("again", app, None, request)
    assert (job.name, job.tags) == ("replay.rmi", {"run_id": "again"})
    assert locations(job) == ([f"iceberg:{IMPRESSIONS}"], ["iceberg:lake.playback.rmi_out"])
    assert job.period == ("2026-03-01T00:00:00.000000Z", "2026-03-02T00:00:00.000000Z")
    # Where a staged result is, is known at the end.
    staged = job_of("again", app, None, replace(request, stage=True))
    assert locations(staged) == ([f"iceberg:{IMPRESSIONS}"], [])


def test_a_replay_that_goes_on_is_the_same_job(workspace: Callable[..., Workspace]) -> None:
    home = workspace()
    record = RunRecord("iceberg:lake.playback.rmi_out", "2026-03-01", 3, 10, (IMPRESSIONS,))
    app = load_app(home.root / "apps/rmi.yaml", home)
    assert job_of("again", app, None, record).name == "replay.rmi"


@pytest.mark.parametrize("to", ["kafka:consumer/again", "jsonl:/srv/out"])
def test_a_replay_of_tables_goes_to_its_target(to: str) -> None:
    record = RunRecord(to, "2026-03-01", 3, 10, ("lake.a.b", "lake.a.c"))
    job = job_of("again", None, to, record)
    assert job.name == "replay.lake.a.b,lake.a.c"
    assert locations(job) == (["iceberg:lake.a.b", "iceberg:lake.a.c"], [to])


def failed(result: LineageResult) -> list[str]:
    return [one.name for one in result.tests if not one.has_passed]


def test_a_good_certificate_passes_all_tests_and_names_what_was_read() -> None:
    result = replay_result(GOOD, "kafka:consumer/again", is_of_records=True)
    assert [one.name for one in result.tests] == [
        "bounded_disorder",
        "offset_order",
        "none_dropped_as_late",
        "rows_as_planned.lake.a.b",
    ]
    assert failed(result) == []
    assert result.snapshots == {"iceberg:lake.a.b": 77}
    assert (result.rows_written, result.output) == (10, "kafka:consumer/again")
    # An application may write more rows than it reads, or fewer.
    assert replay_result(GOOD, "iceberg:lake.a.d", is_of_records=False).rows_written is None


@pytest.mark.parametrize(
    ("certificate", "test"),
    [
        (replace(GOOD, max_disorder_ms=60_001), "bounded_disorder"),
        (replace(GOOD, offset_order_held=False), "offset_order"),
        (replace(GOOD, dropped_late=1), "none_dropped_as_late"),
        (
            replace(GOOD, sources=(replace(GOOD.sources[0], rows=9),)),
            "rows_as_planned.lake.a.b",
        ),
    ],
)
def test_whatever_a_certificate_finds_fails_a_test(certificate: Certificate, test: str) -> None:
    assert len(certificate.differences()) == 1
    assert failed(replay_result(certificate, "jsonl:out", is_of_records=True)) == [test]


def test_a_replay_that_stopped_early_is_not_complete_and_counts_no_rows_against_its_plan() -> None:
    part = replace(GOOD, complete=False, sources=(replace(GOOD.sources[0], rows=4),))
    result = replay_result(part, "jsonl:out", is_of_records=True)
    assert not result.is_complete
    assert failed(result) == []
