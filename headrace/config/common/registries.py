"""Where a schema registry is, and how a client proves who it is: by Confluent's names."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from headrace.config.model import Model
from headrace.config.scalars import Text
from headrace.config.secret import Secret

URL_DOC = (
    "The registry's address, or several of the same registry with commas: the next one is asked "
    "where one does not answer. Never shown: it may hold a password."
)


class RegistryProperties(Model):
    """Settings of the registry's client, by the names of Confluent's. Values are never shown."""

    ca_location: Secret | None = Field(
        default=None,
        alias="ssl.ca.location",
        description="A file with the certificates (PEM) that the registry's is signed by.",
    )
    certificate_location: Secret | None = Field(
        default=None,
        alias="ssl.certificate.location",
        description="A file with the client's own certificate (PEM).",
    )
    key_location: Secret | None = Field(
        default=None,
        alias="ssl.key.location",
        description="A file with the key of the client's certificate (PEM).",
    )
    key_password: Secret | None = Field(
        default=None, alias="ssl.key.password", description="The password of that key."
    )
    user_info: Secret | None = Field(
        default=None,
        alias="basic.auth.user.info",
        description="user:password, where they are not in the URL.",
    )
    bearer_source: Literal["STATIC_TOKEN", "OAUTHBEARER"] | None = Field(
        default=None,
        alias="bearer.auth.credentials.source",
        description="STATIC_TOKEN: a token of bearer.auth.token. OAUTHBEARER: tokens are fetched "
        "with the client's id and secret.",
    )
    token: Secret | None = Field(
        default=None, alias="bearer.auth.token", description="The token of STATIC_TOKEN."
    )
    token_url: Secret | None = Field(
        default=None,
        alias="bearer.auth.issuer.endpoint.url",
        description="OAUTHBEARER: where tokens are fetched.",
    )
    client_id: Secret | None = Field(
        default=None, alias="bearer.auth.client.id", description="OAUTHBEARER: the client's id."
    )
    client_secret: Secret | None = Field(
        default=None,
        alias="bearer.auth.client.secret",
        description="OAUTHBEARER: the client's secret.",
    )
    scope: Secret | None = Field(
        default=None, alias="bearer.auth.scope", description="OAUTHBEARER: the scope to ask for."
    )
    logical_cluster: Secret | None = Field(
        default=None,
        alias="bearer.auth.logical.cluster",
        description="Confluent Cloud: the logical cluster of the registry (lsrc-…).",
    )
    identity_pool: Secret | None = Field(
        default=None,
        alias="bearer.auth.identity.pool.id",
        description="Confluent Cloud: the identity pool (pool-…).",
    )

    @property
    def given(self) -> tuple[tuple[str, Secret], ...]:
        """The settings by their names, those that are not there left out."""
        fields = type(self).model_fields.items()
        held = ((field.alias or name, getattr(self, name)) for name, field in fields)
        return tuple(
            (name, value if isinstance(value, Secret) else Secret(value))
            for name, value in held
            if value is not None
        )


class RegistryAddress(Model):
    """Where a schema registry is."""

    url: Secret = Field(description=URL_DOC)
    properties: RegistryProperties | None = Field(
        default=None,
        description="TLS, user and tokens, by the names of Confluent's client.",
    )


class Registry(RegistryAddress):
    """Where a schema registry keeps a schema."""

    subject: Text = Field(
        description="The subject that the schema is registered under; `:.context:subject` is one "
        "of a context."
    )


class SinkRegistry(RegistryAddress):
    """Where the schema of what is written is registered."""

    subject: Text | None = Field(
        default=None, description="The subject; by default `<topic>-value`."
    )


class RegistrySchema(Model):
    """A schema that is kept in a registry."""

    registry: Registry = Field(description="The registry and the subject.")
