"""What is to run, as a workspace's files change under a process that follows them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fleet.follow import Follower, Seen
from headrace.errors import BadConfig
from tests.unit.fleet.files import EVENT, HEADRACE, TABLE, stream, write

if TYPE_CHECKING:
    from pathlib import Path

PLAYS = ("stream", "plays")
PAUSES = ("stream", "pauses")
TABLE_KEY = ("lake_table", "plays_table")
APP_KEY = ("app", "counts")
BROKEN = stream("plays").replace("kind = 'start'", "kimd = 'start'")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path)


@pytest.fixture
def follower(root: Path) -> Follower:
    found = Follower(root)
    settle(found)
    return found


def settle(follower: Follower) -> None:
    """Look until nothing is new: files that others name are known after the first look."""
    while follower.look() is not None:
        pass


def look(follower: Follower) -> Seen:
    seen = follower.look()
    assert seen is not None
    return seen


def prints(seen: Seen) -> dict[tuple[str, str], str]:
    return {key: one.fingerprint for key, one in seen.wanted.items()}


def test_all_good_files_are_wanted_and_nothing_new_is_nothing(root: Path) -> None:
    follower = Follower(root)
    assert set(look(follower).wanted) == {PLAYS, PAUSES, TABLE_KEY, APP_KEY}
    settle(follower)
    (root / "notes.txt").write_text("nobody names it")
    assert follower.look() is None


def test_a_new_file_is_wanted_and_the_others_are_as_they_were(
    root: Path, follower: Follower
) -> None:
    before = {key: one.fingerprint for key, one in follower._wanted.items()}  # noqa: SLF001 - the first look's
    write(root, **{"streams/more.yaml": stream("more")})
    after = prints(look(follower))
    assert after.keys() - before.keys() == {("stream", "more")}
    assert all(after[key] == before[key] for key in before)


def test_a_broken_file_is_named_and_its_last_good_form_stays(
    root: Path, follower: Follower
) -> None:
    path = root / "streams/plays.yaml"
    before = follower._wanted[PLAYS]  # noqa: SLF001 - as above
    path.write_text(BROKEN)
    seen = look(follower)
    assert seen.wanted[PLAYS] is before
    assert [(one.path, one.line) for one in seen.problems] == [(path, 6)]
    # Half saved, or without its kind, it is no other case.
    for text in ("", "name: plays\n"):
        path.write_text(text)
        assert look(follower).wanted[PLAYS] is before
    path.write_text(stream("plays"))
    mended = look(follower)
    assert mended.problems == []
    assert mended.wanted[PLAYS].fingerprint == before.fingerprint


def test_a_file_that_is_broken_from_the_start_is_not_wanted(root: Path) -> None:
    (root / "streams/plays.yaml").write_text(BROKEN)
    seen = look(Follower(root))
    assert PLAYS not in seen.wanted
    assert len(seen.problems) == 1


def test_a_changed_file_has_another_fingerprint_and_a_touched_one_has_not(
    root: Path, follower: Follower
) -> None:
    path = root / "streams/plays.yaml"
    before = follower._wanted[PLAYS]  # noqa: SLF001 - as above
    os.utime(path, (1, 1))
    assert look(follower).wanted[PLAYS].fingerprint == before.fingerprint
    path.write_text(stream("plays").replace("'start'", "'stop'"))
    assert look(follower).wanted[PLAYS].fingerprint != before.fingerprint


def test_a_file_that_is_gone_is_gone_when_it_was_missed_twice(
    root: Path, follower: Follower
) -> None:
    (root / "streams/plays.yaml").unlink()
    assert PLAYS in look(follower).wanted
    assert PLAYS not in look(follower).wanted
    assert follower.look() is None


def test_a_file_that_an_editor_replaces_is_never_gone(root: Path, follower: Follower) -> None:
    path = root / "streams/plays.yaml"
    path.unlink()
    assert PLAYS in look(follower).wanted
    path.write_text(stream("plays"))
    assert PLAYS in look(follower).wanted
    assert follower.look() is None


def test_a_file_with_another_name_is_another(root: Path, follower: Follower) -> None:
    (root / "streams/plays.yaml").write_text(stream("renamed"))
    assert set(look(follower).wanted) == {("stream", "renamed"), PAUSES, TABLE_KEY, APP_KEY}


def test_what_a_file_names_belongs_to_it(root: Path, follower: Follower) -> None:
    before = {key: one.fingerprint for key, one in follower._wanted.items()}  # noqa: SLF001 - as above
    more = EVENT.replace('"fields": [', '"doc": "more", "fields": [')
    (root / "schemas/event.avsc").write_text(more)
    after = prints(look(follower))
    # A lake writer follows the schema's file itself.
    assert {key for key in before if before[key] != after[key]} == {PLAYS, PAUSES, APP_KEY}


def test_a_schema_that_is_broken_is_a_problem_of_all_that_name_it(
    root: Path, follower: Follower
) -> None:
    (root / "schemas/event.avsc").write_text("{")
    seen = look(follower)
    assert set(seen.wanted) == {PLAYS, PAUSES, TABLE_KEY, APP_KEY}
    assert {one.path.name for one in seen.problems} == {
        *("plays.yaml", "pauses.yaml", "counts.yaml")
    }


def test_a_file_that_is_named_and_not_there_is_waited_for(root: Path, follower: Follower) -> None:
    text = TABLE.replace("plays_table", "later").replace("event.avsc", "later.avsc")
    write(root, **{"tables/later.yaml": text})
    assert ("lake_table", "later") not in look(follower).wanted
    (root / "schemas/later.avsc").write_text(EVENT)
    assert ("lake_table", "later") in look(follower).wanted


def test_clusters_change_while_it_runs_and_catalogs_at_the_next_start(
    root: Path, follower: Follower
) -> None:
    before = {key: one.fingerprint for key, one in follower._wanted.items()}  # noqa: SLF001 - as above
    (root / "headrace.yaml").write_text(HEADRACE + "# a remark\n")
    assert prints(look(follower)) == before
    (root / "headrace.yaml").write_text(HEADRACE.replace("127.0.0.1:1", "127.0.0.1:2"))
    seen = look(follower)
    assert seen.wanted[PLAYS].workspace.cluster("here").bootstrap_servers == "127.0.0.1:2"
    assert all(seen.wanted[key].fingerprint != before[key] for key in before)
    assert not seen.needs_restart
    (root / "headrace.yaml").write_text(HEADRACE.replace(".headrace/warehouse", "elsewhere"))
    seen = look(follower)
    assert seen.needs_restart
    assert prints(seen) == before


def test_headrace_yaml_may_break_while_it_runs_but_not_before(
    root: Path, follower: Follower
) -> None:
    before = dict(follower._wanted)  # noqa: SLF001 - as above
    (root / "headrace.yaml").write_text("clutter: 1\n")
    seen = look(follower)
    assert seen.wanted == before
    assert [one.path.name for one in seen.problems] == ["headrace.yaml"]
    with pytest.raises(BadConfig):
        Follower(root).look()


def test_what_was_found_beside_another_file_goes_with_it(root: Path, follower: Follower) -> None:
    second = root / "streams/second.yaml"
    second.write_text(stream("plays"))
    assert [one.path for one in look(follower).problems] == [second]
    settle(follower)
    (root / "streams/plays.yaml").unlink()
    seen = look(follower)
    assert seen.problems == []
    assert seen.wanted[PLAYS].path == second
