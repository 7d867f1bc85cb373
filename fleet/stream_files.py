"""What is typed in the form of a new stream, as files of the workspace."""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import TYPE_CHECKING, Final

from fleet.form_defaults import folder_of_kind
from headrace.config.common.scalars import is_name
from headrace.config.edit.stream_text import (
    StreamChoice,
    TableChoice,
    Text,
    stream_text,
    table_text,
)
from headrace.errors import Terminal
from headrace.schema.avro import to_avro
from router.plan.planner import output_schema

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fleet.form_defaults import FormDefaults
    from router.plan.model import RoutePlan

UNNAMED: Final = "new-stream"


class StreamFiles:
    """The files that a form makes: a stream, its schema, a lake table and the schema of that."""

    def __init__(self, root: Path, defaults: FormDefaults, values: Mapping[str, str]) -> None:
        self._root = root
        self._defaults = defaults
        self._values = values
        self._folders: dict[str, str] = {}

    @property
    def has_table(self) -> bool:
        """Whether a lake table is wanted."""
        return bool(self._given("catalog"))

    @property
    def stream_path(self) -> str:
        """The path of the stream, below the workspace."""
        return f"{self._folder('stream')}{self._stem}.yaml"

    @property
    def schema_path(self) -> str:
        """The path of the schema of the records."""
        return f"{self._folder('schema')}{self._stem}.avsc"

    @property
    def table_path(self) -> str:
        """The path of the lake table."""
        path = f"{self._folder('lake_table')}{self._table_stem}.yaml"
        return path if path != self.stream_path else path.replace(".yaml", "_table.yaml")

    @property
    def table_schema_path(self) -> str:
        """The path of the schema of what the table lands."""
        return f"{self._folder('schema')}{self._table_stem}.avsc"

    def is_there(self, path: str) -> bool:
        """Whether the workspace has that file."""
        return (self._root / path).exists()

    def of_stream(self) -> dict[str, str]:
        """Return the texts of the stream and its schema, by path."""
        found = {self.stream_path: str(self.stream_text)}
        if self._has_schema_file:
            found[self.schema_path] = self._given("schema")
        return found

    def of_table(self, plan: RoutePlan | None) -> dict[str, str]:
        """Return the texts of the lake table and its schema; Terminal if its columns are not known."""
        if plan is None:
            raise Terminal("the columns of the output are not known yet")
        if self._given("format") == "raw":
            raise Terminal("a table of a topic of format raw is declared by hand")
        [outlet] = plan.outlets
        schema = output_schema(outlet, plan.source.schema)
        return {
            self.table_path: str(self.table_text),
            self.table_schema_path: f"{json.dumps(to_avro(schema), indent=2)}\n",
        }

    @cached_property
    def stream_text(self) -> Text:
        """The file of the stream."""
        form, required = self._given("format"), self._given("required")
        masked = [one for one in self._defaults.masked if form != "raw" and self._has_field(one)]
        return stream_text(
            StreamChoice(
                name=self._given("name"),
                cluster=self._given("cluster"),
                topic=self._given("topic"),
                format=form,
                schema=self.schema_path if self._has_schema_file else "",
                registry=self._given("registry"),
                subject=self._given("subject") or f"{self._given('topic')}-value",
                required=[one for one in re.split(r"[\s,]+", required) if one],
                masked=masked,
                output=self._given("output"),
                filter=self._given("filter"),
                project=self._lines("project"),
                sink_cluster=self._given("sink_cluster"),
                sink_topic=self._given("sink_topic"),
                sink_format="raw" if form == "raw" else "json",
                key=self._given("key"),
            )
        )

    @cached_property
    def table_text(self) -> Text:
        """The file of the lake table."""
        return table_text(
            TableChoice(
                name=self.table_path.rpartition("/")[2].removesuffix(".yaml"),
                cluster=self._given("sink_cluster"),
                topic=self._given("sink_topic"),
                schema=self.table_schema_path,
                catalog=self._given("catalog"),
                database=self._given("database"),
                table=self._given("table"),
                partition=self._lines("partition"),
            )
        )

    @property
    def _stem(self) -> str:
        name = self._given("name")
        return name if is_name(name) else UNNAMED

    @property
    def _table_stem(self) -> str:
        name = f"{self._stem}_{self._given('output')}"
        return name if is_name(name) else f"{self._stem[:90]}_table"

    def _folder(self, kind: str) -> str:
        if kind not in self._folders:
            self._folders[kind] = folder_of_kind(self._defaults.files, self._root, kind)
        return self._folders[kind]

    @property
    def _has_schema_file(self) -> bool:
        return self._given("format") == "json"

    def _has_field(self, path: str) -> bool:
        """Whether a schema that is in the form has the field; one of a registry may have it."""
        name = path.rsplit(".", maxsplit=1)[-1]
        return not self._has_schema_file or f'"{name}"' in self._given("schema")

    def _given(self, name: str) -> str:
        return self._values.get(name, "")

    def _lines(self, name: str) -> list[str]:
        return [line.strip() for line in self._given(name).splitlines() if line.strip()]
