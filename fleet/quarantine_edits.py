"""A stream's files as whoever looks at its quarantine changes them: shown, tried, and saved.

They are the stream's own file and the file of its schema, and no other.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fleet.file_acts import check_of, problem_rows, save_files
from fleet.quarantine_trial import quarantine_trial
from headrace.config.edit.folder import NotEditable
from headrace.config.edit.plain_secrets import line_of_secret
from headrace.config.edit.proposal import ProposedFile, current, propose
from headrace.config.load import file_of, load_stream
from headrace.config.stream.effective import effective
from headrace.errors import BadConfig, UsageError
from headrace.http.file_rows import FilesCheck, FilesSaved
from headrace.http.quarantine_rows import EditableFile, EditableStream, QuarantineTrial
from headrace.problems import Problem, absolute
from router.plan.planner import Planner
from router.quarantine.records import quarantine_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from fleet.stream_origin import StreamOrigin
    from headrace.config.edit.known_checks import KnownChecks
    from headrace.config.edit.proposal import Proposal
    from headrace.config.stream.effective import Effective


def editable(origin: StreamOrigin) -> EditableStream:
    """Return a stream's files as they are on the disk."""
    files = [_editable_file(origin, path) for path in _paths(origin)]
    return EditableStream(origin.stream.config.name, files, origin.topic is not None)


def try_change(
    origin: StreamOrigin,
    texts: Mapping[str, str],
    checks: KnownChecks | None = None,
) -> QuarantineTrial:
    """Try a stream's files, some changed, over its rejected records; none: as they are on the disk.

    Where the files have mistakes, the trial has them, and no record was tried.
    """
    change = _checked(origin, _changed(origin, texts), checks)
    if change.stream is None:
        return QuarantineTrial(origin.stream.config.name, 0, 0, check=change.check)
    with change.in_place():
        plan = Planner(origin.workspace, change.stream).plan()
    return quarantine_trial(origin.workspace, origin.stream, plan, change.check)


def save_change(
    origin: StreamOrigin,
    texts: Mapping[str, str],
    seen: Mapping[str, str],
    checks: KnownChecks | None = None,
) -> FilesSaved:
    """Write changed files, all of them or none; `seen` says which contents somebody has seen."""
    changed = _changed(origin, texts)
    change = _checked(origin, changed, checks)
    if not changed or change.stream is None:
        return FilesSaved(check=change.check)
    return save_files(origin.workspace.root, changed, seen)


@dataclass(frozen=True, slots=True)
class _Change:
    """Changed files after their checks; no stream where they have mistakes."""

    proposal: Proposal | None
    check: FilesCheck
    stream: Effective | None = None

    def in_place(self) -> AbstractContextManager[None]:
        return nullcontext() if self.proposal is None else self.proposal.in_place()


def _checked(
    origin: StreamOrigin, changed: Mapping[str, str], checks: KnownChecks | None
) -> _Change:
    """Check changed files beside all others of the workspace; none: the stream's as it is."""
    proposal = propose(origin.workspace.root, changed, checks) if changed else None
    change = _Change(proposal, FilesCheck(ok=True) if proposal is None else check_of(proposal))
    if not change.check.ok:
        return change
    try:
        with change.in_place():
            loaded = load_stream(origin.path, origin.workspace, origin.topic)
        stream = effective(loaded, origin.workspace, origin.region)
        _require_same(origin, stream)
    except BadConfig as problem:
        rows = problem_rows(problem.problems)
        return replace(change, check=replace(change.check, ok=False, problems=rows))
    return replace(change, stream=stream)


def _changed(origin: StreamOrigin, texts: Mapping[str, str]) -> dict[str, str]:
    """Return the files that differ from what is there, but for a line end that an editor adds.

    Files that are not the stream's are refused, and those that are not shown.
    """
    known = {one.path: one for one in editable(origin).files}
    changed: dict[str, str] = {}
    for path, text in texts.items():
        if path not in known:
            raise NotEditable(
                f"{path} is not a file of stream {origin.stream.config.name}",
                f"this changes {' and '.join(known) or 'no file'}",
            )
        was = known[path]
        if was.text is None:
            raise NotEditable(f"{path} is not changed here: {was.hidden}", "edit it by hand")
        if text.replace("\r\n", "\n").rstrip("\n") != was.text.rstrip("\n"):
            changed[path] = text
    return changed


def _require_same(origin: StreamOrigin, changed: Effective) -> None:
    """Refuse a file of which a replay would read other records than those that are tried."""
    before, now = origin.stream, changed
    if now.config.name != before.config.name:
        where = now.stream.document.at(now.stream.document.position(("name",)).index)
        message = f"the stream's name is {before.config.name}, and its quarantine goes by it"
        raise BadConfig([Problem(origin.path, *where, message, "leave the name as it is")])
    old, new = quarantine_of(before), quarantine_of(now)
    if (old.cluster, old.topic) != (new.cluster, new.topic):
        place = now.stream.document.position(("hygiene", "quarantine"))
        message = (
            f"the rejected records are in {old.topic} of cluster {old.cluster}; with this file, a "
            f"replay reads {new.topic} of cluster {new.cluster}"
        )
        advice = "replay the records first, then change the quarantine"
        where = now.stream.document.at(place.index)
        raise BadConfig([Problem(origin.path, *where, message, advice)])


def _paths(origin: StreamOrigin) -> list[Path]:
    """Return the stream's file, and the file of its schema, if that is one of the workspace."""
    stream, found = origin.stream, [absolute(origin.path)]
    schema = stream.config.source.schema_ref
    position = stream.stream.document.position(("source", "schema"))
    if isinstance(schema, str) and not position.filled:
        try:
            found.append(absolute(file_of(stream.stream, schema, origin.workspace)))
        except UsageError:
            # It is gone; the trial says so.
            return found
    return [one for one in found if one.is_relative_to(absolute(origin.workspace.root))]


def _editable_file(origin: StreamOrigin, path: Path) -> EditableFile:
    root = absolute(origin.workspace.root)
    name = path.relative_to(root).as_posix()
    try:
        content = current(root, name)
    except NotEditable as problem:
        return EditableFile(name, None, "", problem.message)
    if content is None:
        return EditableFile(name, None, "", "it is not there any more")
    seen = ProposedFile(name, content, content).hash
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return EditableFile(name, None, seen, "it is not UTF-8")
    line = line_of_secret(text)
    if line is not None:
        why = f"line {line} may have a secret in it; write it as ${{VARIABLE}}, then the page shows the file"
        return EditableFile(name, None, seen, why)
    return EditableFile(name, text, seen)
