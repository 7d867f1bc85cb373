"""What a record must be like, what becomes of one that is not, and what nobody gets to see.

A rule has a short form (`required: [a]`) and a long one with an `on_bad_record` of its own
(`required: {columns: [a], on_bad_record: drop}`); as a value it always is the long one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from headrace.config.common.kafka_parts import QuarantineTopic
from headrace.config.common.model import Model, optional
from headrace.config.common.scalars import Count, Duration, PlainText, SecretText, Size, Text
from headrace.records.hygiene.rules import HygieneRules, OnBadRecord, Tombstones, ValueRange
from headrace.records.hygiene.rules import Mask as RecordMask

if TYPE_CHECKING:
    from headrace.config.common.kafka_parts import KafkaSource
    from headrace.records.rows import BadRecordKind

OWN_DOC = (
    "What to do with a record that breaks this rule. The default is the section's on_bad_record."
)
QUARANTINE_DOC = (
    "The topic for rejected records; by default `<source topic>.quarantine` on the same cluster."
)
ON_BAD_DOC = "What to do with a rejected record."


class Rule(Model):
    """What all rules have in common."""

    on_bad_record: OnBadRecord | None = optional(OWN_DOC)


class Required(Rule):
    """Columns that must be present and not null."""

    columns: tuple[Text, ...] = Field(description="The columns; `a.b` is a field in a record.")


class Range(Rule):
    """The smallest and the largest value of a column, both included. Null passes."""

    min: PlainText | None = optional("The smallest value.")
    max: PlainText | None = optional("The largest value.")


class FutureSkew(Rule):
    """How far a record's timestamp may be ahead of the clock."""

    limit: Duration = Field(description="How far.")


class SizeLimit(Rule):
    """How large a record may be."""

    limit: Size = Field(description="The most bytes of key and value together.")


class UnknownFields(Rule):
    """What happens to a JSON field that the schema does not have."""

    policy: Literal["drop", "refuse"] = Field(
        description="drop leaves the field out; refuse rejects the record."
    )


class Salt(Model):
    """A text that is put before a value before hashing."""

    salt: SecretText = Field(description="A secret text. Never shown.")


class MaskWith(Model):
    """A mask with a setting: exactly one of the two."""

    sha256: Salt | None = optional("The hash of salt and value.")
    keep_first: Count | None = optional("The number of characters to keep. The rest becomes `***`.")


Mask = Annotated[
    Annotated[Literal["sha256", "redact"], Tag("word")] | Annotated[MaskWith, Tag("setting")],
    Discriminator(lambda value: "setting" if isinstance(value, dict | MaskWith) else "word"),
]


def _short(key: str, forms: Any) -> BeforeValidator:  # noqa: ANN401 - a type, as pydantic takes it
    """Accept a rule's short form, which is the value of that key; `forms` has both forms."""

    def long(value: object) -> object:
        return value if isinstance(value, dict | Rule) else {key: value}

    return BeforeValidator(long, json_schema_input_type=forms)


_Required = Annotated[Required, _short("columns", tuple[Text, ...] | Required)]
_FutureSkew = Annotated[FutureSkew, _short("limit", Duration | FutureSkew)]
_SizeLimit = Annotated[SizeLimit, _short("limit", Size | SizeLimit)]
_UnknownFields = Annotated[
    UnknownFields, _short("policy", Literal["drop", "refuse"] | UnknownFields)
]


class Hygiene(Model):
    """The rules for the records of a stream, and what happens to a record that breaks one."""

    required: _Required | None = optional("Columns that must be present and not null.")
    ranges: dict[Text, Range] = Field(
        default_factory=dict,
        description="Columns of numbers or times, with their smallest and largest values.",
    )
    max_future_skew: _FutureSkew | None = optional(
        "How far a record's timestamp may be ahead of the clock."
    )
    max_size: _SizeLimit | None = optional("The most bytes of a record's key and value together.")
    coerce: tuple[Text, ...] = Field(
        default=(),
        description="JSON only: columns whose text, number or boolean is converted to the schema's type, "
        "if nothing is lost by it.",
    )
    unknown_fields: _UnknownFields | None = optional(
        "JSON only: drop (default) or refuse fields that the schema does not have."
    )
    mask: dict[Text, Mask] = Field(
        default_factory=dict,
        description="Columns whose texts are changed before any output sees them: sha256, redact, "
        "{keep_first: 3} or {sha256: {salt: …}}.",
    )
    on_bad_record: OnBadRecord = Field(default="quarantine", description=ON_BAD_DOC)
    quarantine: QuarantineTopic | None = optional(QUARANTINE_DOC)

    def _own_actions(self) -> dict[tuple[BadRecordKind, str | None], OnBadRecord]:
        """Return the actions of rules that have one themselves, by kind; ranges also by column."""
        rules: dict[tuple[BadRecordKind, str | None], Rule | None] = {
            ("required", None): self.required,
            ("future_skew", None): self.max_future_skew,
            ("size", None): self.max_size,
            ("unknown_fields", None): self.unknown_fields,
        }
        rules |= {("range", name): rule for name, rule in self.ranges.items()}
        return {
            key: rule.on_bad_record for key, rule in rules.items() if rule and rule.on_bad_record
        }

    def as_rules(self) -> HygieneRules:
        """Return the rules that records are checked by."""
        return HygieneRules(
            required=self.required.columns if self.required else (),
            ranges={name: ValueRange(one.min, one.max) for name, one in self.ranges.items()},
            future_skew=self.max_future_skew.limit if self.max_future_skew else None,
            max_size=self.max_size.limit if self.max_size else None,
            coerce=self.coerce,
            refuses_unknown=bool(self.unknown_fields and self.unknown_fields.policy == "refuse"),
            masks={name: _mask(one) for name, one in self.mask.items()},
            on_bad_record=self.on_bad_record,
            actions=self._own_actions(),
        )

    def quarantine_topic(self, source: KafkaSource) -> QuarantineTopic | None:
        """Return where rejected records of that source go, None where none can be sent there."""
        actions = {self.on_bad_record, *self._own_actions().values()}
        return _quarantine_of(self, source) if "quarantine" in actions else None


class LakeHygiene(Model):
    """The rules for the records of a lake table, and what happens to a record that breaks one."""

    required: tuple[Text, ...] = Field(
        default=(), description="Columns that must be present and not null."
    )
    max_future_skew: Duration | None = optional(
        "How far a record's timestamp may be ahead of the clock."
    )
    tombstones: Tombstones | None = optional(
        "What to do with a record that has no value: quarantine it, drop it, or keep it as a "
        "row of nulls. By default it is rejected; in format raw it is a row like any other."
    )
    on_bad_record: OnBadRecord = Field(default="quarantine", description=ON_BAD_DOC)
    quarantine: QuarantineTopic | None = optional(QUARANTINE_DOC)

    def quarantine_topic(self, source: KafkaSource) -> QuarantineTopic | None:
        """Return where rejected records of that source go, None where none are stored."""
        actions = {self.on_bad_record, self.tombstones}
        return _quarantine_of(self, source) if "quarantine" in actions else None

    def as_rules(self) -> HygieneRules:
        """Return the rules that records are checked by."""
        return HygieneRules(
            required=self.required,
            future_skew=self.max_future_skew,
            on_bad_record=self.on_bad_record,
        )


def _mask(mask: Mask) -> RecordMask:
    # A task must hash as well: the salt goes to Spark's own executors, and lies nowhere.
    if isinstance(mask, MaskWith):
        salt = mask.sha256.salt.reveal().encode() if mask.sha256 else None
        return RecordMask(salt, mask.keep_first)
    return RecordMask(b"" if mask == "sha256" else None)


def _quarantine_of(hygiene: Hygiene | LakeHygiene, source: KafkaSource) -> QuarantineTopic:
    topic = f"{source.topic}.quarantine"
    return hygiene.quarantine or QuarantineTopic(cluster=source.cluster, topic=topic)
