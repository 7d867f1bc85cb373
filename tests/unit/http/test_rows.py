"""The shape of the API's answers, which programs go by: every key, always, in its order."""

from __future__ import annotations

import json

import msgspec
import pytest

from headrace.http.rows import (
    AppRow,
    AppSourceRow,
    OutputRow,
    ReplayRow,
    ReplaySourceRow,
    State,
    StreamRow,
    TableRow,
    state_of_all,
)

# Names and order as programs know them. What is added goes to the end; nothing is taken away.
SHAPES = [
    (
        StreamRow("s", "running", None, [OutputRow("o", "running")]),
        "name state problem outputs",
        (
            "outputs",
            "name state problem lag read written filtered dropped quarantined lost complete_up_to",
        ),
    ),
    (
        TableRow("t", "lake.tv.t", "new"),
        "name table state problem lag rows complete_up_to last_commit files small_files",
        None,
    ),
    (
        AppRow("a", "running", None, [AppSourceRow("s", "live")]),
        "name state problem sources",
        ("sources", "name selected candidates lag watermark"),
    ),
    (
        ReplayRow("r", "running", 1, 2, sources=[ReplaySourceRow("t")]),
        (
            "run_id state steps_done steps rows rows_planned eta_s frontier threshold_ms sources "
            "certificate problem"
        ),
        ("sources", "name watermark next held_back_by"),
    ),
]


@pytest.mark.parametrize(("row", "keys", "inner"), SHAPES)
def test_an_answer_has_these_keys(row: object, keys: str, inner: tuple[str, str] | None) -> None:
    said = json.loads(msgspec.json.encode(row))
    assert list(said) == keys.split()
    if inner is not None:
        (one,) = said[inner[0]]
        assert list(one) == inner[1].split()


@pytest.mark.parametrize(
    ("states", "whole"),
    [
        ((), "new"),
        (("running", "running"), "running"),
        (("running", "failed", "starting"), "failed"),
        (("running", "starting"), "starting"),
        (("running", "stopped"), "stopped"),
        (("new", "running"), "new"),
    ],
)
def test_a_whole_is_as_its_worst_part(states: tuple[State, ...], whole: State) -> None:
    assert state_of_all(states) == whole
