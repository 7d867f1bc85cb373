"""`lineage:` of headrace.yaml: where runs are reported to as events of OpenLineage."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from headrace.config.common.model import Model, optional
from headrace.config.common.scalars import PositiveDuration, SecretText, Text


class LineageConfig(Model):
    """A receiver of OpenLineage's events, and what it is told."""

    url: SecretText | None = optional(
        "The receiver's address, for example http://marquez:5000. Never shown, because it may hold a "
        "password. By default as OpenLineage's own openlineage.yml or environment variables say."
    )
    api_key: SecretText | None = optional("An API key for the url. Never shown.")
    namespace: Text = Field(default="headrace", description="The namespace of the jobs.")
    interval: PositiveDuration = Field(
        default=timedelta(minutes=5),
        description="How often a lasting run reports that it is running.",
        json_schema_extra={"default": "5min"},
    )
