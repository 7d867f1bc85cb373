"""The values that a key may hold, each with the sentence that a user reads when it does not."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from headrace.config.common import units
from headrace.errors import UsageError
from headrace.secret import Secret
from headrace.times import parse_time_us

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

T = TypeVar("T")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_FILLED = re.compile(r".*\S.*", re.DOTALL)
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_CALLABLE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)


def refusal(wanted: str, reason: str = "", advice: str = "") -> PydanticCustomError:
    """Return the error that the report turns into `expected <wanted>, got <what was written>`.

    `reason` and `advice` may quote the value, so the report leaves them out where it is secret.
    """
    return PydanticCustomError(
        "refused", "refused", {"wanted": wanted, "reason": reason, "advice": advice}
    )


def scalar_text(value: object) -> str:
    """Return a plain YAML value as the text that was written: `true`, `8`, `1.10`."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        # 1.10 read as a number is 1.1: a version or a port list would change silently.
        return str(getattr(value, "text", value))
    raise refusal("a text or a number")


def _quantity(value: object, parse: Callable[[str], T], wanted: str) -> T:
    """Read a number with its unit out of a YAML value."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise refusal(wanted)
    try:
        return parse(scalar_text(value))
    except units.UnitError as problem:
        raise refusal(wanted, problem.reason, problem.advice) from problem


def _duration(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    return _quantity(value, units.parse_duration, units.DURATION_EXAMPLE)


def time_text(value: object, words: Collection[str], wanted: str) -> str:
    """Return a time as it was written, or one of the words that may stand for one."""
    text = value.strip() if isinstance(value, str) else ""
    if text not in words:
        try:
            parse_time_us(text)
        except UsageError:
            raise refusal(wanted) from None
    return text


def _positive_duration(value: timedelta) -> timedelta:
    if value <= timedelta(0):
        raise refusal(units.DURATION_EXAMPLE, "it must be more than 0")
    return value


def _size(value: object) -> int:
    size = _quantity(value, units.parse_size, units.SIZE_EXAMPLE)
    if size <= 0:
        raise refusal(units.SIZE_EXAMPLE, "it must be more than 0")
    return size


def is_name(text: str) -> bool:
    """Return whether a stream, an output or a table's file may have that name."""
    return _NAME.fullmatch(text) is not None


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        lower = re.sub(r"[^a-z0-9_-]+", "_", value.casefold()).strip("_")
        advice = f'did you mean "{lower}"?' if _NAME.fullmatch(lower) else ""
        raise refusal("a name of a-z, 0-9, _ and -", "", advice)
    return value


def _topic(value: str) -> str:
    if not _TOPIC.fullmatch(value) or value in {".", ".."}:
        raise refusal("a Kafka topic: at most 249 letters, digits, '.', '_' and '-'")
    return value


def _matching(pattern: re.Pattern[str], wanted: str) -> AfterValidator:
    def matching(value: str) -> str:
        if not pattern.fullmatch(value):
            raise refusal(wanted)
        return value

    return AfterValidator(matching)


def _secret(value: object) -> Secret:
    return value if isinstance(value, Secret) else Secret(scalar_text(value))


def _several(value: object) -> object:
    return (value,) if isinstance(value, str) else value


_DURATION_JSON = WithJsonSchema(
    {
        "type": ["string", "integer"],
        "pattern": units.DURATION_PATTERN,
        "maximum": 0,
        "minimum": 0,
        "examples": ["30s", "15min", "1h30m"],
    }
)
_SIZE_JSON = WithJsonSchema(
    {"type": "string", "pattern": units.SIZE_PATTERN, "examples": ["64MiB", "128MiB", "1GB"]}
)

Duration = Annotated[
    timedelta, BeforeValidator(_duration), PlainSerializer(units.duration_text), _DURATION_JSON
]
PositiveDuration = Annotated[Duration, AfterValidator(_positive_duration)]
Size = Annotated[int, BeforeValidator(_size), _SIZE_JSON]
Count = Annotated[int, Field(strict=True, gt=0)]
Name = Annotated[
    str, AfterValidator(_name), Field(json_schema_extra={"pattern": rf"\$\{{|^{_NAME.pattern}$"})
]
KeyName = Annotated[str, _matching(_KEY, "a name of letters, digits, _, . and -")]
Topic = Annotated[
    str, AfterValidator(_topic), Field(json_schema_extra={"pattern": rf"\$\{{|^{_TOPIC.pattern}$"})
]
Topics = Annotated[
    tuple[Topic, ...],
    Field(min_length=1),
    BeforeValidator(_several, json_schema_input_type=str | list[str]),
]
Callable_ = Annotated[str, _matching(_CALLABLE, 'a function as "module:function"')]
Text = Annotated[str, _matching(_FILLED, "a text that is not empty")]
PlainText = Annotated[str, BeforeValidator(scalar_text, json_schema_input_type=str | float | bool)]
# Any plain value of YAML; every serialiser gives `***` for it.
SecretText = Annotated[
    Secret,
    PlainValidator(_secret),
    PlainSerializer(str),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
