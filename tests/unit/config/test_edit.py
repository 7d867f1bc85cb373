"""Proposed files: what they would make of the workspace, and when they are saved."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from headrace.config.edit import known_checks
from headrace.config.edit.folder import Folder, NotEditable
from headrace.config.edit.known_checks import KnownChecks
from headrace.config.edit.proposal import NEW, propose
from headrace.config.edit.saving import FilesChanged, save
from headrace.config.kind_files import check_file
from headrace.config.validate import check_workspace
from headrace.errors import BadConfig, Terminal, UsageError
from tests.unit.config.workspaces import STREAM

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.common.section import KnownNames
    from headrace.config.edit.proposal import Proposal
    from headrace.config.kind_files import CheckedFile
    from tests.unit.config.workspaces import Files

NEW_STREAM = STREAM.replace("name: playback", "name: other").replace(
    "topic: playback_starts", "topic: other_starts"
)
SCHEMA = json.dumps(
    {"type": "record", "name": "A", "fields": [{"name": "id", "type": ["null", "string"]}]}
)
OF_SCHEMA = """\
kind: stream
name: a
source: {type: kafka, cluster: fronting, topic: a, format: json, schema: schemas/a.avsc}
outputs:
  - name: all
    sink: {type: kafka, cluster: consumer, topic: a_all, format: json}
"""


def sentences(proposal: Proposal) -> str:
    return "\n".join(map(str, proposal.problems))


def names(folder: Path) -> set[str]:
    return {str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file()}


def test_a_new_stream_and_its_schema_are_checked_together_and_saved(files: Files) -> None:
    texts = {"streams/a.yaml": OF_SCHEMA, "schemas/a.avsc": SCHEMA}
    before = names(files.root)
    proposal = propose(files.root, texts)
    assert proposal.problems == ()
    assert proposal.hashes == {"streams/a.yaml": NEW, "schemas/a.avsc": NEW}
    assert "+++ b/streams/a.yaml" in proposal.diff
    assert "+name: a\n" in proposal.diff
    assert names(files.root) == before
    assert save(proposal, proposal.hashes) == ["schemas/a.avsc", "streams/a.yaml"]
    assert names(files.root) == before | set(texts)
    assert (files.root / "streams/a.yaml").read_text() == OF_SCHEMA
    assert check_workspace(files.root).problems == []


def test_a_proposal_is_checked_by_what_validate_says(files: Files) -> None:
    wrong = NEW_STREAM.replace("upper(country)", "uper(country)").replace(
        "cluster: consumer", "cluster: consumr"
    )
    proposal = propose(files.root, {"streams/other.yaml": wrong})
    files.write("streams/other.yaml", wrong)
    assert list(proposal.problems) == check_workspace(files.root).problems
    assert 'did you mean "consumer"?' in sentences(proposal)
    (files.root / "streams/other.yaml").unlink()
    with pytest.raises(BadConfig):
        save(proposal)
    assert not (files.root / "streams/other.yaml").exists()


def test_a_name_that_another_stream_has_is_a_problem_of_the_new_file(files: Files) -> None:
    proposal = propose(files.root, {"streams/a.yaml": STREAM})
    assert 'streams/a.yaml:2:7: a second stream with the name "playback"' in sentences(proposal)


def test_mistakes_of_other_files_stop_nothing_unless_the_change_makes_them(files: Files) -> None:
    files.write("streams/broken.yaml", "kind: stream\nname: broken\n")
    proposal = propose(files.root, {"streams/other.yaml": NEW_STREAM})
    assert proposal.problems == ()
    assert {one.path.name for one in proposal.others} == {"broken.yaml"}
    save(proposal)
    schema = (files.root / "schemas/playback.avsc").read_text()
    without = schema.replace('"country"', '"land"')
    assert without != schema
    proposal = propose(files.root, {"schemas/playback.avsc": without})
    assert "streams/playback.yaml" in sentences(proposal)
    assert "country" in sentences(proposal)
    with pytest.raises(BadConfig):
        save(proposal)


def test_an_existing_file_is_saved_only_over_what_was_seen(files: Files) -> None:
    path = files.root / "streams/playback.yaml"
    path.chmod(0o640)
    changed = STREAM.replace("'start'", "'stop'")
    seen = propose(files.root, {"streams/playback.yaml": changed})
    assert (
        "-    filter: \"event_type = 'start'\"\n+    filter: \"event_type = 'stop'\"" in seen.diff
    )
    by_hand = STREAM.replace("10min", "20min")
    path.write_text(by_hand)
    with pytest.raises(FilesChanged, match="has changed meanwhile"):
        save(seen)
    with pytest.raises(FilesChanged):
        save(propose(files.root, {"streams/playback.yaml": changed}), seen.hashes)
    assert path.read_text() == by_hand
    now = propose(files.root, {"streams/playback.yaml": changed})
    assert "20min" in now.diff
    save(now, now.hashes)
    assert path.read_text() == changed
    assert path.stat().st_mode & 0o777 == 0o640
    assert save(propose(files.root, {"streams/playback.yaml": changed})) == []


def test_a_new_file_never_replaces_one_that_came_meanwhile(files: Files) -> None:
    proposal = propose(files.root, {"streams/other.yaml": NEW_STREAM})
    files.write("streams/other.yaml", "# mine\n")
    with pytest.raises(FilesChanged):
        save(proposal)
    assert (files.root / "streams/other.yaml").read_text() == "# mine\n"
    with pytest.raises(FilesChanged):
        save(propose(files.root, {"streams/other.yaml": NEW_STREAM}), {"streams/other.yaml": NEW})


def test_a_hash_that_is_not_sent_is_not_the_one_that_was_seen(files: Files) -> None:
    with pytest.raises(FilesChanged):
        save(propose(files.root, {"streams/other.yaml": NEW_STREAM}), {})
    assert not (files.root / "streams/other.yaml").exists()


@pytest.mark.parametrize("number", [0, 1, 2])
def test_all_files_are_saved_or_none(
    files: Files, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    texts = {
        "schemas/a.avsc": SCHEMA,
        "streams/a.yaml": OF_SCHEMA,
        "streams/playback.yaml": STREAM.replace("'start'", "'stop'"),
    }
    proposal = propose(files.root, texts)
    assert proposal.problems == ()
    before = names(files.root)
    placed: list[str] = []
    place = Folder.place

    def fail(folder: Folder, draft: str, name: str, *, is_new: bool) -> None:
        if len(placed) == number:
            placed.append("failed")
            raise OSError(28, "No space left on device")
        placed.append(name)
        place(folder, draft, name, is_new=is_new)

    monkeypatch.setattr(Folder, "place", fail)
    with pytest.raises(Terminal, match="nothing was saved: No space left"):
        save(proposal)
    assert "failed" in placed
    assert names(files.root) == before
    assert (files.root / "streams/playback.yaml").read_text() == STREAM
    monkeypatch.setattr(Folder, "place", place)
    assert len(save(proposal)) == len(texts)


@pytest.mark.parametrize(
    "path",
    [
        "../a.yaml",
        "/etc/a.yaml",
        "streams/../../a.yaml",
        "streams/./a.yaml",
        "streams//a.yaml",
        "",
        "streams/",
        ".headrace/a.yaml",
        "streams/.a.yaml",
        "streams\\a.yaml",
        "streams/a\0.yaml",
        "streams/a\n.yaml",
        "streams/ä.yaml",
        "headrace.yaml",
        "inner/headrace.yaml",
        "apps/code.py",
        "apps/query.sql",
        "streams/a",
        "Makefile",
        "__pycache__/a.yaml",
        "node_modules/a.yaml",
        "a/b/c/d/e/f/g/h/i.yaml",
        "streams/" + "a" * 200 + ".yaml",
        "streams/Large.yaml",
        "streams/two words.yaml",
        "streams/a.b.yaml",
        "~/a.yaml",
    ],
)
def test_paths_that_are_not_a_new_file_of_the_workspace_are_refused(
    files: Files, path: str
) -> None:
    before = names(files.root.parent)
    with pytest.raises(NotEditable):
        propose(files.root, {path: NEW_STREAM})
    assert names(files.root.parent) == before


def test_a_file_with_any_name_that_is_there_already_may_be_changed(files: Files) -> None:
    files.write("streams/My Stream.yml", NEW_STREAM)
    proposal = propose(files.root, {"streams/My Stream.yml": NEW_STREAM.replace("start'", "stop'")})
    assert save(proposal) == ["streams/My Stream.yml"]


def test_links_and_foreign_folders_are_not_followed(
    files: Files, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "real.yaml").write_text(NEW_STREAM)
    (files.root / "linked").symlink_to(outside, target_is_directory=True)
    (files.root / "streams/link.yaml").symlink_to(outside / "real.yaml")
    (files.root / "streams/loose.yaml").symlink_to(outside / "new.yaml")
    (files.root / "streams/folder.yaml").mkdir()
    (files.root / "venv").mkdir()
    (files.root / "venv/pyvenv.cfg").write_text("")
    (files.root / "inner").mkdir()
    (files.root / "inner/headrace.yaml").write_text("")
    os.mkfifo(files.root / "streams/pipe.yaml")
    for path in (
        "linked/a.yaml",
        "linked/real.yaml",
        "streams/link.yaml",
        "streams/loose.yaml",
        "streams/folder.yaml",
        "streams/pipe.yaml",
        "streams/playback.yaml/a.yaml",
        "venv/a.yaml",
        "inner/a.yaml",
    ):
        with pytest.raises(NotEditable):
            propose(files.root, {path: NEW_STREAM})
    assert names(outside) == {"real.yaml"}


def test_a_folder_that_became_a_link_after_the_check_is_not_written_through(
    files: Files, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (files.root / "more").mkdir()
    proposal = propose(files.root, {"more/other.yaml": NEW_STREAM})
    (files.root / "more").rmdir()
    (files.root / "more").symlink_to(outside, target_is_directory=True)
    with pytest.raises(NotEditable):
        save(proposal)
    assert names(outside) == set()


def test_a_workspace_that_is_reached_by_a_link_can_be_edited(
    files: Files, tmp_path_factory: pytest.TempPathFactory
) -> None:
    link = tmp_path_factory.mktemp("links") / "workspace"
    link.symlink_to(files.root, target_is_directory=True)
    proposal = propose(link, {"more/other.yaml": NEW_STREAM})
    assert proposal.problems == ()
    save(proposal)
    assert (files.root / "more/other.yaml").read_text() == NEW_STREAM


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("streams/a.yaml", "", "this file has no kind"),
        ("streams/a.yaml", "# nothing", "this file has no kind"),
        ("streams/a.yaml", "kind: [", "not YAML"),
        ("streams/a.yaml", "kind: stream\n\x00", "control character"),
        ("streams/a.yaml", "kind: streem\n", 'did you mean "stream"?'),
        ("streams/a.yaml", "kind: stream\n" + "a: " * 5_000, "not YAML"),
        ("apps/a.yaml", "kind: app\nname: a\n", "a file of kind app is edited by hand"),
        ("schemas/a.avsc", "", "is not JSON"),
        ("schemas/a.avsc", "[" * 20_000, "schemas/a.avsc"),
        ("schemas/a.avsc", '{"type": "record", "name": "A"}', "fields"),
        ("schemas/a.avsc", SCHEMA.replace('"id"', '"__metadata__"'), "reserved"),
    ],
)
def test_texts_that_are_no_such_file_have_a_problem(
    files: Files, path: str, text: str, said: str
) -> None:
    proposal = propose(files.root, {path: text})
    assert said in sentences(proposal)
    with pytest.raises(BadConfig):
        save(proposal)


def test_texts_that_are_too_large_or_no_text_are_refused(files: Files) -> None:
    for texts in (
        {},
        {f"streams/s{number}.yaml": NEW_STREAM for number in range(21)},
        {"streams/a.yaml": "#" * (2**20 + 1)},
        {"streams/a.yaml": "name: \ud800"},
    ):
        with pytest.raises(UsageError):
            propose(files.root, texts)


def test_line_ends_of_a_form_become_those_of_the_file(files: Files) -> None:
    in_form = STREAM.replace("'start'", "'stop'").rstrip("\n").replace("\n", "\r\n")
    save(propose(files.root, {"streams/playback.yaml": in_form}))
    path = files.root / "streams/playback.yaml"
    assert path.read_bytes() == STREAM.replace("'start'", "'stop'").encode()
    path.write_bytes(b"\xef\xbb\xbf" + STREAM.replace("\n", "\r\n").encode())
    assert propose(files.root, {"streams/playback.yaml": STREAM}).is_changed is False
    save(propose(files.root, {"streams/playback.yaml": in_form}))
    written = path.read_bytes()
    assert written.startswith(b"\xef\xbb\xbfkind: stream\r\n")
    assert written.count(b"\n") == written.count(b"\r\n")


def test_a_secret_may_stay_where_it_is_and_comes_nowhere_else(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "correct horse")
    (files.root / "secret.txt").write_text("battery staple")
    for reference in (
        "${DATABASE_PASSWORD}",
        "${file:secret.txt}",
        "${file:/etc/passwd}",
        "${DATABASE_PASSWROD}",
    ):
        text = NEW_STREAM.replace("upper(country) AS country", f"'{reference}' AS country")
        proposal = propose(files.root, {"streams/other.yaml": text})
        assert f"'{reference}' AS country is new here" in sentences(proposal)
        for secret in ("correct horse", "battery staple", "root:", "${DATABASE_PASSWORD}?"):
            assert secret not in sentences(proposal)
    with_salt = STREAM.replace(
        "hygiene:\n", 'hygiene:\n  mask: {user_id: {sha256: {salt: "${SALT:pepper}"}}}\n'
    )
    assert "${SALT:pepper} is new here" in sentences(
        propose(files.root, {"streams/playback.yaml": with_salt})
    )
    files.write("streams/playback.yaml", with_salt)
    changed = with_salt.replace("'start'", "'stop'")
    assert propose(files.root, {"streams/playback.yaml": changed}).problems == ()
    other = with_salt.replace("name: playback", "name: other").replace("playback_starts", "other")
    assert propose(files.root, {"streams/other.yaml": other}).problems == ()
    moved = with_salt.replace("'start'", "${SALT:pepper}")
    assert "is new here" in sentences(propose(files.root, {"streams/playback.yaml": moved}))
    by_alias = with_salt.replace('salt: "${', 'salt: &s "${').replace(
        "[event_id, user_id", "[*s, user_id"
    )
    assert "${SALT:pepper} is new here" in sentences(
        propose(files.root, {"streams/playback.yaml": by_alias})
    )


def test_placeholders_of_a_file_for_many_topics_are_no_secrets(files: Files) -> None:
    many = NEW_STREAM.replace(
        "name: other\n", "name: other-${topic}\nfor_each: {cluster: fronting, topics: 'a.*'}\n"
    )
    many = many.replace("topic: playback_raw,", "topic: '${topic}',").replace(
        "other_starts", "'${topic}.starts'"
    )
    many = many.replace("playback_raw.quarantine", "'${topic}.quarantine'")
    assert sentences(propose(files.root, {"streams/other.yaml": many})) == ""


def test_a_file_outside_the_workspace_is_not_read_for_a_proposal(
    files: Files, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.avsc"
    outside.write_text('{"type": "correct horse"}')
    for name in (str(outside), os.path.relpath(outside, files.root)):
        text = NEW_STREAM.replace("schemas/playback.avsc", name)
        proposal = propose(files.root, {"streams/other.yaml": text})
        assert "secret.avsc, which is not in this workspace" in sentences(proposal)
        assert "correct horse" not in sentences(proposal)


def test_a_folder_that_cannot_be_written_is_said(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> str:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Folder, "draft", refuse)
    with pytest.raises(Terminal, match="nothing was saved: Read-only file system"):
        save(propose(files.root, {"streams/other.yaml": NEW_STREAM}))


def test_a_file_that_is_as_it_was_is_not_checked_again_and_one_that_changed_is(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in files.root.rglob("*"):
        os.utime(path, (1, 1))
    # As if all had been written long ago.
    monkeypatch.setattr(known_checks, "SETTLED_NS", -(10**18))
    checked: list[str] = []

    def check(path: Path, names: KnownNames) -> CheckedFile:
        checked.append(path.name)
        return check_file(path, names)

    monkeypatch.setattr(known_checks, "check_file", check)
    checks = KnownChecks()
    kinds = sorted(one.name for one in files.root.rglob("*/*.yaml"))
    assert propose(files.root, {"streams/other.yaml": NEW_STREAM}, checks).problems == ()
    assert sorted(checked) == sorted([*kinds, "other.yaml"])
    checked.clear()
    wrong = NEW_STREAM.replace("'start'", "start")
    assert propose(files.root, {"streams/other.yaml": wrong}, checks).problems != ()
    assert checked == ["other.yaml"]
    # A schema that is proposed, a file that changed, and one that stands beside a new one.
    checked.clear()
    schema = (files.root / "schemas/playback.avsc").read_text().replace('"country"', '"land"')
    found = propose(files.root, {"schemas/playback.avsc": schema}, checks)
    assert "playback.yaml" in checked
    assert "streams/playback.yaml" in sentences(found)
    files.write("streams/playback.yaml", STREAM.replace("upper(country)", "uper(country)"))
    found = propose(files.root, {"streams/other.yaml": NEW_STREAM}, checks)
    assert {one.path.name for one in found.others} == {"playback.yaml"}
    files.write("streams/playback.yaml", STREAM)
    twice = propose(files.root, {"streams/other.yaml": STREAM}, checks)
    assert "a second stream" in sentences(twice)
    assert propose(files.root, {"streams/other.yaml": NEW_STREAM}, checks).problems == ()
    (files.root / "streams/playback.yaml").unlink()
    assert propose(files.root, {"streams/other.yaml": STREAM}, checks).problems == ()


def test_a_file_that_was_written_just_now_is_checked_again(files: Files) -> None:
    checks = KnownChecks()
    for text in (STREAM, STREAM.replace("upper(country)", "uper(country)"), STREAM):
        path = files.root / "streams/playback.yaml"
        path.write_text(text)
        # A write within one tick of the clock.
        os.utime(path, (1, 1))
        found = propose(files.root, {"streams/other.yaml": NEW_STREAM}, checks)
        assert bool(found.others) == (text != STREAM)
