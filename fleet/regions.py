"""A stream in one more region: an override in its file, shown and saved."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fleet.file_acts import check_of, save_proposal
from headrace.config.edit.proposal import current, propose
from headrace.config.edit.region_text import RegionChoice, with_region
from headrace.config.load import load_workspace
from headrace.errors import HeadraceError, Terminal
from headrace.http.new_stream_rows import RegionForm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from headrace.config.edit.known_checks import KnownChecks
    from headrace.config.edit.proposal import Proposal
    from headrace.config.kind_files import CheckedFile

NO_NAME: Final = "a name of letters, digits, dots, _ and -, for example eu-west-1"
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def region_form(
    root: Path, stream: str, values: Mapping[str, str], checks: KnownChecks
) -> RegionForm | None:
    """Return the form of a new deployment; None where no file declares the stream."""
    found = _form(root, stream, values, checks)
    return None if found is None else found[0]


def save_region(
    root: Path,
    stream: str,
    values: Mapping[str, str],
    seen: Mapping[str, str],
    checks: KnownChecks,
) -> RegionForm | None:
    """Write the deployment into the stream's file, if nothing is wrong with it."""
    found = _form(root, stream, values, checks)
    if found is None:
        return None
    form, proposal = found
    if proposal is None or form.check is None or not form.check.ok:
        return form
    try:
        done = save_proposal(proposal, seen)
    except HeadraceError as problem:
        return replace(form, problem=problem.message, advice=problem.advice or None)
    return replace(form, check=done.check, changed=done.changed, saved=done.saved)


def _form(
    root: Path, stream: str, values: Mapping[str, str], checks: KnownChecks
) -> tuple[RegionForm, Proposal | None] | None:
    workspace = load_workspace(root)
    file = _file_of(stream, checks.workspace(workspace.root)[1])
    if file is None:
        return None
    path = file.document.path.relative_to(workspace.root).as_posix()
    given = {name: text.strip() for name, text in values.items()}
    regions = {one.name: one.region for one in workspace.clusters.values()}
    there = list(file.file.mapping("overrides"))
    form = RegionForm(stream, path, given, regions, there)
    if not given.get("region"):
        return form, None
    if not _NAME.fullmatch(given["region"]):
        return replace(form, problems={"region": [NO_NAME]}), None
    try:
        proposal = propose(workspace.root, {path: _changed(workspace.root, path, given)}, checks)
    except HeadraceError as problem:
        return replace(form, problem=problem.message, advice=problem.advice or None), None
    check, problems = check_of(proposal), by_field(proposal, given["region"])
    return replace(form, check=check, problems=problems), proposal


def by_field(proposal: Proposal, region: str) -> dict[str, list[str]]:
    """Return mistakes by the field that their line is made of; the others are under ``."""
    [file] = proposal.files
    lines, found = file.content.decode("utf-8-sig").splitlines(), dict[str, list[str]]()
    inside = next((at for at, line in enumerate(lines) if line.strip() == f"{region}:"), len(lines))
    for one in proposal.problems:
        is_own = one.path == proposal.root / file.path and one.line > inside
        key = lines[one.line - 1].strip().partition(":")[0] if is_own else ""
        field = {"trigger": "trigger", "region": "label", region: "region"}.get(key, "")
        if key == "source":
            field = "topic" if "topic" in one.message.casefold() else "cluster"
        advice = f" — {one.suggestion}" if one.suggestion else ""
        place = "" if field else f"{one.shown_path}:{one.line}: "
        found.setdefault(field, []).append(f"{place}{one.message}{advice}")
    return found


def _changed(root: Path, path: str, given: Mapping[str, str]) -> str:
    try:
        text = (current(root, path) or b"").decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Terminal(f"{path} is not UTF-8", "save it as UTF-8") from None
    choice = RegionChoice(
        given["region"],
        given.get("cluster", ""),
        given.get("topic", ""),
        given.get("label", ""),
        given.get("trigger", ""),
    )
    return with_region(text.replace("\r\n", "\n"), choice)


def _file_of(stream: str, files: Sequence[CheckedFile]) -> CheckedFile | None:
    """Return the file of a stream. A file for many topics has none of their names."""
    return next(
        (
            one
            for one in files
            if one.kind == "stream" and one.document.get("name") == stream and one.template is None
        ),
        None,
    )
