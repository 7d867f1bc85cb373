"""A workspace as values: where it is, and the clusters and catalogs that its files name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from headrace.errors import UsageError
from headrace.problems import did_you_mean
from headrace.secret import MASK

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from headrace.config.workspace.file import CatalogConfig, SparkConfig
    from headrace.secret import Secret

FILE_NAME = "headrace.yaml"

_SQLITE = re.compile(r"(sqlite(?:\+\w+)?:///)([^/:?][^?]*)(\?.*)?", re.DOTALL)
_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Kafka cluster. `properties` are librdkafka's, shown to nobody."""

    name: str
    bootstrap_servers: str
    region: str | None
    properties: Mapping[str, Secret]

    def client_properties(self) -> dict[str, str]:
        """Return what a librdkafka client is made with, secrets revealed."""
        revealed = {name: value.reveal() for name, value in self.properties.items()}
        return {"bootstrap.servers": self.bootstrap_servers} | revealed


@dataclass(frozen=True, slots=True)
class Catalog:
    """An Iceberg catalog; relative paths in it are relative to the workspace."""

    name: str
    config: CatalogConfig
    root: Path

    @property
    def type(self) -> str:
        """sql, rest, hive or glue."""
        return self.config.type

    def properties(self) -> dict[str, str]:
        """Return pyiceberg's properties, secrets revealed, relative paths made absolute."""
        properties: dict[str, str] = {"type": self.config.type}
        if self.config.uri is not None:
            properties["uri"] = self._absolute_uri(self.config.uri.reveal())
        warehouse = self.config.warehouse
        if warehouse is not None:
            # A REST catalog's warehouse is a name of its own, not a folder.
            is_folder = self.config.type in {"sql", "hive"} and not _HAS_SCHEME.match(warehouse)
            properties["warehouse"] = str(self.root / warehouse) if is_folder else warehouse
        return properties | {name: value.reveal() for name, value in self.config.extra.items()}

    def shown_properties(self) -> dict[str, str]:
        """Return what a person may see of it: its type, its file and its warehouse; else a mask."""
        properties = self.properties()
        names = {"type", "warehouse"}
        if _SQLITE.fullmatch(properties.get("uri", "")):
            names.add("uri")
        return {name: value if name in names else MASK for name, value in properties.items()}

    def _absolute_uri(self, uri: str) -> str:
        found = _SQLITE.fullmatch(uri)
        if found is None:
            return uri
        return f"{found[1]}{self.root / found[2]}{found[3] or ''}"


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder with headrace.yaml. `root` and `state_dir` are absolute."""

    root: Path
    clusters: Mapping[str, Cluster]
    catalogs: Mapping[str, Catalog]
    state_dir: Path
    spark: SparkConfig

    def cluster(self, name: str) -> Cluster:
        """Return the cluster of that name, or say which there are."""
        return _named(self.clusters, name, "cluster")

    def catalog(self, name: str) -> Catalog:
        """Return the catalog of that name, or say which there are."""
        return _named(self.catalogs, name, "catalog")


def _named(things: Mapping[str, T], name: str, what: str) -> T:
    try:
        return things[name]
    except KeyError:
        message = f"{FILE_NAME} defines no {what} {name}"
        raise UsageError(
            message, did_you_mean(name, things) or f"define it under {what}s:"
        ) from None
