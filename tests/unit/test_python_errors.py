"""Errors of ours that Spark brings back as text."""

from __future__ import annotations

import traceback

import pytest

from headrace.errors import HeadraceError, Terminal, TopicMissing, Transient
from headrace.jvm.failures import error_in
from headrace.kafka.ranges import RecordsGone


def text_of(problem: Exception) -> str:
    """Return what Spark's exception says: the traceback, between words of its own."""
    inner = "".join(traceback.format_exception(problem))
    return f"[STREAM_FAILED] Query terminated: PythonException: Traceback:\n{inner}\n\tat org.apache.spark.X"


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        (Terminal("it stops: t-0 @ 5: no JSON", "mend it"), Terminal),
        (Terminal("without advice"), Terminal),
        (RecordsGone("t", 1), Transient),
        (TopicMissing("t", "c", ["u"]), Terminal),
    ],
)
def test_it_is_told_as_it_was_raised(problem: HeadraceError, kind: type[HeadraceError]) -> None:
    told = error_in(text_of(problem))
    assert told is not None
    assert (type(told), told.message, told.advice) == (kind, problem.message, problem.advice)


def test_what_is_none_of_ours_is_left_alone() -> None:
    assert error_in(text_of(ValueError("headrace.errors.Terminal: quoted"))) is None
    assert error_in("headrace.errors.Nothing: x") is None
