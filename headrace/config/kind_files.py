"""The kinds of file: which model each has, and which checks."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.config.app.checks import check_app
from headrace.config.app.file import App
from headrace.config.common.check_for_each import check_for_each, fill_source, placeholders_in
from headrace.config.common.section import KnownNames, Section, addresses_of
from headrace.config.lake_table.checks import check_lake_table
from headrace.config.lake_table.file import LakeTable
from headrace.config.stream.checks import check_stream
from headrace.config.stream.file import Stream
from headrace.config.workspace.workspace import Catalog, Cluster, Workspace, WorkspaceFile
from headrace.config.yaml.model_errors import validated
from headrace.config.yaml.reader import FOR_EACH, ParsedFile, read_document
from headrace.problems import absolute, did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.config.common.for_each import ForEach
    from headrace.config.common.model import Model
    from headrace.config.yaml.document import Document
    from headrace.config.yaml.placeholders import Placeholders
    from headrace.schema.model import Record

KINDS: dict[str, tuple[type[Model], Callable[[Section], dict[str, Record]]]] = {
    "stream": (Stream, check_stream),
    "lake_table": (LakeTable, check_lake_table),
    "app": (App, check_app),
}


@dataclass(slots=True)
class CheckedFile:
    """A kind file after all its checks. `config` is None where the file has a problem.

    So it is where the file is about many topics: each has a config of its own, by the `template`.
    """

    file: Section
    kind: str | None = None
    config: Model | None = None
    schemas: dict[str, Record] = field(default_factory=dict)
    template: Template | None = None

    @property
    def document(self) -> Document:
        """The file's values, and its problems."""
        return self.file.document

    @property
    def topic(self) -> str | None:
        """The topic that it is about, as one of many; None for any other file."""
        placeholders = self.document.placeholders
        return None if placeholders is None or placeholders.is_sample else placeholders.topic

    @property
    def example(self) -> Model | None:
        """What the file says, of a file for many topics what it says of an example."""
        return self.config if self.template is None else self.template.example


@dataclass(frozen=True, slots=True)
class Template:
    """A file for many topics without mistakes. `example` is what it says of a `sample` topic."""

    parsed: ParsedFile
    known: KnownNames
    kind: str
    for_each: ForEach
    sample: Placeholders
    example: Stream | LakeTable

    @property
    def name(self) -> str:
        """The name as it is written."""
        return self.parsed.read_part("name").position(("name",)).raw or ""

    def cluster(self, region: str | None) -> str:
        """Return the cluster whose topics a deployment reads."""
        override = self.example.overrides.get(region or "")
        own = override.source.cluster if override else None
        return own or self.for_each.cluster

    def match(self, topic: str) -> Placeholders | None:
        """Return what a topic's placeholders stand for, None where it does not match."""
        return self.for_each.topics.match(topic, self.for_each.cluster)

    def check(self, placeholders: Placeholders) -> CheckedFile:
        """Check the file as it is for one topic."""
        return _checked(self.parsed.read(placeholders), self.known, self.kind)


def check_file(path: Path, known: KnownNames, expected: str | None = None) -> CheckedFile:
    """Read a kind file and check all of it; the document has the problems."""
    parsed = ParsedFile(absolute(path), [known.root] if known.root else [])
    checked = _checked(parsed.read(placeholders_in(parsed)), known, expected)
    config = checked.config
    sample = checked.document.placeholders
    if sample and isinstance(config, Stream | LakeTable) and config.for_each is not None:
        checked.template = Template(parsed, known, config.kind, config.for_each, sample, config)
        checked.config = None
    return checked


def _checked(document: Document, known: KnownNames, expected: str | None) -> CheckedFile:
    checked = CheckedFile(Section(document, known))
    if document.data is None and document.problems:
        return checked
    if not isinstance(document.data, dict):
        document.report((), "expected a mapping (key: value)", "begin with a line kind: …")
        return checked
    kind = _kind(document, expected)
    if kind is None:
        return checked
    checked.kind = kind
    model, check = KINDS[kind]
    if document.placeholders is not None:
        fill_source(document)
        check_for_each(checked.file)
    elif FOR_EACH in document.data and kind != "app":
        document.report((FOR_EACH,), "for_each is not in the file itself", "write it without <<:")
    config = validated(document, model)
    checked.schemas = check(checked.file)
    checked.config = None if document.problems else config
    return checked


def _kind(document: Document, expected: str | None) -> str | None:
    """Return the kind to check the file as; a misspelt one is reported, and taken as meant."""
    written = document.get("kind")
    is_kind = isinstance(written, str) and written in KINDS
    if expected is not None and written != expected and is_kind:
        document.report(("kind",), f'kind is "{written}", expected "{expected}"')
        return None
    if is_kind:
        return str(written)
    if ("kind",) not in document.values:
        kinds = ", ".join(KINDS)
        document.report((), 'missing key "kind"', f"the kinds are {kinds}")
    else:
        position = document.position(("kind",))
        shown = position.raw or "nothing"
        advice = did_you_mean("" if position.secret else shown, KINDS)
        document.report(("kind",), f'unknown kind "{shown}"', advice)
    document.unusable.add(("kind",))
    return expected or nearest(str(written), KINDS)


def check_workspace_file(path: Path) -> tuple[Document, Workspace | None]:
    """Read headrace.yaml and check all of it; no workspace where there is a problem."""
    root = absolute(path.parent)
    document = read_document(root / path.name)
    if document.data is None and not document.problems:
        document.data = {}
    config = None if document.data is None else validated(document, WorkspaceFile)
    if document.problems or config is None:
        return document, None
    clusters = {
        name: Cluster(name, one.bootstrap_servers, one.region, one.properties)
        for name, one in config.clusters.items()
    }
    catalogs = {name: Catalog(name, one, root) for name, one in config.catalogs.items()}
    # A ~ that is no user's stays a name like any other.
    state_dir = absolute(root / os.path.expanduser(config.state_dir))  # noqa: PTH111 - pathlib's raises
    return document, Workspace(
        root,
        clusters,
        catalogs,
        state_dir,
        config.spark,
        config.checkpoint_dir,
        config.links,
        config.prices,
        config.lineage,
    )


def known_of(document: Document) -> KnownNames:
    """Return what headrace.yaml defines by name, as far as it can be read."""
    clusters = _defined(document, "clusters")
    written = {name: document.get("clusters", name, "bootstrap_servers") for name in clusters or ()}
    addresses = {name: addresses_of(one) for name, one in written.items() if isinstance(one, str)}
    return KnownNames(document.path.parent, clusters, _defined(document, "catalogs"), addresses)


def _defined(document: Document, section: str) -> frozenset[str] | None:
    data = document.data
    if not isinstance(data, dict):
        return None
    value = data.get(section, {})
    return frozenset(value) if isinstance(value, dict) else None
