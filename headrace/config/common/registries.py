"""Where a schema registry is, and how a client proves who it is: by Confluent's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict, Field

from headrace.config.common.model import Model, optional
from headrace.config.common.scalars import SecretText, Text
from headrace.registry.address import RegistryAddress, context_of
from headrace.secret import Secret

if TYPE_CHECKING:
    from pathlib import Path

URL_DOC = (
    "The registry's address, or several addresses of the same registry, separated by "
    "commas; if one does not answer, the next one is asked. Never shown, because it may "
    "hold a password."
)


class RegistryProperties(Model):
    """Settings of the registry's client, with the names of Confluent's clients. Values are never shown."""

    model_config = ConfigDict(alias_generator=lambda name: name.replace("_", "."))

    ssl_ca_location: SecretText | None = optional(
        "A file with the CA certificates (PEM) that signed the registry's certificate."
    )
    ssl_certificate_location: SecretText | None = optional(
        "A file with the client's own certificate (PEM)."
    )
    ssl_key_location: SecretText | None = optional(
        "A file with the key of the client's certificate (PEM)."
    )
    ssl_key_password: SecretText | None = optional("The password of that key.")
    basic_auth_user_info: SecretText | None = optional("user:password, if they are not in the URL.")
    bearer_auth_credentials_source: Literal["STATIC_TOKEN", "OAUTHBEARER"] | None = optional(
        "STATIC_TOKEN: the token in bearer.auth.token. OAUTHBEARER: tokens are fetched with "
        "the client's id and secret."
    )
    bearer_auth_token: SecretText | None = optional("The token of STATIC_TOKEN.")
    bearer_auth_issuer_endpoint_url: SecretText | None = optional(
        "OAUTHBEARER: the address that gives tokens."
    )
    bearer_auth_client_id: SecretText | None = optional("OAUTHBEARER: the client's id.")
    bearer_auth_client_secret: SecretText | None = optional("OAUTHBEARER: the client's secret.")
    bearer_auth_scope: SecretText | None = optional("OAUTHBEARER: the scope to ask for.")
    bearer_auth_logical_cluster: SecretText | None = optional(
        "Confluent Cloud: the logical cluster of the registry (lsrc-…)."
    )
    bearer_auth_identity_pool_id: SecretText | None = optional(
        "Confluent Cloud: the identity pool (pool-…)."
    )

    def by_name(self) -> tuple[tuple[str, Secret], ...]:
        """Return the settings by their names, those that are not there left out."""
        fields = type(self).model_fields.items()
        values = ((field.alias or name, getattr(self, name)) for name, field in fields)
        return tuple(
            (name, value if isinstance(value, Secret) else Secret(value))
            for name, value in values
            if value is not None
        )


class RegistryConfig(Model):
    """A schema registry."""

    url: SecretText = Field(description=URL_DOC)
    properties: RegistryProperties | None = optional(
        "TLS, user and tokens, with the names of Confluent's clients."
    )

    def address(self, cache_dir: Path | None, subject: str | None = None) -> RegistryAddress:
        """Return whom to ask; the ids of a subject's context are its own."""
        properties = self.properties.by_name() if self.properties else ()
        return RegistryAddress(self.url, cache_dir, properties, context_of(subject or ""))


class Registry(RegistryConfig):
    """A schema registry, and the subject of a schema in it."""

    subject: Text = Field(
        description="The subject of the schema. `:.context:subject` is a subject in a context."
    )


class SinkRegistry(RegistryConfig):
    """The registry for the schema of the written records."""

    subject: Text | None = optional("The subject; by default `<topic>-value`.")


class RegistrySchema(Model):
    """A schema in a registry."""

    registry: Registry = Field(description="The registry and the subject.")
