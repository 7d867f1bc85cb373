"""`headrace.yaml`, and the workspace that it makes: the clusters and catalogs that all files name."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from headrace.config.common.model import Model, optional
from headrace.config.common.scalars import KeyName, PlainText, SecretText, Text, refusal
from headrace.config.workspace.lineage import LineageConfig
from headrace.config.workspace.pages import Links, Prices
from headrace.errors import UsageError
from headrace.jvm.cluster import require_reached
from headrace.problems import did_you_mean
from headrace.secret import MASK

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from headrace.secret import Secret

FILE_NAME = "headrace.yaml"

_SQLITE = re.compile(r"(sqlite(?:\+\w+)?:///)([^/:?][^?]*)(\?.*)?", re.DOTALL)
# With an authority: Spark's Hadoop and ours would find another file system without one.
_FAR = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*://[^/]+(/.*)?", re.DOTALL)
_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")

# What Spark's JDBC catalog has a driver for here; it knows no unix sockets.
_SQL = re.compile(r"sqlite(\+\w+)?:///.+|postgresql(\+\w+)?://[^/?]+.*", re.DOTALL)
_WANTED_URI = "uri: sqlite:///FILE or postgresql://USER:PASSWORD@HOST:PORT/DATABASE"

T = TypeVar("T")


class ClusterConfig(Model):
    """A Kafka cluster."""

    bootstrap_servers: Text = Field(description="host:port, or several, separated by commas.")
    region: Text | None = optional("The region of records without a header `region`.")
    properties: dict[str, SecretText] = Field(
        default_factory=dict, description="librdkafka's settings. Values are never shown."
    )


class CatalogConfig(Model):
    """An Iceberg catalog, with pyiceberg's property names. Further properties are passed on and never shown."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, SecretText]

    type: Literal["sql", "rest", "hive", "glue"] = Field(description="The kind of catalog.")
    uri: SecretText | None = optional("Its address. Never shown.")
    warehouse: Text | None = optional("The location of its tables.")

    @field_validator("uri")
    @classmethod
    def _known(cls, uri: Secret | None, info: ValidationInfo) -> Secret | None:
        if uri is not None and info.data.get("type") == "sql" and not _SQL.fullmatch(uri.reveal()):
            # What is there may hold a password.
            raise PydanticCustomError("unseen", "unseen", {"wanted": _WANTED_URI})
        return uri


class SparkConfig(Model):
    """How Spark runs."""

    master: Text = Field(default="local[*]", description="Spark's master.")
    conf: dict[str, PlainText] = Field(default_factory=dict, description="Spark settings.")
    shared_folders: tuple[Text, ...] = Field(
        default=(),
        description="Folders that all machines of the cluster share, under the same path; relative "
        "to the workspace.",
    )


class WorkspaceFile(Model):
    """headrace.yaml."""

    clusters: dict[KeyName, ClusterConfig] = Field(
        default_factory=dict, description="Kafka clusters by name."
    )
    catalogs: dict[KeyName, CatalogConfig] = Field(
        default_factory=dict, description="Iceberg catalogs by name."
    )
    state_dir: Text = Field(
        default=".headrace/state",
        description="Checkpoints, plans and ledgers; relative to the workspace.",
    )
    checkpoint_dir: Text | None = optional(
        "Where checkpoints of applications lie, where that is not state_dir: a URL that all "
        "machines of a cluster reach (hdfs://HOST:PORT/…, s3a://…)."
    )
    spark: SparkConfig = Field(default_factory=SparkConfig, description="How Spark runs.")
    links: Links = Field(
        default_factory=Links, description="Other tools that the control room links to."
    )
    prices: Prices | None = optional(
        "What storage costs. With it, the page of a lake table compares the costs of Kafka and the "
        "lake."
    )
    lineage: LineageConfig | None = optional(
        "Reports each run as events of OpenLineage. Without this key, none are sent."
    )

    @field_validator("checkpoint_dir")
    @classmethod
    def _is_url(cls, url: str | None) -> str | None:
        if url is not None and not _FAR.fullmatch(url):
            raise refusal("a URL with a host or a bucket, hdfs://HOST:PORT/… or s3a://BUCKET/…")
        return url


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
        return properties | {
            name: value.reveal() for name, value in self.config.__pydantic_extra__.items()
        }

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
    checkpoint_dir: str | None = None
    links: Links = field(default_factory=Links)
    prices: Prices | None = None
    lineage: LineageConfig | None = None

    def cluster(self, name: str) -> Cluster:
        """Return the cluster of that name, or say which there are."""
        return _named(self.clusters, name, "cluster")

    def with_master(self, master: str) -> Workspace:
        """Return it as a deployment has it whose Spark is another one."""
        if master == self.spark.master:
            return self
        return replace(self, spark=self.spark.model_copy(update={"master": master}))

    def require_reached(self, what: str, location: str, key: str | None = None) -> None:
        """Refuse a folder of this machine's disk where tasks on other machines write or read it.

        `key` is the one of headrace.yaml that names another.
        """
        shared = [self.root / one for one in self.spark.shared_folders]
        require_reached(what, location, self.spark.master, shared, key)

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
