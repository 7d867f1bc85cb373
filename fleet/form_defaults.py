"""What a form of a new stream begins with: names, clusters and folders as the workspace has them."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Final

from headrace.config.common.scalars import is_name
from headrace.config.stream.file import Stream
from headrace.config.stream.sinks import TopicSink
from headrace.problems import counted
from headrace.records.json.inferring import infer
from headrace.schema.avro import to_avro

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from fleet.topic_samples import Sampled
    from headrace.config.kind_files import CheckedFile
    from headrace.config.workspace.workspace import Workspace

FOLDERS: Final = {"stream": "streams", "lake_table": "tables", "schema": "schemas"}
PARTITION: Final = "day(__metadata__.kafka_ingestion_ts)"
EMPTY: Final = '{\n  "type": "record",\n  "name": "NAME",\n  "fields": [\n    {"name": "id", "type": ["null", "string"], "default": null}\n  ]\n}'


class FormDefaults:
    """A workspace's files, asked for what a new one beside them would be like."""

    def __init__(
        self, workspace: Workspace, cluster: str, topic: str, files: Sequence[CheckedFile]
    ) -> None:
        self._workspace = workspace
        self._cluster = cluster
        self._topic = topic
        self.files = files

    def names(self, kind: str) -> set[str]:
        """Return the names that files of a kind have."""
        return {str(one.document.get("name")) for one in self.files if one.kind == kind}

    @cached_property
    def masked(self) -> dict[str, str]:
        """The fields of this topic that streams of the workspace mask, with the stream's name.

        So it is for the topic of those streams' rejected records.
        """
        found: dict[str, str] = {}
        for one in self.files:
            # As it is written: a file with a mistake may run in its last good form.
            names = one.file.mapping("hygiene", "mask")
            if one.kind == "stream" and names and self._is_of_topic(one):
                found |= dict.fromkeys(names, str(one.document.get("name")))
        return found

    def _is_of_topic(self, one: CheckedFile) -> bool:
        """Whether a stream reads this topic, in any region, or keeps its rejected records here."""
        topics = {self._topic, self._topic.removesuffix(".quarantine")}
        if one.template is not None:
            return any(one.template.match(topic) is not None for topic in topics)
        source, bad = one.file.at("source"), one.file.at("hygiene", "quarantine")
        own = source.text("topic")
        read = {own, *(each.text("source", "topic") for each in one.file.entries("overrides"))}
        return not topics.isdisjoint(read) or bad.text("topic") == self._topic

    def of(self, sampled: Sampled) -> tuple[dict[str, str], Sequence[str]]:
        """Return the values of all fields, and what was left out of the schema."""
        name = self._free_name()
        found = infer([one.value() for one in sampled.records], name)
        schema = (
            EMPTY.replace("NAME", re.sub(r"\W", "_", name))
            if found is None
            else json.dumps(to_avro(found.schema), indent=2)
        )
        notes = [] if found is None else list(found.notes)
        if found is None and sampled.records and sampled.format == "json":
            notes.append("no sample is a JSON object: write the schema, or choose another format")
        elif found is not None and found.others:
            notes.append(f"not a JSON object: {counted(found.others, 'sample')}")
        values = {
            "format": sampled.format,
            "schema": schema,
            "registry": self._registry(),
            "subject": f"{self._topic}-value",
            "name": name,
            "output": "all",
            "sink_cluster": self._sink_cluster(),
            "sink_topic": f"{name}_all",
            "partition": PARTITION,
        }
        return values, notes

    def _free_name(self) -> str:
        base = re.sub(r"[^a-z0-9_-]+", "_", self._topic.casefold()).strip("_-")[:90]
        base = base if is_name(base) else "stream"
        taken, name, number = self.names("stream") | {"new"}, base, 2
        while name in taken:
            name, number = f"{base}_{number}", number + 1
        return name

    def _registry(self) -> str:
        """Return the registry that most other files name, as it is written there."""
        written = (
            one.document.values.get(("source", "schema", "registry", "url")) for one in self.files
        )
        return _most(one.raw for one in written if one is not None and one.raw) or ""

    def _sink_cluster(self) -> str:
        sinks = (
            output.sink.cluster
            for one in self.files
            if isinstance(one.example, Stream)
            for output in one.example.outputs
            if isinstance(output.sink, TopicSink)
        )
        return _most(sinks) or self._cluster


def folder_of_kind(files: Iterable[CheckedFile], root: Path, kind: str) -> str:
    """Return the folder in which the workspace has most files of a kind, with its slash."""
    if kind == "schema":
        found = [
            path.parent
            for one in files
            for path in one.document.named
            if path.suffix == ".avsc" and path.is_file()
        ]
    else:
        found = [one.document.path.parent for one in files if one.kind == kind]
    inside = [one for one in found if one.is_relative_to(root)]
    most = _most(one.relative_to(root).as_posix() for one in inside)
    folder = FOLDERS[kind] if most is None else most
    return "" if folder == "." else f"{folder}/"


def _most(names: Iterable[str]) -> str | None:
    counts = Counter(names).most_common(1)
    return counts[0][0] if counts else None
