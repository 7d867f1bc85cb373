"""`for_each`: which topics of a cluster a file is about."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema

from headrace.config.common.model import Model
from headrace.config.common.scalars import KeyName, refusal
from headrace.config.common.topic_pattern import WANTED, TopicPattern

FOR_EACH_DOC = (
    "Makes this file one for many topics: each topic that the pattern matches has a stream or a "
    "table of its own. `${topic}` and the groups of the pattern are filled in."
)


def _pattern(value: object) -> TopicPattern:
    if isinstance(value, TopicPattern):
        return value
    if not isinstance(value, str) or not value:
        raise refusal(WANTED)
    return TopicPattern.parse(value)


Pattern = Annotated[
    TopicPattern,
    PlainValidator(_pattern),
    PlainSerializer(lambda pattern: pattern.text),
    WithJsonSchema({"type": "string", "examples": [r"events\.(?P<name>.*)"]}),
]


class ForEach(Model):
    """The topics that a file is about."""

    cluster: KeyName = Field(description="A cluster of headrace.yaml.")
    topics: Pattern = Field(
        description="A regular expression that has to match a topic's whole name. Named groups "
        "`(?P<name>…)` are `${name}` in this file, the others `${1}`, `${2}`."
    )


def source_is_whole(schema: dict[str, Any]) -> None:
    """Let a JSON Schema ask for cluster and topic of the source where there is no `for_each`."""
    schema["if"] = {"not": {"required": ["for_each"]}}
    schema["then"] = {"properties": {"source": {"required": ["cluster", "topic"]}}}
