"""The hygiene rules of a stream as values, and the first of them that a decoded row breaks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.errors import Terminal
from headrace.records.codegen import function
from headrace.records.hygiene.bounds import parse_bound, shows_as_written, wanted_bound
from headrace.records.rows import attribute
from headrace.schema.model import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import timedelta

    from headrace.records.rows import BadRecordKind, Row
    from headrace.schema.model import Field, Type

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


_ARGUMENTS = ("row", "timestamp_ms", "now_ms")


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that a record breaks, and what the stream does with that record."""

    kind: BadRecordKind
    column: str | None
    reason: str
    action: OnBadRecord


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a schema: its name as the schema spells it, and the attributes to its value."""

    name: str
    attributes: tuple[str, ...]
    field: Field


# The record, its Kafka timestamp and the clock, to the rule that it breaks.
Check: TypeAlias = "Callable[[Row, int, int], Broken | None]"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule as a line of Python: a condition of a record that breaks it, and the answer."""

    condition: str
    answer: str
    names: Mapping[str, object]


def rules(hygiene: HygieneRules, schema: Record) -> tuple[Rule, ...]:
    """Return the rules over decoded rows, in the order in which a record is checked."""
    return (*_required(hygiene, schema), *_ranges(hygiene, schema), *_future_skew(hygiene))


def first_broken(rules: Iterable[Rule]) -> Check:
    """Return one function over all rules: to call each by itself would cost more than they do."""
    lines: list[str] = []
    names: dict[str, object] = {}
    for rule in rules:
        lines.append(f"if {rule.condition}: return {rule.answer}")
        names |= rule.names
    return function("first_broken", _ARGUMENTS, [*lines, "return None"], names)


def too_large(hygiene: HygieneRules, size: int) -> Broken:
    """Return what is wrong with a record of that many bytes, which is more than allowed."""
    reason = f"key and value have {size} bytes, more than the {hygiene.max_size} allowed"
    return Broken("size", None, reason, hygiene.action("size"))


def coerced_paths(hygiene: HygieneRules, schema: Record) -> frozenset[str]:
    """Return the columns whose other forms are converted, as the schema spells them."""
    return frozenset(column_of(schema, name).name for name in hygiene.coerce)


def never_null(schema: Record) -> list[str]:
    """Return the columns that a row of nulls could not have."""
    return [field.name for field in schema.fields if not field.nullable]


def find_column(schema: Record, name: str) -> Column | None:
    """Return the column, looked up without case; None where it is nowhere, or within a list."""
    names: list[str] = []
    attributes: list[str] = []
    here: Type = schema
    field: Field | None = None
    for part in name.split("."):
        field = here.field(part) if isinstance(here, Record) else None
        if field is None or not isinstance(here, Record):
            return None
        names.append(field.name)
        attributes.append(attribute(here.fields.index(field)))
        here = field.type
    return None if field is None else Column(".".join(names), tuple(attributes), field)


def column_of(schema: Record, name: str) -> Column:
    """Return a column that hygiene names; a schema out of a registry may turn out without it."""
    column = find_column(schema, name)
    if column is None:
        raise Terminal(
            f"hygiene names the column {name}, which the schema {schema.name} does not have",
            "correct hygiene, or the subject that the schema comes from",
        )
    return column


def _required(hygiene: HygieneRules, schema: Record) -> Iterator[Rule]:
    action = hygiene.action("required")
    for number, name in enumerate(hygiene.required):
        column = column_of(schema, name)
        broken = Broken("required", name, f"{column.name} is required and missing", action)
        answer = f"required{number}"
        condition = " or ".join(f"{step} is None" for step in _steps(column.attributes))
        yield Rule(condition, answer, {answer: broken})


def _ranges(hygiene: HygieneRules, schema: Record) -> Iterator[Rule]:
    for number, (name, limits) in enumerate(hygiene.ranges.items()):
        column = column_of(schema, name)
        names: dict[str, object] = {}
        within = "value"
        for word, text, sign in (("least", limits.min, "{} <= "), ("most", limits.max, " <= {}")):
            if text is None:
                continue
            bound = f"{word}{number}"
            names[bound] = _bound(column, text)
            part = sign.format(bound)
            within = part + within if word == "least" else within + part
        there = " and ".join(f"{step} is not None" for step in _steps(column.attributes))
        answer = f"range{number}"
        names[answer] = _out_of_range(name, column, hygiene, names.get(f"least{number}"))
        # A NaN is within no bounds: it is asked what is within, not what is beyond.
        condition = f"{there} and not {within}"
        yield Rule(condition, f"{answer}(value)", names)


def _bound(column: Column, text: str) -> object:
    bound = parse_bound(text, column.field.type)
    if bound is None:
        wanted = wanted_bound(column.field.type)
        raise Terminal(
            f"hygiene has a range for the column {column.name}, whose type it does not fit",
            f"write {wanted}" if wanted else "a range is for numbers and times",
        )
    return bound


def _out_of_range(
    name: str, column: Column, hygiene: HygieneRules, least: object
) -> Callable[[object], Broken]:
    action = hygiene.action("range", name)
    shows = shows_as_written(column.field.type)

    def broken(value: object) -> Broken:
        is_below = least is not None and value < least  # type: ignore[operator]  # both are of the column's type
        bound = "below the least" if is_below else "above the greatest"
        if value != value:  # noqa: PLR0124 - so NaN is named
            bound = "not between the least and the greatest"
        said = f"{column.name} is {value}, " if shows else f"{column.name} is "
        return Broken("range", name, f"{said}{bound} value allowed", action)

    return broken


def _future_skew(hygiene: HygieneRules) -> Iterator[Rule]:
    if hygiene.future_skew is None:
        return
    limit_s = hygiene.future_skew.total_seconds()
    reason = f"its timestamp is more than {limit_s:g} s ahead of the clock"
    broken = Broken("future_skew", None, reason, hygiene.action("future_skew"))
    names = {"skew_ms": limit_s * 1000, "ahead": broken}
    yield Rule("timestamp_ms - now_ms > skew_ms", "ahead", names)


def _steps(attributes: Sequence[str]) -> Iterator[str]:
    """Give an expression per step to a column; each keeps its result as `value`."""
    holder = "row"
    for name in attributes:
        yield f"(value := {holder}.{name})"
        holder = "value"
