"""The overview of `headrace top`: its order, its rates, and frames that fit a terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fleet.lines import LineFacts, StatusLine
from fleet.run_state import folder_of, lock_in, served_at, write_address
from fleet.top.frame import HEADER, Head, as_text, frame
from fleet.top.rows import STATES, Rates, TopRow, in_order, rows_of_answers, rows_of_lines
from headrace.config.load import load_workspace
from headrace.http.address import TOKEN, parse_address
from headrace.http.rows import (
    AppRow,
    AppSourceRow,
    OutputRow,
    ReplayRow,
    StreamRow,
    TableRow,
)
from headrace.locks import hold
from router.ledger.entries import Counts

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

HEAD = Head("plays", "from http://127.0.0.1:8484", "12:00:00Z")


def output(
    name: str,
    state: str = "running",
    *,
    problem: str | None = None,
    lag: int | None = None,
    done: int | None = None,
) -> TopRow:
    return TopRow("stream", name, "all", state, problem, lag, None, done)


def names(rows: list[TopRow]) -> list[str]:
    return [one.name for one in rows]


def test_what_is_wrong_is_first_then_what_is_furthest_behind() -> None:
    rows = [
        output("near", lag=3),
        output("unknown"),
        output("resting", "stopped", lag=3),
        output("far", lag=900),
        output("broken", "failed", problem="its cluster is away"),
        output("half", "running", lag=1, problem="its quarantine is away"),
    ]
    assert names(in_order(rows)) == ["half", "broken", "far", "resting", "near", "unknown"]


def test_a_frame_of_500_streams_fits_and_says_how_many_more() -> None:
    rows = [output(f"s{number}", lag=number) for number in range(497)]
    rows += [output(f"bad{number}", "failed", problem="no broker answers") for number in range(3)]
    lines = [str(one) for one in frame(HEAD, rows, {}, 80, 24)]
    assert len(lines) == 24
    assert "x 3 failed" in lines[1]
    assert "o 497 running" in lines[1]
    bad = [number for number, line in enumerate(lines) if "bad" in line]
    assert bad == [3, 5, 7]
    assert [lines[number + 1].strip() for number in bad] == ["→ no broker answers"] * 3
    assert "s496/all" in lines[9]
    shown = sum("/all" in line for line in lines)
    assert lines[-1] == f"{500 - shown} more, none with a problem; q ends"
    all_bad = [output(f"bad{number}", "failed", problem="no") for number in range(500)]
    assert "490 more, 490 with a problem" in str(frame(HEAD, all_bad, {}, 80, 24)[-1])


row_of_any_kind = st.builds(
    TopRow,
    kind=st.sampled_from(["stream", "lake_table", "app", "replay"]),
    name=st.text(max_size=200),
    part=st.none() | st.text(max_size=9),
    state=st.sampled_from(STATES),
    problem=st.none() | st.text(max_size=300),
    lag=st.none() | st.integers(0, 10**15),
    complete_up_to=st.none() | st.just("2026-11-20T03:40:12.123456Z"),
)


@given(
    rows=st.lists(row_of_any_kind, max_size=12),
    width=st.integers(1, 200),
    height=st.integers(1, 40),
    problem=st.none() | st.text(max_size=300),
)
def test_any_frame_fits_any_terminal_and_moves_no_cursor(
    rows: list[TopRow], width: int, height: int, problem: str | None
) -> None:
    rates = {one.key: 1234.5 for one in rows}
    lines = frame(replace(HEAD, problem=problem), rows, rates, width, height)
    assert len(lines) <= height
    for one in lines:
        assert one.cell_len <= width
        assert str(one).isprintable()


def test_a_file_gets_all_lines_whole() -> None:
    rows = [output("a" * 90, lag=12), output("b", "failed", problem="c" * 200)]
    text = as_text(rows, {rows[0].key: 0.25})
    header, bad, good = text.splitlines()
    assert header.split() == [word for title in HEADER for word in title.split()]
    assert bad.split() == ["stream", "b/all", "failed", "-", "-", "-", "c" * 200]
    assert good.split() == ["stream", "a" * 90 + "/all", "running", "0.2/s", "12", "-"]


def test_a_rate_is_that_of_the_last_ten_seconds() -> None:
    rates, row = Rates(), output("plays", done=100)
    assert rates.of([row], 0.0) == {}
    assert rates.of([replace(row, done=140)], 2.0) == {row.key: 20.0}
    # A batch came in the first two seconds, and none since.
    assert rates.of([replace(row, done=140)], 10.0) == {row.key: 4.0}
    assert rates.of([replace(row, done=140)], 12.0) == {row.key: 0.0}
    # It begins to count again.
    assert rates.of([replace(row, done=7)], 14.0) == {}
    assert rates.of([replace(row, done=17)], 16.0) == {row.key: 5.0}


def test_what_the_api_answers_has_a_row_each() -> None:
    answers = {
        "streams": [
            StreamRow(
                "plays",
                "failed",
                "the quarantine's cluster is away",
                [OutputRow("starts", "running", None, 5, read=90)],
            )
        ],
        "tables": [
            TableRow("landed", "lake.tv.landed", "running", None, 7, 80, "2026-11-20T03:40:12Z")
        ],
        "apps": [
            AppRow(
                "counts", "running", None, [AppSourceRow("a", "a", (), 4), AppSourceRow("b", "b")]
            )
        ],
        "replays": [ReplayRow("run-1", "running", 3, 8, rows=60, frontier="2026-03-01T00:00:00Z")],
    }
    found = rows_of_answers(msgspec.json.decode(msgspec.json.encode(answers)))
    assert found == [
        TopRow("stream", "plays", None, "failed", "the quarantine's cluster is away"),
        TopRow("stream", "plays", "starts", "running", None, 5, None, 90),
        TopRow("lake_table", "landed", None, "running", None, 7, "2026-11-20T03:40:12Z", 80),
        TopRow("app", "counts", None, "running", None, 4),
        TopRow("replay", "run-1", None, "running", None, 5, "2026-03-01T00:00:00Z", 60),
    ]


def test_a_quarantine_has_a_row_where_something_is_wrong_with_it() -> None:
    good = StatusLine("stream", "plays", "quarantine", "running", 0)
    counts = Counts(read=9, written=9)
    starts = StatusLine("stream", "plays", "starts", "running", 2, facts=LineFacts(counts))
    assert rows_of_lines([starts, good]) == [
        TopRow("stream", "plays", "starts", "running", None, 2, None, 9)
    ]
    (bad,) = rows_of_lines([good.failed("its topic is gone")])
    assert (bad.part, bad.problem) == ("quarantine", "its topic is gone")


def test_who_runs_here_says_where_it_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "headrace.yaml").write_text("clusters: {}\n")
    workspace = load_workspace(tmp_path)
    folder = folder_of(workspace)
    monkeypatch.delenv(TOKEN, raising=False)
    assert served_at(workspace) is None
    with hold(lock_in(folder), "up", ""):
        assert served_at(workspace) is None
        write_address(folder, address := parse_address("127.0.0.1:8485"))
        assert served_at(workspace) == address
        write_address(folder, None)
        assert served_at(workspace) is None
        write_address(folder, replace(address, host="0.0.0.0"))  # noqa: S104 - nothing listens
        assert served_at(workspace) is None
        monkeypatch.setenv(TOKEN, "0123456789abcdef")
        assert str(served_at(workspace)) == "0.0.0.0:8485"
        write_address(folder, address)
    # What it left says nothing once it has ended.
    assert served_at(workspace) is None
