from __future__ import annotations

import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from headrace.embedded.process import wait_until
from headrace.errors import ClusterUnreachable, Terminal
from headrace.http.board import Board, Facts
from headrace.lineage import reporter as module
from headrace.lineage.jobs import LineageDataset, LineageJob, LineageResult, LineageTest
from headrace.lineage.reporting import reported, reporting
from headrace.metrics.definitions import LINEAGE_EVENTS, RECORDS_IN, RECORDS_OUT
from headrace.metrics.text import Sample
from headrace.signals import Drain
from tests.limits import LIMIT_S
from tests.lineage_receiver import has_spec, misfits, receiving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.config.workspace.workspace import Workspace
    from tests.lineage_receiver import Receiver

STARTS = {"stream": "playback", "output": "starts"}


def job(name: str = "stream.playback", *, is_lasting: bool = True) -> LineageJob:
    return LineageJob(
        name,
        "STREAM",
        is_lasting,
        [LineageDataset("kafka:fronting/playback_raw", counted={"stream": "playback"})],
        [LineageDataset("kafka:consumer/playback_starts", {"event_id": None}, STARTS)],
    )


class Counted(Facts):
    """A stream that has read ten records, and written four."""

    def samples(self) -> Iterator[Sample]:
        yield Sample(RECORDS_IN, STARTS, 10)
        yield Sample(RECORDS_OUT, STARTS, 4)


def board(facts: Facts | None = None) -> Board:
    made = Board("router playback", Drain())
    made.facts = Counted() if facts is None else facts
    return made


def states(receiver: Receiver, name: str = "stream.playback") -> list[str]:
    return [one["eventType"] for one in receiver.of(name)]


def outcomes(shown: Board) -> dict[str, float]:
    return {
        one.labels["outcome"]: float(one.value)  # type: ignore[arg-type]  # a counter's
        for one in shown.samples()
        if one.metric is LINEAGE_EVENTS
    }


def all_valid(receiver: Receiver) -> bool:
    found = [one for event in receiver.events for one in misfits(event)] if has_spec() else []
    assert found == []
    return True


def test_a_run_tells_of_its_begin_and_its_end(
    workspace: Callable[..., Workspace], receiver: Receiver
) -> None:
    home = workspace(url=receiver.url, namespace="tv")
    with reported(home, shown := board(), job):
        assert wait_until(lambda: states(receiver) == ["START"], LIMIT_S)
    start, end = receiver.events
    assert states(receiver) == ["START", "COMPLETE"]
    assert start["job"]["namespace"] == end["job"]["namespace"] == "tv"
    assert start["run"]["runId"] == end["run"]["runId"]
    (read,), (written,) = end["inputs"], end["outputs"]
    assert (read["namespace"], read["name"]) == ("kafka://127.0.0.1:9092", "playback_raw")
    assert read["inputFacets"]["inputStatistics"]["rowCount"] == 10
    assert written["outputFacets"]["outputStatistics"]["rowCount"] == 4
    assert written["facets"]["schema"]["fields"][0]["name"] == "event_id"
    pattern = start["job"]["facets"]["jobType"]
    assert pattern["processingType"] == "STREAMING"
    assert pattern["emissionPattern"]["windowDuration"] == 300
    assert outcomes(shown) == {"sent": 2, "lost": 0}
    assert all_valid(receiver)


def test_a_lasting_run_says_again_and_again_that_it_runs(
    workspace: Callable[..., Workspace], receiver: Receiver
) -> None:
    home = workspace(url=receiver.url, interval="1s")
    with reported(home, board(), job):
        assert wait_until(lambda: states(receiver).count("RUNNING") >= 2, LIMIT_S)
    assert states(receiver)[0] == "START"
    assert states(receiver)[-1] == "COMPLETE"
    assert all_valid(receiver)


def test_a_failure_tells_the_sentence_of_its_error(
    workspace: Callable[..., Workspace], receiver: Receiver
) -> None:
    home = workspace(url=receiver.url)
    with pytest.raises(ClusterUnreachable), reported(home, board(), job):
        raise ClusterUnreachable("fronting", "127.0.0.1:1", "refused")
    with pytest.raises(ValueError, match="pepper"), reported(home, board(), job):
        raise ValueError("the password is pepper")
    assert states(receiver) == ["START", "FAIL", "START", "FAIL"]
    said = [
        one["run"]["facets"]["errorMessage"]["message"]
        for one in receiver.events
        if one["eventType"] == "FAIL"
    ]
    assert said[0].startswith("no Kafka broker of cluster fronting answers")
    # The words of a library may name a secret.
    assert said[1] == "ValueError"
    assert all_valid(receiver)


@pytest.mark.parametrize(
    ("result", "state"),
    [
        (LineageResult(), "COMPLETE"),
        (LineageResult(is_complete=False), "ABORT"),
        (LineageResult(tests=[LineageTest("order", False, "0", "1", "In order.")]), "FAIL"),
    ],
)
def test_the_result_decides_how_a_run_has_ended(
    workspace: Callable[..., Workspace], receiver: Receiver, result: LineageResult, state: str
) -> None:
    with reported(workspace(url=receiver.url), board(), job) as run:
        assert run is not None
        run.result = result
    assert states(receiver) == ["START", state]
    assert all_valid(receiver)


def test_nothing_is_sent_before_a_table_can_be_there_but_the_end_is_told_all_the_same(
    workspace: Callable[..., Workspace], receiver: Receiver
) -> None:
    starting = Board("router playback", Drain())
    with reporting(workspace(url=receiver.url), starting) as lineage:
        lineage.end(lineage.begin(job), "FAIL")
        assert receiver.events == []
    assert states(receiver) == ["START", "FAIL"]


def test_a_receiver_that_is_away_gets_begin_and_end_later_and_is_named_once(
    workspace: Callable[..., Workspace],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    home = workspace(url=f"http://127.0.0.1:{port}", interval="1s")
    with structlog.testing.capture_logs() as lines, reporting(home, shown := board()) as lineage:
        run = lineage.begin(job)
        # Its periodic events are lost, which nobody needs later.
        assert wait_until(lambda: outcomes(shown)["lost"] >= 2, LIMIT_S)
        lineage.end(run, "COMPLETE")
        with receiving(port) as receiver:
            assert wait_until(lambda: states(receiver) == ["START", "COMPLETE"], LIMIT_S)
            began, ended = (one["eventTime"] for one in receiver.events)
            assert began < ended
    said = [one["event"] for one in lines]
    assert (
        said.count("the receiver of lineage does not answer; jobs go on, and it is tried again")
        == 1
    )
    assert said.count("lineage is sent again") == 1


def test_a_command_ends_though_the_receiver_never_answers(
    workspace: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "END_WITHIN_S", 0.5)
    # It takes connections, and says nothing.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        home = workspace(url=f"http://127.0.0.1:{silent.getsockname()[1]}")
        with structlog.testing.capture_logs() as lines, reported(home, shown := board(), job):
            pass
    assert outcomes(shown) == {"sent": 0, "lost": 2}
    assert [one["event"] for one in lines] == ["events of lineage were not sent before the end"]


def test_a_command_waits_at_its_end_as_long_as_events_get_away(
    workspace: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch, receiver: Receiver
) -> None:
    monkeypatch.setattr(module, "END_WITHIN_S", 0.5)
    receiver.takes_s = 0.1
    with reporting(workspace(url=receiver.url), shown := board()) as lineage:
        for _ in range(15):
            lineage.begin(job)
    assert outcomes(shown) == {"sent": 15, "lost": 0}


def test_what_waits_is_bounded(
    workspace: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch, receiver: Receiver
) -> None:
    monkeypatch.setattr(module, "MOST_EVENTS", 10)
    starting = Board("headrace up", Drain())
    with reporting(workspace(url=receiver.url), starting) as lineage:
        for number in range(25):
            lineage.begin(lambda number=number: job(f"stream.s{number}"))  # type: ignore[misc]
        starting.facts = Counted()
    assert [one["job"]["name"] for one in receiver.events] == [
        f"stream.s{n}" for n in range(15, 25)
    ]
    assert outcomes(starting) == {"sent": 10, "lost": 15}


def test_an_event_that_the_receiver_refuses_holds_up_no_other(
    workspace: Callable[..., Workspace], receiver: Receiver
) -> None:
    receiver.status = 422
    with (
        structlog.testing.capture_logs() as lines,
        reporting(workspace(url=receiver.url), shown := board()) as lineage,
    ):
        lineage.begin(job)
        assert wait_until(lambda: outcomes(shown)["lost"] == 1, LIMIT_S)
        receiver.status = 201
        lineage.begin(lambda: job("stream.second"))
    assert states(receiver, "stream.second") == ["START"]
    assert lines[0]["event"] == "the receiver of lineage refuses events"
    assert lines[0]["status"] == 422


def test_a_job_that_cannot_be_described_stops_nothing(
    workspace: Callable[..., Workspace], receiver: Receiver
) -> None:
    def broken() -> LineageJob:
        raise Terminal("the file is gone")

    with (
        structlog.testing.capture_logs() as lines,
        reporting(workspace(url=receiver.url), shown := board()) as lineage,
    ):
        lineage.begin(broken)
        lineage.begin(job)
    assert states(receiver) == ["START"]
    assert outcomes(shown) == {"sent": 1, "lost": 1}
    assert lines[0]["problem"] == "the file is gone"


def test_a_table_whose_catalog_does_not_answer_is_left_out_of_the_event(
    workspace: Callable[..., Workspace], receiver: Receiver
) -> None:
    home = workspace(url=receiver.url)
    made = LineageJob(
        "lake_table.none", "LAKE_TABLE", True, (), [LineageDataset("iceberg:lake.a.b")]
    )
    with reported(home, board(), lambda: made):
        pass
    assert [one["outputs"] for one in receiver.events] == [[], []]
    # Who only tells of it does not make it.
    assert not (home.root / ".headrace").exists()


def test_the_key_goes_with_each_event_and_into_no_text(
    workspace: Callable[..., Workspace], receiver: Receiver
) -> None:
    home = workspace(url=receiver.url, api_key="pepper")
    with structlog.testing.capture_logs() as lines, reported(home, board(), job):
        pass
    assert receiver.tokens == {"Bearer pepper"}
    assert "pepper" not in repr(home) + repr(lines) + repr(receiver.events)


def test_openlineages_own_variables_count_where_no_url_is_named(
    workspace: Callable[..., Workspace], receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT", f'{{"type": "http", "url": "{receiver.url}"}}')
    with reported(workspace(namespace="tv"), board(), job):
        pass
    assert states(receiver) == ["START", "COMPLETE"]


@pytest.mark.parametrize(
    ("lineage", "message"),
    [
        ({"namespace": "tv"}, "lineage names no receiver"),
        ({"api_key": "pepper"}, "lineage.api_key has no lineage.url"),
        ({"url": "ftp://me:pepper@host"}, "lineage.url is not an address"),
    ],
)
def test_a_setup_that_can_send_nothing_is_refused(
    workspace: Callable[..., Workspace], lineage: dict[str, Any], message: str
) -> None:
    with (
        pytest.raises(Terminal, match=message) as refused,
        reported(workspace(**lineage), board(), job),
    ):
        pass
    assert "pepper" not in str(refused.value)


def test_who_does_not_ask_for_lineage_does_not_load_it() -> None:
    loaded = (
        "import sys, headrace.lineage.reporting, headrace.lineage.declared, router.cli.main;"
        "sys.exit('openlineage' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", loaded], check=False).returncode == 0
