"""Every setting that a deployment runs with, and where its value comes from."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from headrace.config.common.units import duration_text
from headrace.config.stream.effective import resource_settings
from headrace.config.workspace.workspace import FILE_NAME
from headrace.config.yaml.document import Document
from headrace.config.yaml.reader import plain_value, read_document
from headrace.problems import shown_path
from headrace.secret import MASK, Secret, is_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic.fields import FieldInfo

    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from headrace.config.yaml.document import KeyPath

DEFAULT = "default"
_REFERENCE = re.compile(r"(?<!\$)\$\{[^}]*\}")


@dataclass(frozen=True, slots=True)
class Setting:
    """One key in dots, its value as JSON holds it, and where that comes from. Secrets are `***`."""

    key: str
    value: object
    origin: str


def settings_of(effective: Effective, workspace: Workspace) -> list[Setting]:
    """Return every setting of a deployment in the order of the models."""
    document = effective.stream.document
    written = _written(effective, document)
    settings = _Walk(document, written).settings(effective.config)
    home = read_document(workspace.root / FILE_NAME)
    return [
        *settings,
        *_region(effective, home, written),
        *_spark(effective, workspace, home, written),
    ]


def as_text(settings: list[Setting]) -> str:
    """Return a line for each setting, its origin after it."""
    lines = [f"{one.key}: {_line(one.value)}" for one in settings]
    width = min(max((len(line) for line in lines), default=0), 60)
    pairs = zip(lines, settings, strict=True)
    return "\n".join(f"{line:<{width}}  # {one.origin}" for line, one in pairs)


def as_json(settings: list[Setting]) -> str:
    """Return an object of value and origin by key."""
    whole = {one.key: {"value": one.value, "origin": one.origin} for one in settings}
    return json.dumps(whole, indent=2, ensure_ascii=False)


class _Walk:
    """A walk over a model beside the document that it was read from."""

    def __init__(self, document: Document, written: Mapping[KeyPath, KeyPath]) -> None:
        self._document = document
        self._written = written

    def settings(
        self, value: object, path: KeyPath = (), dotted: str = "", field: FieldInfo | None = None
    ) -> Iterator[Setting]:
        """Give what a value holds, without what is not set and what belongs to other deployments."""
        if isinstance(value, BaseModel):
            for name, inner in type(value).model_fields.items():
                key = inner.alias or name
                if key in {"kind", "overrides"}:
                    continue
                # In the short form of a rule, its value stands where the rule does.
                steps = () if self._is_short(path) else (key,)
                further = ".".join(filter(None, (dotted, *steps)))
                yield from self.settings(getattr(value, name), (*path, *steps), further, inner)
        elif isinstance(value, dict):
            for key, one in value.items():
                yield from self.settings(one, (*path, key), f"{dotted}.{key}")
        elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
            for number, one in enumerate(value):
                inside = f"{dotted}.{getattr(one, 'name', number)}"
                yield from self.settings(one, (*path, number), inside)
        elif value is not None and value != ():
            yield self._setting(value, path, dotted, field)

    def _is_short(self, path: KeyPath) -> bool:
        position = self._document.values.get(path)
        return position is not None and (
            position.raw is not None or (*path, 0) in self._document.values
        )

    def _setting(
        self, value: object, path: KeyPath, dotted: str, field: FieldInfo | None
    ) -> Setting:
        path = self._written.get(path, path)
        if path in self._document.values:
            return Setting(dotted, shown(value, self._document, path), origin(self._document, path))
        extra = field.json_schema_extra if field else None
        as_written = extra.get("default") if isinstance(extra, dict) else None
        return Setting(dotted, as_written or shown(value, Document(Path()), path), DEFAULT)


def shown(value: object, document: Document, path: KeyPath) -> object:
    """Return a value as JSON holds it, as it was written where it can be; secrets masked."""
    if isinstance(value, tuple):
        return [shown(one, document, (*path, number)) for number, one in enumerate(value)]
    position = document.values.get(path)
    is_free_text = path[-2:-1] in {("conf",), ("properties",)}
    is_named_so = is_free_text and is_secret_name(str(path[-1]))
    if isinstance(value, Secret) or is_named_so or (position is not None and position.secret):
        return MASK
    is_plain = isinstance(value, bool | int | float)
    if position is not None and position.raw is not None and not position.filled:
        # 128MiB stays 128MiB, and 5 is a number.
        return (
            value if is_plain and plain_value(position.raw, filled=False) == value else position.raw
        )
    if isinstance(value, timedelta):
        return duration_text(value)
    return value if is_plain else str(value)


def origin(document: Document, path: KeyPath) -> str:
    """Return the file and line of a value, and what was filled in there from outside."""
    line, _ = document.at(document.position(path, key=True).index)
    where = f"{shown_path(document.path)}:{line}"
    if path[0] == "overrides":
        where = f"overrides.{path[1]} ({where})"
    filled = [
        name
        for key, position in document.values.items()
        if position.secret and key[: len(path)] == path
        for name in _REFERENCE.findall(position.raw or "")
    ]
    return f"{where}, {', '.join(filled)} from the environment" if filled else where


def _written(effective: Effective, document: Document) -> dict[KeyPath, KeyPath]:
    """Return where a setting is written, by where it belongs, for what is not written there."""
    base: KeyPath = ("overrides", effective.deployment or "")
    found: dict[KeyPath, KeyPath] = {
        path[2:]: path for path in document.values if path[:2] == base and len(path) > 2
    }
    start: KeyPath = ("source", "starting_offsets")
    for number, output in enumerate(effective.stream.config.outputs):
        if output.starting_offsets is None:
            found["outputs", number, "starting_offsets"] = found.get(start, start)
    return found


def _region(
    effective: Effective, home: Document, written: Mapping[KeyPath, KeyPath]
) -> Iterator[Setting]:
    if effective.region is None:
        return
    own = written.get(("region",))
    document = effective.stream.document if own else home
    path = own or ("clusters", effective.config.source.cluster, "region")
    yield Setting("region", shown(effective.region, document, path), origin(document, path))


def _spark(
    effective: Effective, workspace: Workspace, home: Document, written: Mapping[KeyPath, KeyPath]
) -> Iterator[Setting]:
    override, master = effective.override, workspace.spark.master
    resources = resource_settings(override.resources, master) if override else {}
    for name, value in ({"spark.master": master} | dict(effective.spark_conf)).items():
        key = name if name == "spark.master" else f"spark.conf.{name}"
        own = written.get(("spark", "conf", name))
        if own is not None:
            document = effective.stream.document
            yield Setting(key, shown(value, document, own), origin(document, own))
        elif name in resources:
            part = "memory" if name.endswith(".memory") else "cores"
            path = written["resources", part]
            yield Setting(key, value, origin(effective.stream.document, path))
        else:
            in_home = key == name and name not in workspace.spark.conf
            path = ("spark", "master") if in_home else ("spark", "conf", name)
            known = path in home.values
            yield Setting(key, shown(value, home, path), origin(home, path) if known else DEFAULT)


def _line(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
