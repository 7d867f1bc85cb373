"""A new stream by a form: what the fields mean as files, what those would do, and saving them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from fleet.file_acts import check_of, save_proposal
from fleet.form_defaults import FormDefaults, folder_of_kind
from fleet.topic_samples import Sampled, TopicSamples, sample_row, topics_of
from headrace.config.common.scalars import is_name
from headrace.config.edit.proposal import propose
from headrace.config.edit.stream_text import (
    StreamChoice,
    TableChoice,
    Text,
    stream_text,
    table_text,
)
from headrace.config.load import load_workspace, stream_of
from headrace.config.stream.effective import effective
from headrace.errors import HeadraceError, Terminal
from headrace.http.new_stream_rows import StreamForm
from headrace.schema.avro import to_avro
from router.explain.explanation import explain
from router.explain.report import as_dict
from router.plan.planner import Planner, output_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from headrace.config.edit.proposal import Proposal
    from headrace.config.workspace.workspace import Workspace
    from headrace.problems import Problem
    from router.plan.model import RoutePlan

UNNAMED: Final = "new-stream"
TAKEN: Final = "there is already such a stream; choose another name"
NO_NAME: Final = "a name of a-z, 0-9, _ and -, not new"
# The page of a new stream has this address.
RESERVED: Final = "new"
MOST_SHOWN: Final = 5


class NewStreams:
    """Forms of new streams in one workspace."""

    def __init__(self, root: Path, samples: TopicSamples | None = None) -> None:
        self._root = root
        self._samples = samples or TopicSamples()

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
        found = StreamForm(dict(values), sorted(workspace.clusters), sorted(workspace.catalogs))
        name, topic = values.get("cluster", ""), values.get("topic", "").strip()
        if name not in workspace.clusters:
            return found, None
        cluster = workspace.cluster(name)
        try:
            if not topic:
                return replace(found, topics=topics_of(cluster)), None
            sampled = self._samples.of(cluster, topic, fresh=is_first)
            return _Draft(workspace, values, sampled, is_first=is_first).form(found)
        except HeadraceError as problem:
            return replace(found, problem=problem.message, advice=problem.advice or None), None


class _Draft:
    """What is typed in a form, as files of the workspace."""

    def __init__(
        self, workspace: Workspace, values: Mapping[str, str], sampled: Sampled, *, is_first: bool
    ) -> None:
        self._workspace = workspace
        self._sampled = sampled
        self._defaults = FormDefaults(workspace, values["cluster"], values["topic"].strip())
        self.values = {name: text.strip() for name, text in values.items()}
        self._notes: Sequence[str] = ()
        if is_first:
            proposed, self._notes = self._defaults.of(sampled)
            self.values = {**proposed, **{key: text for key, text in self.values.items() if text}}
        self._plan: RoutePlan | None = None
        self.problems: dict[str, list[str]] = {}

    def form(self, found: StreamForm) -> tuple[StreamForm, Proposal]:
        """Return the form with all that its values would do, and the files of it."""
        masked = self._defaults.masked
        row = sample_row(
            self.values["cluster"], self.values["topic"], self._sampled, masked, self._notes
        )
        found = replace(found, values=self.values, sample=row)
        self._check_name()
        proposal = propose(self._workspace.root, self._stream_files())
        preview, preview_problem = None, None
        if not proposal.problems:
            try:
                preview = self._preview(proposal)
            except HeadraceError as problem:
                preview_problem = str(problem)
        if not proposal.problems and self._has_table():
            proposal = self._with_table(proposal)
        self._say(proposal)
        check = check_of(proposal)
        if TAKEN in self.problems.get("name", ()):
            # What another stream's file would become is of no interest.
            check = replace(check, files=())
        whole = replace(
            found,
            check=replace(check, ok=check.ok and not self.problems),
            problems=self.problems,
            preview=preview,
            preview_problem=preview_problem,
            schema=self._schema_of_registry(),
        )
        return whole, proposal

    @property
    def _stem(self) -> str:
        name = self.values.get("name", "")
        return name if is_name(name) else UNNAMED

    @property
    def _paths(self) -> dict[str, str]:
        folders = {
            kind: folder_of_kind(self._defaults.files, self._workspace.root, kind)
            for kind in ("stream", "lake_table", "schema")
        }
        table = f"{self._stem}_{self.values.get('output') or 'all'}"
        table = table if is_name(table) else f"{self._stem}_table"
        found = {
            "stream": f"{folders['stream']}{self._stem}.yaml",
            "schema": f"{folders['schema']}{self._stem}.avsc",
            "lake_table": f"{folders['lake_table']}{table}.yaml",
            "table_schema": f"{folders['schema']}{table}.avsc",
        }
        if found["lake_table"] == found["stream"]:
            found["lake_table"] = f"{folders['lake_table']}{table}_table.yaml"
        return found

    def _check_name(self) -> None:
        name = self.values.get("name", "")
        if not is_name(name) or name == RESERVED:
            self._report("name", NO_NAME)
        elif name in self._defaults.names("stream") or self._is_there(self._paths["stream"]):
            self._report("name", TAKEN)
        if self._has_table() and self._is_there(self._paths["lake_table"]):
            self._report("name", f"there is already a file {self._paths['lake_table']}")

    def _is_there(self, path: str) -> bool:
        return (self._workspace.root / path).exists()

    def _has_table(self) -> bool:
        return bool(self.values.get("catalog"))

    def _stream_files(self) -> dict[str, str]:
        found = {self._paths["stream"]: str(self._stream_text())}
        if self._has_schema_file():
            found[self._paths["schema"]] = self.values.get("schema", "")
        return found

    def _has_schema_file(self) -> bool:
        return self.values.get("format") == "json"

    def _stream_text(self) -> Text:
        given = self.values.get
        form = given("format", "")
        masked = (
            [] if form == "raw" else [one for one in self._defaults.masked if self._has_field(one)]
        )
        choice = StreamChoice(
            name=given("name", ""),
            cluster=given("cluster", ""),
            topic=given("topic", ""),
            format=form,
            schema=self._paths["schema"] if self._has_schema_file() else "",
            registry=given("registry", ""),
            subject=given("subject", "") or f"{given('topic', '')}-value",
            required=re.split(r"[\s,]+", given("required", "").strip(", \n\t\r"))
            if given("required")
            else (),
            masked=masked,
            output=given("output", ""),
            filter=given("filter", ""),
            project=[line.strip() for line in given("project", "").splitlines() if line.strip()],
            sink_cluster=given("sink_cluster", ""),
            sink_topic=given("sink_topic", ""),
            sink_format="raw" if form == "raw" else "json",
            key=given("key", ""),
        )
        return stream_text(choice)

    def _has_field(self, path: str) -> bool:
        """Whether a schema that is in the form has the field; one of a registry may have it."""
        return (
            not self._has_schema_file()
            or f'"{path.rsplit(".", maxsplit=1)[-1]}"' in self.values.get("schema", "")
        )

    def _preview(self, proposal: Proposal) -> dict[str, Any]:
        """Return what the stream would make of the records that were read."""
        checked = proposal.checked[self._paths["stream"]]
        with proposal.in_place():
            stream = effective(stream_of(checked), self._workspace, None)
            self._plan = Planner(self._workspace, stream).plan()
        given = list(enumerate(self._sampled.records, start=1))
        return counted_outcomes(as_dict(explain(self._plan, given, None)))

    def _with_table(self, proposal: Proposal) -> Proposal:
        try:
            return propose(self._workspace.root, {**self._stream_files(), **self._table_files()})
        except HeadraceError as problem:
            self._report("table", str(problem.message))
            return proposal

    def _table_files(self) -> dict[str, str]:
        if self._plan is None:
            raise Terminal("the columns of the output are not known yet")
        if self.values.get("format") == "raw":
            raise Terminal("a table of a topic of format raw is declared by hand")
        [outlet] = self._plan.outlets
        schema = output_schema(outlet, self._plan.source.schema)
        return {
            self._paths["lake_table"]: str(self._table_text()),
            self._paths["table_schema"]: f"{json.dumps(to_avro(schema), indent=2)}\n",
        }

    def _table_text(self) -> Text:
        given = self.values.get
        partition = [line.strip() for line in given("partition", "").splitlines() if line.strip()]
        return table_text(
            TableChoice(
                name=self._paths["lake_table"].rpartition("/")[2].removesuffix(".yaml"),
                cluster=given("sink_cluster", ""),
                topic=given("sink_topic", ""),
                schema=self._paths["table_schema"],
                catalog=given("catalog", ""),
                database=given("database", ""),
                table=given("table", ""),
                partition=partition,
            )
        )

    def _say(self, proposal: Proposal) -> None:
        """Put each mistake to the field that it is made of."""
        root, paths = proposal.root, self._paths
        texts = {paths["stream"]: self._stream_text()}
        if paths["lake_table"] in proposal.hashes:
            texts[paths["lake_table"]] = self._table_text()
        of_schema = [one for one in proposal.problems if one.path == root / paths["schema"]]
        for one in proposal.problems:
            text = next((text for path, text in texts.items() if one.path == root / path), None)
            field = "" if text is None else text.field_of(one.line)
            if one in of_schema:
                field = "schema"
            elif field == "schema" and of_schema:
                continue
            self._report(field, _sentence(one))

    def _report(self, field: str, sentence: str) -> None:
        said = self.problems.setdefault(field, [])
        if sentence not in said:
            said.append(sentence)

    def _schema_of_registry(self) -> str | None:
        if self._plan is None or self.values.get("format") != "avro":
            return None
        return json.dumps(to_avro(self._plan.source.schema), indent=2)


def counted_outcomes(found: dict[str, Any]) -> dict[str, Any]:
    """Return an explanation with its first records, and how many had which outcome by output."""
    records: Sequence[dict[str, Any]] = found["records"]
    counts = {
        name: {"written": 0, "filtered": 0, "rejected": 0, "unknown": 0}
        for name in found["outputs"]
    }
    for record in records:
        for name, count in counts.items():
            outcome = "bad" if record["bad"] else (record["outputs"][name] or {}).get("outcome")
            count[
                {"written": "written", "filtered": "filtered", "bad": "rejected"}.get(
                    outcome or "", "unknown"
                )
            ] += 1
    # Those that are rejected first: they say what has to be changed.
    first = sorted(records, key=lambda one: one["bad"] is None)[:MOST_SHOWN]
    return {
        **found,
        "records": sorted(first, key=lambda one: one["line"]),
        "counts": counts,
        "many": len(records),
    }


def _sentence(problem: Problem) -> str:
    return f"{problem.message} — {problem.suggestion}" if problem.suggestion else problem.message
