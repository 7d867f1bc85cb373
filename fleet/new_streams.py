"""A new stream by a form: what the fields mean as files, what those would do, and saving them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from fleet.file_acts import check_of, save_proposal
from fleet.form_defaults import FormDefaults
from fleet.quarantine_samples import shown
from fleet.stream_files import StreamFiles
from fleet.topic_samples import Sampled, TopicSamples, sample_row, topics_of
from headrace.config.common.scalars import is_name
from headrace.config.edit.known_checks import KnownChecks
from headrace.config.edit.proposal import propose
from headrace.config.load import load_workspace, stream_of
from headrace.config.stream.effective import effective
from headrace.errors import HeadraceError
from headrace.http.new_stream_rows import StreamForm
from headrace.schema.avro import to_avro
from router.explain.explanation import explain
from router.explain.report import as_dict
from router.plan.planner import Planner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from headrace.config.edit.proposal import Proposal
    from headrace.config.workspace.workspace import Workspace
    from headrace.problems import Problem
    from router.plan.model import RoutePlan

TAKEN: Final = "there is already such a stream; choose another name"
NO_NAME: Final = "a name of a-z, 0-9, _ and -, not new"
# The page of a new stream has this address.
RESERVED: Final = "new"
MOST_SHOWN: Final = 5
OUTCOMES: Final = {"written": "written", "filtered": "filtered", "bad": "rejected"}


class NewStreams:
    """Forms of new streams in one workspace."""

    def __init__(self, root: Path, samples: TopicSamples | None = None) -> None:
        self._root = root
        self._samples = samples or TopicSamples()
        self._checks = KnownChecks()

    def form(self, values: Mapping[str, str], *, is_first: bool) -> StreamForm:
        """Return the form with what is known; the `is_first` one gets all its values proposed."""
        return self._form(values, is_first=is_first)[0]

    def save(self, values: Mapping[str, str], seen: Mapping[str, str]) -> StreamForm:
        """Write the stream's files, all of them or none, if nothing is wrong with them."""
        found, proposal = self._form(values, is_first=False)
        if proposal is None or found.check is None or not found.check.ok:
            return found
        try:
            done = save_proposal(proposal, seen)
        except HeadraceError as problem:
            return replace(found, problem=problem.message, advice=problem.advice or None)
        return replace(found, check=done.check, changed=done.changed, saved=done.saved)

    def _form(
        self, values: Mapping[str, str], *, is_first: bool
    ) -> tuple[StreamForm, Proposal | None]:
        workspace = load_workspace(self._root)
        name, topic = values.get("cluster", ""), values.get("topic", "").strip()
        if not name and len(workspace.clusters) == 1:
            name = next(iter(workspace.clusters))
        values = {**values, "cluster": name, "topic": topic}
        found = StreamForm(values, sorted(workspace.clusters), sorted(workspace.catalogs))
        if name not in workspace.clusters:
            return found, None
        cluster = workspace.cluster(name)
        try:
            if not topic:
                return replace(found, topics=topics_of(cluster)), None
            sampled = self._samples.of(cluster, topic, fresh=is_first)
        except HeadraceError as problem:
            found = replace(found, problem=problem.message, advice=problem.advice or None)
            if is_first:
                return found, None
            # What was typed is not lost because a cluster is away for a moment.
            sampled = Sampled()
        try:
            draft = _Draft(workspace, values, sampled, self._checks, is_first=is_first)
            found = draft.shown(found)
            return draft.form(found)
        except HeadraceError as problem:
            return replace(found, problem=problem.message, advice=problem.advice or None), None


class _Draft:
    """A form as it is typed, and what is wrong with it by field."""

    def __init__(
        self,
        workspace: Workspace,
        values: Mapping[str, str],
        sampled: Sampled,
        checks: KnownChecks,
        *,
        is_first: bool,
    ) -> None:
        self._workspace = workspace
        self._sampled = sampled
        self._checks = checks
        files = checks.workspace(workspace.root)[1]
        self._defaults = FormDefaults(workspace, values["cluster"], values["topic"], files)
        self._values = {name: text.strip() for name, text in values.items()}
        self._notes: Sequence[str] = ()
        if is_first:
            proposed, self._notes = self._defaults.of(sampled)
            self._values |= proposed
        self._files = StreamFiles(workspace.root, self._defaults, self._values)
        self._plan: RoutePlan | None = None
        self._problems: dict[str, list[str]] = {}

    def shown(self, found: StreamForm) -> StreamForm:
        """Return the form with its values and the records that were read."""
        cluster, topic = self._values["cluster"], self._values["topic"]
        row = sample_row(cluster, topic, self._sampled, self._defaults.masked, self._notes)
        return replace(found, values=self._values, sample=row)

    def form(self, found: StreamForm) -> tuple[StreamForm, Proposal]:
        """Return the form with all that its values would do, and the files of it."""
        self._check_name()
        proposal = propose(self._workspace.root, self._files.of_stream(), self._checks)
        preview, preview_problem = None, None
        if not proposal.problems:
            try:
                preview = self._preview(proposal)
            except HeadraceError as problem:
                preview_problem = str(problem)
        if not proposal.problems and self._files.has_table:
            proposal = self._with_table(proposal)
        self._say(proposal)
        check = check_of(proposal)
        if TAKEN in self._problems.get("name", ()):
            # What another stream's file would become is of no interest.
            check = replace(check, files=())
        whole = replace(
            found,
            check=replace(check, ok=check.ok and not self._problems),
            problems=self._problems,
            preview=preview,
            preview_problem=preview_problem,
            schema=self._schema_of_registry(),
        )
        return whole, proposal

    def _check_name(self) -> None:
        name, files = self._values.get("name", ""), self._files
        if not is_name(name) or name == RESERVED:
            self._report("name", NO_NAME)
        elif name in self._defaults.names("stream") or files.is_there(files.stream_path):
            self._report("name", TAKEN)
        if files.has_table and files.is_there(files.table_path):
            self._report("name", f"there is already a file {files.table_path}")

    def _preview(self, proposal: Proposal) -> dict[str, Any]:
        """Return what the stream would make of the records that were read."""
        checked = proposal.checked[self._files.stream_path]
        with proposal.in_place():
            stream = effective(stream_of(checked), self._workspace, None)
            self._plan = Planner(self._workspace, stream).plan()
        given = list(enumerate(self._sampled.records, start=1))
        found = counted_outcomes(as_dict(explain(self._plan, given, None)))
        if not self._defaults.masked:
            for record in found["records"]:
                value = self._sampled.records[record["line"] - 1].value()
                record["given"] = shown(value).in_line
        return found

    def _with_table(self, proposal: Proposal) -> Proposal:
        try:
            texts = {**self._files.of_stream(), **self._files.of_table(self._plan)}
            return propose(self._workspace.root, texts, self._checks)
        except HeadraceError as problem:
            self._report("table", problem.message)
            return proposal

    def _say(self, proposal: Proposal) -> None:
        """Put each mistake to the field that it is made of."""
        root, files = proposal.root, self._files
        texts = {root / files.stream_path: files.stream_text}
        if files.table_path in proposal.hashes:
            texts[root / files.table_path] = files.table_text
        schema = root / files.schema_path
        has_bad_schema = any(one.path == schema for one in proposal.problems)
        for one in proposal.problems:
            text = texts.get(one.path)
            field = "schema" if one.path == schema else text.field_of(one.line) if text else ""
            if field == "schema" and has_bad_schema and one.path != schema:
                # The stream's file says the same of it.
                continue
            self._report(field, _sentence(one))

    def _report(self, field: str, sentence: str) -> None:
        said = self._problems.setdefault(field, [])
        if sentence not in said:
            said.append(sentence)

    def _schema_of_registry(self) -> str | None:
        if self._plan is None or self._values.get("format") != "avro":
            return None
        return json.dumps(to_avro(self._plan.source.schema), indent=2)


def counted_outcomes(found: dict[str, Any]) -> dict[str, Any]:
    """Return an explanation with some records, and how many had which outcome by output."""
    records: Sequence[dict[str, Any]] = found["records"]
    counts = {
        name: {"written": 0, "filtered": 0, "rejected": 0, "unknown": 0}
        for name in found["outputs"]
    }
    for record in records:
        for name, count in counts.items():
            outcome = "bad" if record["bad"] else (record["outputs"][name] or {}).get("outcome")
            count[OUTCOMES.get(outcome or "", "unknown")] += 1
    # Those that are rejected first: they say what has to be changed.
    first = sorted(records, key=lambda one: one["bad"] is None)[:MOST_SHOWN]
    some = sorted(first, key=lambda one: int(one["line"]))
    return {**found, "records": some, "counts": counts, "many": len(records)}


def _sentence(problem: Problem) -> str:
    return f"{problem.message} — {problem.suggestion}" if problem.suggestion else problem.message
