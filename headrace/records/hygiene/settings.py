"""The hygiene rules of a stream as values, and what happens to records that break them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from headrace.records.rows import BadRecordKind

OnBadRecord: TypeAlias = Literal["quarantine", "drop", "fail"]
Tombstones: TypeAlias = Literal["quarantine", "drop", "keep"]


@dataclass(frozen=True, slots=True)
class ValueRange:
    """The least and the greatest value of a column, as they were written."""

    min: str | None = None
    max: str | None = None


@dataclass(frozen=True, slots=True)
class Mask:
    """How a value is masked: by its hash with a salt, by its first characters, or as `***`."""

    salt: bytes | None = field(default=None, repr=False)
    keep_first: int | None = None


@dataclass(frozen=True, slots=True)
class HygieneRules:
    """What records must be like. Columns are named as `a.b`; sizes are in bytes."""

    required: tuple[str, ...] = ()
    ranges: Mapping[str, ValueRange] = field(default_factory=dict)
    future_skew: timedelta | None = None
    max_size: int | None = None
    coerce: tuple[str, ...] = ()
    refuses_unknown: bool = False
    masks: Mapping[str, Mask] = field(default_factory=dict)
    on_bad_record: OnBadRecord = "quarantine"
    # The actions of rules that have one themselves, by kind; ranges also by column.
    actions: Mapping[tuple[BadRecordKind, str | None], OnBadRecord] = field(default_factory=dict)

    def action(self, kind: BadRecordKind, column: str | None = None) -> OnBadRecord:
        """Return what happens to a record that is bad in that way; a range has a column."""
        return self.actions.get((kind, column), self.on_bad_record)
