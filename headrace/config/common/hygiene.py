"""What a record must be like, what becomes of one that is not, and what nobody gets to see.

A rule has a short form (`required: [a]`) and a long one with an `on_bad_record` of its own
(`required: {columns: [a], on_bad_record: drop}`); as a value it always is the long one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag

from headrace.config.kafka_parts import QuarantineTopic
from headrace.config.model import Model
from headrace.config.scalars import Count, Duration, PlainText, Size, Text
from headrace.config.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from headrace.config.kafka_parts import KafkaSource

OnBadRecord: TypeAlias = Literal["quarantine", "drop", "fail"]
Tombstones: TypeAlias = Literal["quarantine", "drop", "keep"]
# `decode`: what is not of the stream's format or has a value of a wrong type.
# `schema`: what was written with a schema that cannot be had, or that does not resolve.
BadRecordKind: TypeAlias = Literal[
    "required", "range", "future_skew", "size", "unknown_fields", "decode", "schema"
]

OWN_DOC = "What to do with a record that breaks this rule; by default as the whole section says."
QUARANTINE_DOC = "Where bad records go; by default `<source topic>.quarantine` on its cluster."
ON_BAD_DOC = "What to do with a bad record."


class Rule(Model):
    """What all rules have in common."""

    on_bad_record: OnBadRecord | None = Field(default=None, description=OWN_DOC)


class Required(Rule):
    """Columns that must be there and not null."""

    columns: tuple[Text, ...] = Field(description="The columns; `a.b` is a field in a record.")


class Range(Rule):
    """Between which values a column must lie, both included. Null passes."""

    min: PlainText | None = Field(default=None, description="The least value.")
    max: PlainText | None = Field(default=None, description="The greatest value.")


class FutureSkew(Rule):
    """How far a record's timestamp may lie ahead of the clock."""

    limit: Duration = Field(description="How far.")


class SizeLimit(Rule):
    """How large a record may be."""

    limit: Size = Field(description="The most bytes of key and value together.")


class UnknownFields(Rule):
    """What becomes of a JSON field that the schema does not have."""

    policy: Literal["drop", "refuse"] = Field(
        description="drop leaves the field out, refuse makes the record a bad one."
    )


class Salt(Model):
    """What goes before a value that is hashed."""

    salt: Secret = Field(description="A secret text. Never shown.")

    def __reduce__(self) -> tuple[Callable[..., Salt], tuple[str]]:
        # A task must hash as well: the pickle goes to Spark's own executors, and lies nowhere.
        return _salted, (self.salt.reveal(),)


def _salted(salt: str) -> Salt:
    return Salt(salt=Secret(salt))


class MaskWith(Model):
    """A mask with a setting: exactly one of the two."""

    sha256: Salt | None = Field(default=None, description="The hash of salt and value.")
    keep_first: Count | None = Field(
        default=None, description="So many characters stay, the rest becomes `***`."
    )


def _mask_kind(value: object) -> str:
    return "setting" if isinstance(value, dict | MaskWith) else "word"


Mask = Annotated[
    Annotated[Literal["sha256", "redact"], Tag("word")] | Annotated[MaskWith, Tag("setting")],
    Discriminator(_mask_kind),
]


def _short_for(key: str) -> Callable[[object], object]:
    """Return what puts the short form of a rule under the key that it stands for."""
    return lambda value: value if isinstance(value, dict | Rule) else {key: value}


_Required = Annotated[
    Required,
    BeforeValidator(_short_for("columns"), json_schema_input_type=tuple[Text, ...] | Required),
]
_FutureSkew = Annotated[
    FutureSkew, BeforeValidator(_short_for("limit"), json_schema_input_type=Duration | FutureSkew)
]
_SizeLimit = Annotated[
    SizeLimit, BeforeValidator(_short_for("limit"), json_schema_input_type=Size | SizeLimit)
]
_UnknownFields = Annotated[
    UnknownFields,
    BeforeValidator(
        _short_for("policy"), json_schema_input_type=Literal["drop", "refuse"] | UnknownFields
    ),
]


class Hygiene(Model):
    """What a stream's records must be like, and what becomes of one that is not."""

    required: _Required | None = Field(
        default=None, description="Columns that must be there and not null."
    )
    ranges: dict[Text, Range] = Field(
        default_factory=dict, description="Columns of numbers or times, and their least and most."
    )
    max_future_skew: _FutureSkew | None = Field(
        default=None, description="How far a record's timestamp may lie ahead of the clock."
    )
    max_size: _SizeLimit | None = Field(
        default=None, description="The most bytes of a record's key and value together."
    )
    coerce: tuple[Text, ...] = Field(
        default=(),
        description="JSON only: columns whose text, number or boolean is converted to the "
        "schema's type where nothing is lost by it.",
    )
    unknown_fields: _UnknownFields | None = Field(
        default=None,
        description="JSON only: drop (default) or refuse fields that the schema does not have.",
    )
    mask: dict[Text, Mask] = Field(
        default_factory=dict,
        description="Columns that no output gets to see as they are: sha256, redact, "
        "{keep_first: 3} or {sha256: {salt: …}}.",
    )
    on_bad_record: OnBadRecord = Field(default="quarantine", description=ON_BAD_DOC)
    quarantine: QuarantineTopic | None = Field(default=None, description=QUARANTINE_DOC)

    @property
    def required_columns(self) -> tuple[str, ...]:
        """The columns that must be there and not null."""
        return () if self.required is None else self.required.columns

    @property
    def future_skew(self) -> timedelta | None:
        """How far a record's timestamp may lie ahead of the clock, None where no rule says so."""
        return None if self.max_future_skew is None else self.max_future_skew.limit

    def action(self, kind: BadRecordKind, column: str | None = None) -> OnBadRecord:
        """Return what becomes of a record that is bad in that way; a range has a column."""
        rule: Rule | None = None
        match kind:
            case "required":
                rule = self.required
            case "range":
                rule = self.ranges.get(column or "")
            case "future_skew":
                rule = self.max_future_skew
            case "size":
                rule = self.max_size
            case "unknown_fields":
                rule = self.unknown_fields
            case "decode" | "schema":
                pass
        return (rule.on_bad_record if rule else None) or self.on_bad_record

    def quarantine_topic(self, source: KafkaSource) -> QuarantineTopic | None:
        """Return where bad records of that source go, None where none can be sent there."""
        rules = (self.required, self.max_future_skew, self.max_size, self.unknown_fields)
        own = [rule.on_bad_record for rule in (*rules, *self.ranges.values()) if rule]
        if "quarantine" not in {self.on_bad_record, *own}:
            return None
        return self.quarantine or default_quarantine(source)


class LakeHygiene(Model):
    """What the records of a lake table must be like, and what becomes of one that is not."""

    required: tuple[Text, ...] = Field(
        default=(), description="Columns that must be there and not null."
    )
    max_future_skew: Duration | None = Field(
        default=None, description="How far a record's timestamp may lie ahead of the clock."
    )
    tombstones: Tombstones | None = Field(
        default=None,
        description="What to do with a record that has no value: quarantine, drop, or keep it as "
        "a row of nulls. By default it is a bad record; in format raw, a row like any other.",
    )
    on_bad_record: OnBadRecord = Field(default="quarantine", description=ON_BAD_DOC)
    quarantine: QuarantineTopic | None = Field(default=None, description=QUARANTINE_DOC)

    @property
    def required_columns(self) -> tuple[str, ...]:
        """The columns that must be there and not null."""
        return self.required

    @property
    def future_skew(self) -> timedelta | None:
        """How far a record's timestamp may lie ahead of the clock, None where no rule says so."""
        return self.max_future_skew

    def quarantine_topic(self, source: KafkaSource) -> QuarantineTopic | None:
        """Return where bad records of that source go, None where they are not kept."""
        if "quarantine" not in {self.on_bad_record, self.tombstones}:
            return None
        return self.quarantine or default_quarantine(source)

    def as_rules(self) -> Hygiene:
        """Return the same as the rules that records are checked by."""
        skew = self.max_future_skew
        return Hygiene(
            required=Required(columns=self.required) if self.required else None,
            max_future_skew=None if skew is None else FutureSkew(limit=skew),
            on_bad_record=self.on_bad_record,
        )


def default_quarantine(source: KafkaSource) -> QuarantineTopic:
    """Return where bad records of that source go where no topic is named."""
    return QuarantineTopic(cluster=source.cluster, topic=f"{source.topic}.quarantine")
