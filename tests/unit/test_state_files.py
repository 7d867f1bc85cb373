"""Files of state: whole or not at all, whoever else writes, and wherever the process ends."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace import state_files
from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator


class Ended(BaseException):
    """A process that is no more: nothing cleans up behind it."""


@pytest.fixture(autouse=True)
def _unwatched() -> Iterator[None]:
    yield
    state_files.watched_by(None)


def end_at(moment: state_files.Moment) -> None:
    def tell(at: state_files.Moment, _: Path) -> None:
        if at == moment:
            raise Ended

    state_files.watched_by(tell)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the files and folders that were synced, by what they were called then."""
    found: list[str] = []
    really = os.fsync

    def note(handle: int) -> None:
        found.append(str(Path(f"/proc/self/fd/{handle}").readlink()))
        really(handle)

    monkeypatch.setattr(os, "fsync", note)
    return found


@pytest.mark.parametrize(
    ("moment", "held"), [("before", b"old"), ("half", b"old"), ("after", b"new")]
)
def test_a_file_is_the_old_one_or_the_new_one(
    tmp_path: Path, moment: state_files.Moment, held: bytes
) -> None:
    path = tmp_path / "state.json"
    state_files.write(path, b"old")
    end_at(moment)
    with pytest.raises(Ended):
        state_files.write(path, b"new")
    assert path.read_bytes() == held
    state_files.watched_by(None)
    state_files.write(path, b"newer")
    assert path.read_bytes() == b"newer"


def test_what_cannot_be_written_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    state_files.write(path, b"old")

    def write() -> None:
        with state_files.writing(path) as file:
            file.write(b"ne")
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        write()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_two_that_write_the_same_file_at_once_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    both = threading.Barrier(2, timeout=30)
    problems: list[BaseException] = []

    def work(letter: bytes) -> None:
        try:
            with state_files.writing(path) as file:
                file.write(letter * 10)
                both.wait()
        except BaseException as problem:  # noqa: BLE001 - a thread's error is looked at below
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(one,)) for one in (b"a", b"b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert path.read_bytes() in {b"a" * 10, b"b" * 10}
    assert list(tmp_path.iterdir()) == [path]


def test_the_folders_that_are_made_are_synced_where_they_are_made(
    tmp_path: Path, synced: list[str]
) -> None:
    state_files.write(tmp_path / "a" / "b" / "state.json", b"new")
    assert [one for one in synced if not one.endswith(".part")] == [
        str(tmp_path),
        str(tmp_path / "a"),
        str(tmp_path / "a" / "b"),
    ]
    assert sum(one.endswith(".part") for one in synced) == 1


@pytest.mark.parametrize(
    ("moment", "held"), [("before", b"one\n"), ("half", b"one\ntw"), ("after", b"one\ntwo\n")]
)
def test_what_a_log_gains_may_be_torn_and_is_written_over(
    tmp_path: Path, moment: state_files.Moment, held: bytes
) -> None:
    path = tmp_path / "log"
    state_files.write(path, b"one\n")
    end_at(moment)
    with pytest.raises(Ended):
        state_files.append(path, 4, b"two\n")
    assert path.read_bytes() == held
    state_files.watched_by(None)
    assert state_files.append(path, 4, b"two\n") == 8
    assert path.read_bytes() == b"one\ntwo\n"
    state_files.cut(path, 4)
    assert path.read_bytes() == b"one\n"


def test_a_move_is_synced_at_both_ends(tmp_path: Path, synced: list[str]) -> None:
    source, target = tmp_path / "a" / "x", tmp_path / "b" / "x"
    for one in (source, target):
        one.parent.mkdir()
    source.write_bytes(b"x")
    state_files.move(source, target)
    assert set(synced) == {str(source.parent), str(target.parent)}


def test_a_folder_is_there_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        state_files.write(tmp_path / name / "state.json", b"{}")
    end_at("before")
    with pytest.raises(Ended):
        state_files.remove_folder(tmp_path / "one")
    assert (tmp_path / "one/state.json").read_bytes() == b"{}"
    state_files.watched_by(None)
    with monkeypatch.context() as killed:
        killed.setattr("shutil.rmtree", lambda *_, **__: None)
        state_files.remove_folder(tmp_path / "one")
    assert [one.name for one in tmp_path.glob("[!.]*")] == ["two"]
    state_files.remove_folder(tmp_path / "two")
    assert list(tmp_path.iterdir()) == []
    state_files.remove_folder(tmp_path / "two")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b'{"1": ')
    with pytest.raises(Terminal, match=r"state\.json cannot be read") as raised:
        state_files.read(path, dict[str, int], "restore it")
    assert raised.value.advice == "restore it"
    path.write_bytes(b'{"1": 2}')
    assert state_files.read(path, dict[str, int], "") == {"1": 2}


ROOT = Path(__file__).parents[2]
WRITES = re.compile(
    r"\.write_(?:text|bytes)\(|\bos\.(?:replace|rename)\(|open\(\s*[\"'][wxa]b?\+?[\"']|json\.dump\("
)
# What they write is made anew by the next start, or is nothing that headrace reads.
OTHERS = {
    "headrace/demo": "records and files of a demonstration",
    "headrace/embedded": "a broker's own files, and which process it is",
    "headrace/jars": "jars, checked by hash each time that they are used",
    "headrace/spark.py": "Spark's log",
    "headrace/jvm/python_launcher.py": "an archive of packages, checked by hash",
    "headrace/demo/workspace_template.py": "a new workspace",
    "headrace/locks.py": "a lock, which says who holds it",
    "fleet/process_unit.py": "what a process of ours prints",
    "fleet/launches.py": "what a process of ours prints",
    "fleet/quarantine_replays.py": "what a process of ours prints",
    "headrace/config/edit/folder.py": "files of the user's, by handles of their folders",
    "backfill/plan/picture.py": "a picture for people",
    "router/tap/fixture.py": "records for a test of the user's",
}


def test_state_is_written_by_one_module() -> None:
    stages = ("headrace", "router", "lake_writer", "backfill", "stream_app", "fleet")
    found = {
        str(file.relative_to(ROOT))
        for stage in stages
        for file in (ROOT / stage).rglob("*.py")
        if WRITES.search(file.read_text(encoding="utf-8"))
    }
    assert "headrace/state_files.py" in found
    others = {one for one in found if not one.startswith(tuple(OTHERS))}
    assert others == {"headrace/state_files.py"}
