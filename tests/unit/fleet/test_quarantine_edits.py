"""A stream's files, changed over its rejected records: what is shown, what is tried, what is saved."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fleet import quarantine_trial
from fleet.quarantine_edits import editable, save_change, try_change
from fleet.stream_origin import StreamOrigin
from headrace.config.edit.folder import NotEditable
from headrace.config.load import load_stream, load_workspace
from headrace.config.stream.effective import effective
from headrace.errors import UsageError
from headrace.kafka.message import GivenMessage, RecordPosition
from router.quarantine.records import QuarantinedRecord
from tests.unit.fleet.files import stream, write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from headrace.http.quarantine_rows import QuarantineTrial

FILE, AVSC = "streams/plays.yaml", "schemas/event.avsc"
START = '{"id": 1, "kind": "start"}'
LATER = stream("plays").replace("kind = 'start'", "id > 100 / (id - 2)")


def origin_in(root: Path, **files: str) -> StreamOrigin:
    workspace = load_workspace(write(root, **files))
    path = workspace.root / FILE
    loaded = load_stream(path, workspace)
    return StreamOrigin(effective(loaded, workspace, None), workspace, path)


def kept(
    value: str, connector: str = "plays", reason: str = "bad", topic: str = "plays_raw"
) -> QuarantinedRecord:
    record = GivenMessage(RecordPosition(topic, 0, 1), 1, value.encode())
    position = RecordPosition("plays_raw.quarantine", 0, 1)
    return QuarantinedRecord(position, connector, "VALUE_CONVERTER", reason, record)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[tuple[QuarantinedRecord, Sequence[str]]]:
    """What the quarantine holds, in place of a topic."""
    records: list[tuple[QuarantinedRecord, Sequence[str]]] = []
    monkeypatch.setattr(quarantine_trial, "waiting_records", lambda *_: iter(records))
    return records


def counts(trial: QuarantineTrial) -> dict[str, tuple[int, int, int, int]]:
    return {
        one.output: (one.written, one.filtered, one.dropped, one.rejected) for one in trial.outputs
    }


def test_records_are_tried_for_the_outputs_that_they_failed_for(
    tmp_path: Path, held: list[tuple[QuarantinedRecord, Sequence[str]]]
) -> None:
    held += [
        (kept(START), ()),
        (kept('{"id": 2, "kind": "stop"}'), ()),
        (kept('{"id": 3, "kind": "stop"}', "plays.lake"), ()),
        (kept("no json"), ()),
        # A replay was done with it for this output.
        (kept(START, "plays"), ("starts",)),
        (kept(START, topic="another"), ()),
    ]
    found = try_change(origin_in(tmp_path), {})
    assert (found.records, found.skipped) == (6, 1)
    assert counts(found) == {"starts": (1, 1, 0, 1), "lake": (4, 0, 0, 1)}
    assert [one.is_table for one in found.outputs] == [False, True]
    assert [many for _, many in found.outputs[1].reasons] == [1]


def test_the_groups_that_a_changed_stream_would_mend_are_named(
    tmp_path: Path, held: list[tuple[QuarantinedRecord, Sequence[str]]]
) -> None:
    held += [
        (kept(json.dumps({"id": number}), reason="kind is missing"), ()) for number in range(5)
    ]
    held += [(kept("no json", reason="not JSON"), ())]
    origin = origin_in(tmp_path)
    assert [(one.mended, one.rejected) for one in try_change(origin, {}).groups] == [(0, 5), (0, 1)]
    schema = (origin.workspace.root / AVSC).read_text()
    nullable = schema.replace('"kind", "type": "string"', '"kind", "type": ["null", "string"]')
    assert nullable != schema
    changed = try_change(origin, {AVSC: nullable})
    assert changed.check.ok
    assert [(one.mended, one.rejected) for one in changed.groups] == [(5, 0), (0, 1)]
    dropped = stream("plays").replace(
        "outputs:",
        "hygiene: {on_bad_record: quarantine, required: {columns: [kind], on_bad_record: drop}}\noutputs:",
    )
    tried = try_change(origin, {FILE: dropped, AVSC: nullable})
    assert tried.check.problems == []
    assert counts(tried)["starts"] == (0, 0, 5, 1)
    assert [(one.mended, one.rejected) for one in tried.groups] == [(5, 0), (0, 1)]
    # Nothing was written.
    assert (origin.workspace.root / AVSC).read_text() == schema


def test_an_expression_that_fails_on_a_record_rejects_it_again(
    tmp_path: Path, held: list[tuple[QuarantinedRecord, Sequence[str]]]
) -> None:
    held += [(kept(json.dumps({"id": number, "kind": "stop"})), ()) for number in (2, 30)]
    found = try_change(origin_in(tmp_path), {FILE: LATER})
    assert counts(found)["starts"] == (1, 0, 0, 1)
    assert "division" in found.outputs[0].reasons[0][0].lower()
    assert '+    filter: "id > 100 / (id - 2)"' in found.check.files[0].diff


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("kind = 'start'", "knd = 'start'", ":6:"),
        ("name: plays", "name: other", "its quarantine goes by it"),
        (
            "topic: plays_raw",
            "topic: others_raw",
            "the rejected records are in plays_raw.quarantine",
        ),
        ("kind: stream", "kind: [", ":"),
        ("cluster: here", "cluster: '${PATH}'", "is new here"),
    ],
)
def test_a_file_with_a_mistake_is_neither_tried_nor_saved(
    tmp_path: Path,
    held: list[tuple[QuarantinedRecord, Sequence[str]]],
    old: str,
    new: str,
    says: str,
) -> None:
    held += [(kept(START), ())]
    origin, texts = origin_in(tmp_path), {FILE: stream("plays").replace(old, new, 1)}
    found = try_change(origin, texts)
    assert (found.check.ok, found.records, found.outputs) == (False, 0, ())
    first = found.check.problems[0]
    assert says in f"{first.file}:{first.line}:{first.column} {first.message}"
    saved = save_change(origin, texts, {one.path: one.seen for one in editable(origin).files})
    assert (saved.ok, saved.check.problems) == (False, found.check.problems)
    assert origin.path.read_text() == stream("plays")


def test_a_stream_that_would_reject_nothing_more_cannot_be_replayed(tmp_path: Path) -> None:
    dropping = stream("plays").replace("outputs:", "hygiene: {on_bad_record: drop}\noutputs:")
    with pytest.raises(UsageError, match="does not quarantine"):
        try_change(origin_in(tmp_path), {FILE: dropping})


def test_only_the_files_of_the_stream_are_changed(tmp_path: Path) -> None:
    origin = origin_in(tmp_path)
    assert [one.path for one in editable(origin).files] == [FILE, AVSC]
    for path in ("streams/pauses.yaml", "headrace.yaml", "../x.yaml", "streams/new.yaml"):
        with pytest.raises(NotEditable, match="is not a file of stream plays"):
            try_change(origin, {path: LATER})
        with pytest.raises(NotEditable, match="is not a file of stream plays"):
            save_change(origin, {path: LATER}, {})


def test_a_file_is_saved_over_what_was_seen(tmp_path: Path) -> None:
    origin = origin_in(tmp_path)
    seen = {one.path: one.seen for one in editable(origin).files}
    assert save_change(origin, {FILE: "kind: stream"}, seen).check.problems
    by_hand = stream("plays") + "# by hand\n"
    origin.path.write_text(by_hand)
    late = save_change(origin, {FILE: LATER}, seen)
    assert (late.ok, list(late.changed), origin.path.read_text()) == (False, [FILE], by_hand)
    seen = {one.path: one.seen for one in editable(origin).files}
    assert save_change(origin, {FILE: LATER}, seen).saved == [FILE]
    assert origin.path.read_text() == LATER


def test_what_is_as_it_was_is_not_touched(tmp_path: Path) -> None:
    origin = origin_in(tmp_path)
    files = editable(origin).files
    same = {one.path: f"{one.text}\r\n" for one in files}
    seen = {one.path: one.seen for one in files}
    assert save_change(origin, same, seen).saved == ()
    tried = save_change(origin, {**same, FILE: LATER}, seen)
    assert (tried.saved, [one.path for one in tried.check.files]) == ([FILE], [FILE])
    assert not (origin.workspace.root / AVSC).read_text().endswith("\n")


def test_no_secret_is_shown_and_a_reference_stays_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODE_PASSWORD", "hunter2")
    sink = "sink: {type: search, url: 'http://me:PASSWORD@node:9200', index: plays}"
    with_search = stream("plays") + f"  - {{name: found, {sink}}}\n"
    by_reference = with_search.replace("PASSWORD", "${NODE_PASSWORD}")
    own, _ = editable(origin_in(tmp_path, **{FILE: by_reference})).files
    assert own.text == by_reference
    own, schema = editable(origin_in(tmp_path, **{FILE: with_search})).files
    assert (own.text, schema.text is None) == (None, False)
    assert "line 9 may have a secret" in (own.hidden or "")
    with pytest.raises(NotEditable, match="is not changed here"):
        try_change(origin_in(tmp_path, **{FILE: with_search}), {FILE: by_reference})


def test_files_that_are_not_ours_to_write_are_named_and_not_shown(tmp_path: Path) -> None:
    origin = origin_in(tmp_path)
    elsewhere = tmp_path / "elsewhere.yaml"
    origin.path.rename(elsewhere)
    origin.path.symlink_to(elsewhere)
    own, _ = editable(origin).files
    assert (own.text, "symbolic link" in (own.hidden or "")) == (None, True)
    origin.path.unlink()
    own, _ = editable(origin).files
    assert (own.text, own.hidden) == (None, "it is not there any more")


def test_a_file_for_many_topics_is_tried_for_the_one(
    tmp_path: Path, held: list[tuple[QuarantinedRecord, Sequence[str]]]
) -> None:
    held += [(kept(START), ()), (kept('{"id": 2, "kind": "stop"}'), ())]
    for_many = (
        stream("'${name}'")
        .replace("'${name}'_starts", "'${name}_starts'")
        .replace("topic: '${name}'_raw, ", "")
        .replace("cluster: here, format", "format", 1)
        .replace("outputs:", 'for_each: {cluster: here, topics: "(?P<name>[a-z]+)_raw"}\noutputs:')
    )
    workspace = load_workspace(write(tmp_path, **{FILE: for_many}))
    path = workspace.root / FILE
    loaded = load_stream(path, workspace, "plays_raw")
    origin = StreamOrigin(effective(loaded, workspace, None), workspace, path, "plays_raw")
    assert editable(origin).is_for_many
    assert counts(try_change(origin, {}))["starts"] == (1, 1, 0, 0)
    changed = try_change(origin, {FILE: for_many.replace("kind = 'start'", "id > 0")})
    assert changed.check.problems == []
    assert counts(changed)["starts"] == (2, 0, 0, 0)
