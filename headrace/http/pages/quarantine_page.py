"""The page of a quarantine: what was rejected, how its stream can be mended, the last replay."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.errors import HeadraceError
from headrace.http.pages.parts import Page, Part
from headrace.http.pages.templates import render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.http.board import Facts
    from headrace.http.file_rows import FileProblem, FilesCheck
    from headrace.http.pages.snapshot import Snapshot
    from headrace.http.quarantine_rows import QuarantineReplay, QuarantineRow, QuarantineTrial

# They may change the stream, they would have to log in, or nobody may.
May: TypeAlias = Literal["change", "login", "read"]
REPLAY = "replay"


@dataclass(frozen=True, slots=True)
class QuarantineView:
    """A quarantine, for programs; `problem` says why it could not be read."""

    stream: str
    quarantine: QuarantineRow | None
    problem: str | None = None
    advice: str | None = None
    replay: QuarantineReplay | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """Why something was not done."""

    message: str
    advice: str | None = None


@dataclass(frozen=True, slots=True)
class RuleForm:
    """What the form for the stream's files shows: texts as they were typed, and what came of them.

    `seen` stands for the contents over which they were typed.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    trial: QuarantineTrial | None = None
    check: FilesCheck | None = None
    saved: bool = False
    refused: Refused | None = None
    seen: Mapping[str, str] = field(default_factory=dict)

    @property
    def problems(self) -> Sequence[FileProblem]:
        """The mistakes of the files."""
        return () if self.check is None else self.check.problems

    @property
    def diff(self) -> str:
        """What a save would change."""
        return "" if self.check is None else "".join(one.diff for one in self.check.files)


def quarantine_view(facts: Facts, name: str) -> QuarantineView:
    """Return a stream's rejected records, or why they could not be read. It asks Kafka."""
    try:
        return QuarantineView(name, facts.quarantine(name), replay=facts.quarantine_replay(name))
    except HeadraceError as problem:
        return QuarantineView(name, None, problem.message, problem.advice or None)


def quarantine_page(
    facts: Facts, snapshot: Snapshot, name: str, trial: QuarantineTrial | None = None
) -> Page | None:
    """Return the page without its form; None where there is no such stream. It asks Kafka."""
    stream = next((one for one in snapshot.streams if one.name == name), None)
    if stream is None:
        return None
    view = quarantine_view(facts, name)
    rejected = any(one.quarantined for one in stream.outputs)
    trials = {} if trial is None else {one.key: one for one in trial.groups}
    parts = [
        Part(
            "quarantine",
            render("quarantine_head.html", view=view, row=view.quarantine, rejected=rejected),
        ),
        replay_part(view.replay),
        Part("groups", render("quarantine_groups.html", row=view.quarantine, trials=trials)),
    ]
    return Page(f"Quarantine of {name}", parts, view)


def replay_part(replay: QuarantineReplay | None) -> Part:
    """Return what the page says of the last replay."""
    return Part(REPLAY, render("quarantine_replay.html", replay=replay))


def with_form(page: Page, facts: Facts, snapshot: Snapshot, form: RuleForm, may: May) -> Page:
    """Return the page with the form; its events never touch that, as somebody may be typing."""
    view = page.data
    if view.quarantine is None:
        return page
    html = render(
        "quarantine_rule.html",
        view=view,
        row=view.quarantine,
        files=facts.quarantine_files(view.stream),
        file=snapshot.declared_as("stream", view.stream),
        may=may,
        runs=facts.runs,
        texts=form.texts,
        trial=form.trial,
        problems=form.problems,
        diff=form.diff,
        saved=form.saved,
        refused=form.refused,
        seen=form.seen,
    )
    head, *rest = page.parts
    return replace(page, parts=[head, Part("rule", html), *rest])
