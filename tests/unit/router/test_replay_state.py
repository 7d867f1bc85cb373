"""What a replay of a quarantine leaves on the disk: how it fares, and how it ended."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from headrace.errors import Terminal
from headrace.kafka.message import GivenMessage, RecordPosition
from headrace.locks import hold
from router.quarantine.records import QuarantinedRecord
from router.quarantine.replay_state import ReplayRecorder, is_running, last_replay, lock_in
from router.quarantine.replayed import parted, replayed_by

if TYPE_CHECKING:
    from pathlib import Path


def test_it_runs_as_long_as_its_process_holds_the_lock(tmp_path: Path) -> None:
    assert last_replay(tmp_path) is None
    with hold(lock_in(tmp_path), "a replay", ""), ReplayRecorder(tmp_path) as recorder:
        recorder.note(10, 40, {"outputs": {"starts": {"replayed": 10}}})
        running = last_replay(tmp_path)
        assert running is not None
        assert (running.read, running.records, running.ended_at) == (10, 40, None)
        assert is_running(tmp_path, running)
        # Another process than the one that wrote it: that one was killed.
        assert not is_running(tmp_path, replace(running, pid=running.pid + 1))
    ended = last_replay(tmp_path)
    assert ended is not None
    assert (ended.problem, ended.report) == (None, {"outputs": {"starts": {"replayed": 10}}})
    assert ended.ended_at is not None
    assert not is_running(tmp_path, ended)


def test_how_it_failed_is_kept_without_words_that_may_name_a_secret(tmp_path: Path) -> None:
    with pytest.raises(Terminal), ReplayRecorder(tmp_path):
        raise Terminal("the topic is gone", "create it")
    failed = last_replay(tmp_path)
    assert failed is not None
    assert (failed.problem, failed.advice) == ("the topic is gone", "create it")
    with pytest.raises(ValueError, match="hunter2"), ReplayRecorder(tmp_path):
        raise ValueError("password hunter2")
    failed = last_replay(tmp_path)
    assert failed is not None
    assert failed.problem == "it failed with ValueError"


def test_a_record_waits_for_the_outputs_that_are_not_done_with_it(tmp_path: Path) -> None:
    done = replayed_by(tmp_path, ("starts", "all"), "id")
    done["starts"].add(0, 7)
    done["starts"].save()
    again = replayed_by(tmp_path, ("starts", "all"), "id")
    assert parted(kept(7, "plays"), "plays", again) == (["all"], ["starts"])
    assert parted(kept(7, "plays.starts"), "plays", again) == ([], ["starts"])
    assert parted(kept(8, "plays.starts"), "plays", again) == (["starts"], [])
    # The output is not in the file any more.
    assert parted(kept(7, "plays.gone"), "plays", again) == ([], [])


def kept(offset: int, connector: str) -> QuarantinedRecord:
    record = GivenMessage(RecordPosition("raw", 0, 1), 1, b"{}", None, ())
    position = RecordPosition("raw.quarantine", 0, offset)
    return QuarantinedRecord(position, connector, "VALUE_CONVERTER", "bad", record)
