"""`headrace.yaml`: the clusters and catalogs that all files of a workspace name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from headrace.config.common.model import Model
from headrace.config.common.scalars import KeyName, PlainText, SecretText, Text

if TYPE_CHECKING:
    from headrace.secret import Secret

# What Spark's JDBC catalog has a driver for here; it knows no unix sockets.
_SQL = re.compile(r"sqlite(\+\w+)?:///.+|postgresql(\+\w+)?://[^/?]+.*", re.DOTALL)
_WANTED_URI = "uri: sqlite:///FILE or postgresql://USER:PASSWORD@HOST:PORT/DATABASE"


class ClusterConfig(Model):
    """A Kafka cluster."""

    bootstrap_servers: Text = Field(description="host:port, or several, separated by commas.")
    region: Text | None = Field(
        default=None, description="The region of records without a header `region`."
    )
    properties: dict[str, SecretText] = Field(
        default_factory=dict, description="librdkafka's settings. Values are never shown."
    )


class CatalogConfig(Model):
    """An Iceberg catalog, with pyiceberg's property names. Further properties are passed on and never shown."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, SecretText]

    type: Literal["sql", "rest", "hive", "glue"] = Field(description="The kind of catalog.")
    uri: SecretText | None = Field(default=None, description="Its address. Never shown.")
    warehouse: Text | None = Field(default=None, description="The location of its tables.")

    @field_validator("uri")
    @classmethod
    def _known(cls, uri: Secret | None, info: ValidationInfo) -> Secret | None:
        if uri is not None and info.data.get("type") == "sql" and not _SQL.fullmatch(uri.reveal()):
            # What is there may hold a password.
            raise PydanticCustomError("unseen", "unseen", {"wanted": _WANTED_URI})
        return uri

    @property
    def extra(self) -> dict[str, Secret]:
        """The further properties."""
        return self.__pydantic_extra__


class SparkConfig(Model):
    """How Spark runs."""

    master: Text = Field(default="local[*]", description="Spark's master.")
    conf: dict[str, PlainText] = Field(default_factory=dict, description="Spark settings.")


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
    spark: SparkConfig = Field(default_factory=SparkConfig, description="How Spark runs.")
