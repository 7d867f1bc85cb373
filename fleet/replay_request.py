"""A replay as a page or a program asks for it: every value is checked before anything begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from backfill.run.pace import parse_rate
from headrace.config.common.units import UnitError, parse_duration
from headrace.errors import HeadraceError
from headrace.http.replay_rows import Mistake, RequestRefused
from headrace.problems import did_you_mean
from headrace.times import parse_time_us

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LONGEST: Final = 300
MOST_NAMES: Final = 100


def _refused(reason: str, advice: str) -> PydanticCustomError:
    return PydanticCustomError("refused", "{reason}", {"reason": reason, "advice": advice})


def _read_by(parse: Callable[[str], object]) -> AfterValidator:
    """Check a text by the parser of the command's option; the text itself goes to the command."""

    def check(text: str) -> str:
        try:
            parse(text)
        except UnitError as problem:
            raise _refused(f"{text}: {problem.reason}", problem.advice) from None
        except HeadraceError as problem:
            raise _refused(problem.message, problem.advice) from None
        except OverflowError:
            raise _refused(f"{text} is out of range", "") from None
        return text

    return AfterValidator(check)


def _region(name: str) -> str:
    if "," in name or name != name.strip():
        raise _refused(f"{name!r} is not a region", "write regions as A,B")
    return name


def _listed(value: object) -> object:
    """Take names separated by commas for a list, as the command does."""
    if isinstance(value, str):
        return [one.strip() for one in value.split(",") if one.strip()]
    return value


def _rate(value: object) -> object:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:f}" if is_number else value


def _plain(text: str) -> str:
    """Refuse what neither a command line nor a path can hold, or a log shows as something else."""
    if not text.isprintable():
        raise _refused(f"{text!r} has characters that cannot be shown", "")
    return text


Name = Annotated[str, Field(min_length=1, max_length=LONGEST), AfterValidator(_plain)]
Names = Annotated[tuple[Name, ...], BeforeValidator(_listed), Field(max_length=MOST_NAMES)]
Time = Annotated[Name, _read_by(parse_time_us)]
Span = Annotated[Name, _read_by(parse_duration)]


class ReplayBody(BaseModel):
    """What the body of a plan or of a replay may hold."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    app: Name | None = None
    tables: Names = ()
    select: dict[Name, Name] = Field(default_factory=dict, max_length=MOST_NAMES)
    start_ts: Time
    end_ts: Time
    regions: Annotated[
        tuple[Annotated[Name, AfterValidator(_region)], ...],
        BeforeValidator(_listed),
        Field(max_length=MOST_NAMES),
    ] = ()
    max_misalignment: Span | None = None
    order: Literal["bounded", "any", "strict"] | None = None
    warmup: Span | None = None
    cooldown: Span | None = None
    rate_limit: Annotated[Name, _read_by(parse_rate)] | None = Field(default=None)
    stage: Annotated[bool, Field(strict=True)] = False
    to: Name | None = None


def parse_body(values: Mapping[str, object]) -> ReplayBody:
    """Read a request; RequestRefused has every mistake in it."""
    rate = {"rate_limit": _rate(values["rate_limit"])} if "rate_limit" in values else {}
    try:
        return ReplayBody.model_validate({**values, **rate})
    except ValidationError as problem:
        errors = problem.errors(include_url=False, include_context=True, include_input=False)
        raise RequestRefused([_mistake(dict(one)) for one in errors]) from None


def _mistake(error: dict[str, Any]) -> Mistake:
    location = error["loc"]
    field = str(location[0])[:LONGEST] if location else ""
    match error["type"]:
        case "extra_forbidden":
            known = list(ReplayBody.model_fields)
            return Mistake(field, "it is not known", did_you_mean(field, known))
        case "missing":
            return Mistake(field, "it is missing", "a replay needs a period: start_ts and end_ts")
        case "refused":
            return Mistake(field, error["ctx"]["reason"], error["ctx"]["advice"])
        case _:
            return Mistake(field, error["msg"])
