"""Choosing a batch, and the change itself, killed wherever it can be."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from headrace.config.load import load_workspace
from headrace.errors import Terminal, UsageError
from stream_app.follow.position import beginning
from stream_app.rewind import cut, results
from stream_app.rewind.batches import Batch, choose_batch, committed_batches, describe_offset
from stream_app.rewind.history import missing_records
from stream_app.rewind.rewinding import list_text

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace

SECOND_US = 1_000_000
BATCHES = [Batch(number, number * SECOND_US, ({"t": {"0": number}},)) for number in (9, 8, 7, 6)]


def test_a_time_is_the_newest_batch_that_had_begun_by_then() -> None:
    assert choose_batch(BATCHES, "8").number == 8
    assert choose_batch(BATCHES, "1970-01-01T00:00:08Z").number == 8
    assert choose_batch(BATCHES, "1970-01-01T00:00:08.999999Z").number == 8
    assert choose_batch(BATCHES, "2026-01-01").number == 9


@pytest.mark.parametrize(
    ("to", "told"),
    [
        ("5", "there is no committed batch 5"),
        ("1970-01-01T00:00:05Z", "no batch had begun by"),
        ("6", r"cannot rewind to batch 6 .*: it is gone"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(to: str, told: str) -> None:
    batches = [*BATCHES[:3], replace(BATCHES[3], obstacle="it is gone")]
    with pytest.raises(Terminal, match=rf"{told}[^\n]*\n.*the oldest possible is batch 7 .*9"):
        choose_batch(batches, to)


def test_nothing_to_go_back_to_and_no_time() -> None:
    with pytest.raises(Terminal, match="there is no batch to rewind to: it is gone"):
        choose_batch([replace(BATCHES[0], obstacle="it is gone")], "9")
    with pytest.raises(UsageError, match="yesterday is neither a time nor the number of a batch"):
        choose_batch(BATCHES, "yesterday")


def test_every_gap_of_every_partition_is_told() -> None:
    held = {"t": {0: range(5, 9), 1: range(3), 2: range(2, 4), 3: range(9)}}
    places = {"t": {0: 3, 1: 4, 3: 9, 4: 0}}
    told = ["t-0 @ 3 to 4", "t-1 ends before 4", "t-2 @ 0 to 1", "t-4 ends before 0"]
    assert missing_records(places, held) == told
    assert missing_records({"t": {0: 5, 1: 3, 2: 4, 3: 0}}, held) == []


def test_places_are_those_of_topics_and_of_the_live_half() -> None:
    hybrid = {"past": {"step": 3}, "live": {"t": {"0": 5}}}
    followed = beginning(0, {"lake.tv.a": 7, "lake.tv.b": None}, since_us=0).to_json()
    batch = Batch(1, 0, (hybrid, {"u": {"1": 2}}, followed))
    assert batch.positions == ({"t": {0: 5}}, {"u": {1: 2}})
    assert batch.needed == {"lake.tv.a": {7}, "lake.tv.b": set()}
    assert describe_offset({"t": {"0": 1, "1": 2}}) == "t 0:1 1:2"
    many = {str(number): 1000 for number in range(9)}
    assert describe_offset({"t": many}) == "t 9,000 in 9 partitions"
    assert describe_offset(hybrid) == "step 3 of its history, t 0:5"
    begun = beginning(0, {"lake.tv.b": 7, "lake.tv.a": None}, since_us=0)
    assert describe_offset(begun.to_json()) == "nothing of lake.tv.a, lake.tv.b yet"
    reached = replace(begun, until_us=5, reached_us=9).to_json()
    told = "lake.tv.a, lake.tv.b 1970-01-01T00:00:00.000005Z"
    assert describe_offset(reached) == told
    assert list_text("it", [Batch(1, 0, (reached, reached))]).endswith(f"Z  {told}")


def checkpoint(place: Path) -> None:
    """Make what Spark leaves after five batches, with files of checksums."""
    for batch in range(5):
        line = json.dumps({"t": {"0": batch}})
        for log in ("offsets", "commits"):
            began = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": batch * 1000})
            put(place / log / str(batch), f"v1\n{began}\n{line}")
        put(place / f"state/0/0/{batch + 1}.delta", str(batch))
    put(place / "metadata", '{"id": "0c8e4b69-5d68-47f8-92e7-5d01b01cfb85"}')


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.with_name(f".{path.name}.crc").write_text("sum")


def names(folder: Path) -> set[str]:
    return {str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file()}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "headrace.yaml").write_text('clusters: {c: {bootstrap_servers: "127.0.0.1:1"}}')
    return load_workspace(tmp_path)


def test_a_committed_batch_is_one_that_both_logs_have(tmp_path: Path) -> None:
    checkpoint(tmp_path)
    (tmp_path / "commits/4").unlink()
    (tmp_path / "offsets/1").unlink()
    found = committed_batches(tmp_path)
    assert [one.number for one in found] == [3, 2, 0]
    assert found[1].obstacle == "batch 1, at whose end it begins, is gone from Spark's log"
    (tmp_path / "offsets/3").write_text("v2\n")
    with pytest.raises(Terminal, match="Spark's log of offsets cannot be read"):
        committed_batches(tmp_path)
    # Gone between the listing of the log and a look at it, as when the query runs.
    (tmp_path / "offsets/3").unlink()
    (tmp_path / "offsets/3").symlink_to(tmp_path / "gone")
    assert [one.number for one in committed_batches(tmp_path)] == [2, 0]


def test_a_batch_is_as_old_as_its_record_says_and_not_as_its_files_are(tmp_path: Path) -> None:
    # A folder that was copied, restored or touched has the times of that.
    checkpoint(tmp_path)
    for number in range(5):
        os.utime(tmp_path / "commits" / str(number), (9_000 - number, 9_000 - number))
    found = committed_batches(tmp_path)
    assert [one.began_us for one in found] == [4_000_000, 3_000_000, 2_000_000, 1_000_000, 0]
    assert choose_batch(found, "1970-01-01T00:00:02.5Z").number == 2
    (tmp_path / "offsets/3").write_text('v1\n{"batchWatermarkMs": 0}\n{"t": {"0": 3}}')
    with pytest.raises(Terminal, match="Spark's log of offsets cannot be read"):
        committed_batches(tmp_path)


def test_killed_anywhere_it_is_the_old_one_or_the_new_one(
    tmp_path: Path, workspace: Workspace
) -> None:
    out = tmp_path / "out"
    change = results.FilesMove(str(out), "counts-0c8e4b69-")
    wanted = cut.Cut(1, "before", change)
    state = tmp_path / "state"

    def make() -> None:
        for folder in (state, out):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        checkpoint(state / "checkpoint")
        for batch in range(5):
            (out / f"counts-0c8e4b69-{batch:06d}-000.jsonl").write_text(str(batch))

    def go_back() -> None:
        cut.prepare(state, wanted)
        cut.finish(state, workspace)

    make()
    old = names(state / "checkpoint"), names(out)
    go_back()
    new = names(state / "checkpoint"), names(out)
    assert "state/0/0/2.delta" in new[0]
    assert not {one for one in new[0] if one.split("/")[-1].strip(".")[:1] in "345"}
    assert names(state / "before/checkpoint") == old[0]
    outcomes = []
    for event in range(1000):
        make()
        if not killed_at(event, go_back):
            break
        cut.finish(state, workspace)
        found = names(state / "checkpoint"), names(out)
        assert found in (old, new), f"killed at its change number {event} of the file system"
        outcomes.append(found == new)
    assert sorted(outcomes) == outcomes, "what was decided is done"
    assert {True, False} == set(outcomes)


def killed_at(number: int, work: object) -> bool:
    """Do the work in a process that is killed before that change of a file; whether it was."""
    child = os.fork()
    if child == 0:
        left = number

        def count(event: str, _: object) -> None:
            nonlocal left
            if event in {"os.rename", "os.link", "os.mkdir", "os.remove", "os.rmdir"}:
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1

        sys.addaudithook(count)
        assert callable(work)
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
