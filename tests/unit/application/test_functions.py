"""Functions of the author's own: their types, and where they are looked for."""

from __future__ import annotations

import datetime as dt  # noqa: TC003 - the annotations are read
from decimal import Decimal

import pytest

from headrace.application.functions import return_type
from headrace.errors import Terminal


def whole(text: str) -> int | None:
    return len(text) or None


def when(at: dt.datetime) -> dt.date:
    return at.date()


def untyped(at):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201 - that is the case
    return at


def number(text: str) -> Decimal:
    return Decimal(text)


def either(text: str) -> int | str:
    return text


def test_a_types_name_in_sql_follows_from_the_annotation() -> None:
    assert return_type("whole", whole) == "bigint"
    assert return_type("when", when) == "date"


@pytest.mark.parametrize("function", [untyped, number, either])
def test_a_type_that_does_not_follow_is_asked_for(function: object) -> None:
    with pytest.raises(Terminal, match=r"cannot derive a SQL type from that"):
        return_type("f", function)  # type: ignore[arg-type]  # all are functions
