from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest
import structlog
from prometheus_client.parser import text_string_to_metric_families

from headrace.errors import Terminal, UsageError
from headrace.metrics.at_end import MetricsAtEnd, metrics_at_end, require_file, require_url
from headrace.metrics.definitions import BUILD_INFO, JOB_UP, RECORDS_IN
from headrace.metrics.text import Sample
from headrace.secret import Secret
from tests.pushgateway_server import metrics_of, pushgateway

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.metrics.at_end import RunOutcome

LABELS = {"stream": "plays", "output": "starts"}


def samples() -> Iterator[Sample]:
    yield Sample(BUILD_INFO, {"version": "1"}, 1)
    yield Sample(JOB_UP, {"kind": "stream", "name": "plays"}, 0)
    yield Sample(RECORDS_IN, LABELS, 7)


def values(text: str) -> dict[str, float]:
    return {
        one.name: one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
        if one.name.startswith("headrace_")
    }


def ended(where: MetricsAtEnd, *, fails: bool = False) -> RunOutcome:
    with metrics_at_end(where, "stream", "plays", samples) as outcome:
        outcome.has_failed = fails
    return outcome


def test_the_file_has_the_metrics_and_how_the_run_ended(tmp_path: Path) -> None:
    file = tmp_path / "plays.prom"
    ended(MetricsAtEnd(file))
    found = values(file.read_text())
    assert found["headrace_last_run_success"] == 1
    assert found["headrace_last_run_timestamp_seconds"] > 1_600_000_000
    assert found["headrace_records_in_total"] == 7
    # There is no process any more that could be up.
    assert not found.keys() & {"headrace_job_up", "headrace_build_info"}
    # Nothing else is there for the collector to read, and it may read it as another user.
    assert [one.name for one in tmp_path.iterdir()] == ["plays.prom"]
    assert file.stat().st_mode & 0o004


def test_a_run_that_fails_is_told_and_its_error_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "plays.prom"
    with (
        pytest.raises(Terminal, match="no topic"),
        metrics_at_end(MetricsAtEnd(file), "stream", "plays", samples),
    ):
        raise Terminal("no topic")
    assert values(file.read_text())["headrace_last_run_success"] == 0
    ended(MetricsAtEnd(file), fails=True)
    assert values(file.read_text())["headrace_last_run_success"] == 0


def test_a_file_that_cannot_be_written_in_the_end_fails_no_run(tmp_path: Path) -> None:
    folder = tmp_path / "plays.prom"
    folder.mkdir()
    with structlog.testing.capture_logs() as lines:
        assert not ended(MetricsAtEnd(folder)).has_failed
    assert [one["event"] for one in lines] == ["the metrics were not written"]


@pytest.mark.parametrize("name", ["plays.txt", "none/plays.prom"])
def test_a_file_that_nobody_would_read_is_refused_at_the_start(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="--metrics-file"):
        require_file(tmp_path / name)


def test_a_pushgateway_has_the_last_run_of_each_job(tmp_path: Path) -> None:
    with pushgateway(tmp_path / "log") as address:
        where = MetricsAtEnd(push=Secret(f"{address}/"))
        ended(where)
        ended(where, fails=True)
        with metrics_at_end(where, "replay", "lake.tv.a,lake.tv/b", samples):
            pass
        text = metrics_of(address)
    runs = [one for one in text.splitlines() if one.startswith("headrace_last_run_success{")]
    assert sorted(runs) == [
        'headrace_last_run_success{instance="",job="headrace",kind="replay",name="lake.tv.a,lake.tv/b"} 1',
        'headrace_last_run_success{instance="",job="headrace",kind="stream",name="plays"} 0',
    ]
    assert 'stream="plays"} 7' in text


def test_a_pushgateway_that_is_away_fails_no_run_and_its_password_is_not_logged() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    where = MetricsAtEnd(push=Secret(f"http://me:pepper@127.0.0.1:{port}"))
    with structlog.testing.capture_logs() as lines:
        assert not ended(where).has_failed
    assert [one["event"] for one in lines] == ["the metrics were not pushed"]
    assert "pepper" not in repr(lines) + repr(where)


def test_what_is_no_address_is_refused_at_the_start() -> None:
    with pytest.raises(UsageError, match="--metrics-push is not an address") as refused:
        require_url(Secret("me:pepper@gateway"))
    assert "pepper" not in str(refused.value)
