"""From what somebody has chosen in a form to the texts of a stream and of its lake table.

Each line knows the field of the form that it is made of, so that a mistake is said beside it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# A text that YAML reads as that text, wherever it stands.
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
ALL: Final = "*"


@dataclass(frozen=True, slots=True)
class StreamChoice:
    """A stream with one output. What is empty is left out; `masked` fields are redacted."""

    name: str
    cluster: str
    topic: str
    format: str
    schema: str = ""
    registry: str = ""
    subject: str = ""
    required: Sequence[str] = ()
    masked: Sequence[str] = ()
    output: str = "all"
    filter: str = ""
    project: Sequence[str] = ()
    sink_cluster: str = ""
    sink_topic: str = ""
    sink_format: str = "json"
    key: str = ""


@dataclass(frozen=True, slots=True)
class TableChoice:
    """A lake table that lands the output's topic."""

    name: str
    cluster: str
    topic: str
    schema: str
    catalog: str
    database: str
    table: str
    partition: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """A file's text, line by line, and the field of the form behind each line."""

    lines: Sequence[tuple[str, str]]

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line, _ in self.lines)

    def field_of(self, line: int) -> str:
        """Return the field behind a line, which counts from 1."""
        return self.lines[line - 1][1] if 0 < line <= len(self.lines) else ""


def stream_text(one: StreamChoice) -> Text:
    """Return the file of a stream."""
    lines = [
        ("kind: stream", ""),
        (f"name: {scalar(one.name)}", "name"),
        ("source:", "format"),
        ("  type: kafka", ""),
        (f"  cluster: {scalar(one.cluster)}", "cluster"),
        (f"  topic: {scalar(one.topic)}", "topic"),
        (f"  format: {scalar(one.format)}", "format"),
    ]
    if one.format == "avro":
        lines.append(("  schema:", "registry"))
        lines.append(("    registry:", "registry"))
        lines.append((f"      url: {scalar(one.registry)}", "registry"))
        lines.append((f"      subject: {scalar(one.subject)}", "subject"))
    elif one.schema:
        lines.append((f"  schema: {scalar(one.schema)}", "schema"))
    lines.append(("hygiene:", "required"))
    if one.required:
        lines.append((f"  required: {listed(one.required)}", "required"))
    if one.masked:
        masks = ", ".join(f"{scalar(name)}: redact" for name in one.masked)
        lines.append((f"  mask: {{{masks}}}", "schema"))
    lines += [
        ("  on_bad_record: quarantine", ""),
        ("outputs:", "output"),
        (f"  - name: {scalar(one.output)}", "output"),
    ]
    if one.filter:
        lines.append((f"    filter: {quoted(one.filter)}", "filter"))
    if one.project:
        lines.append(("    project:", "project"))
        lines += [(f"      - {scalar(item)}", "project") for item in one.project]
    lines += [
        ("    sink:", "sink_topic"),
        ("      type: kafka", ""),
        (f"      cluster: {scalar(one.sink_cluster)}", "sink_cluster"),
        (f"      topic: {scalar(one.sink_topic)}", "sink_topic"),
        (f"      format: {scalar(one.sink_format)}", "format"),
    ]
    if one.key:
        lines.append((f"      key: {scalar(one.key)}", "key"))
    return Text(lines)


def table_text(one: TableChoice) -> Text:
    """Return the file of a lake table."""
    lines = [
        ("kind: lake_table", ""),
        (f"name: {scalar(one.name)}", "name"),
        ("source:", "sink_topic"),
        ("  type: kafka", ""),
        (f"  cluster: {scalar(one.cluster)}", "sink_cluster"),
        (f"  topic: {scalar(one.topic)}", "sink_topic"),
        ("  format: json", ""),
        (f"  schema: {scalar(one.schema)}", "table"),
        ("table:", "table"),
        (f"  catalog: {scalar(one.catalog)}", "catalog"),
        (f"  database: {scalar(one.database)}", "database"),
        (f"  table: {scalar(one.table)}", "table"),
    ]
    if one.partition:
        lines.append((f"  partition_by: {listed(one.partition)}", "partition"))
    lines.append(("schema_evolution: add_columns", ""))
    return Text(lines)


def scalar(text: str) -> str:
    """Return a text as YAML has it, in quotes where it needs them."""
    is_plain = _PLAIN.fullmatch(text) is not None and text.casefold() not in _WORDS
    return text if is_plain else quoted(text)


def quoted(text: str) -> str:
    """Return a text in double quotes. What YAML would take for the end of a line is escaped."""
    whole = json.dumps(text, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08X}" for one in whole)


def listed(items: Iterable[str]) -> str:
    """Return a list in brackets."""
    return f"[{', '.join(map(scalar, items))}]"
