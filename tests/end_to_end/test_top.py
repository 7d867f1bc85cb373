"""`headrace top` on a terminal, before a server that has 500 streams."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

import pytest

from headrace.http.address import TOKEN, parse_address
from headrace.http.board import Board, Facts
from headrace.http.rows import OutputRow, StreamRow
from headrace.http.server import serving
from headrace.signals import Drain
from tests.end_to_end.commands import run, write_workspace
from tests.end_to_end.terminal import terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

MANY = 500
ALTERNATE_SCREEN_LEFT = b"\x1b[?1049l"


class ManyStreams(Facts):
    """500 streams of an output each: one has failed, the others read on."""

    def __init__(self) -> None:
        self._asked = count(1)

    def streams(self) -> Sequence[StreamRow]:
        read = 1000 * next(self._asked)
        bad = OutputRow("all", "failed", "no broker of cluster far answers", 3, read=5)
        good = [
            StreamRow(f"s{number}", "running", None, [self._output(number, read)])
            for number in range(MANY - 1)
        ]
        return [*good, StreamRow("broken", "failed", bad.problem, [bad])]

    def _output(self, number: int, read: int) -> OutputRow:
        return OutputRow("all", "running", None, number, read=read)


@contextmanager
def served() -> Iterator[str]:
    board = Board("top's test", Drain())
    board.show(ManyStreams())
    with serving(parse_address("127.0.0.1:0"), board) as taken:
        yield str(taken)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "ws", "plays", "127.0.0.1:1")


def test_500_streams_fit_a_terminal_and_q_ends(root: Path) -> None:
    with served() as address, terminal("headrace", "top", "--http", address, cwd=root) as seen:
        assert seen.shows("x 1 failed  o 499 running")
        assert seen.shows("broken/all")
        assert seen.shows("no broker of cluster far answers")
        assert seen.shows("s498/all")
        assert seen.shows(" more, none with a problem; q ends")
        # A second reading gives rates, of what the server has counted on.
        assert seen.shows("0/s")
        assert b"s400/all" not in seen.shown
        assert b"\x1b[1;31m" in seen.shown
        seen.type("q")
        assert seen.ends() == 0
        assert ALTERNATE_SCREEN_LEFT in seen.shown
        assert seen.is_as_it_was


def test_a_server_that_goes_is_named_and_ctrl_c_ends(root: Path) -> None:
    with (
        served() as address,
        terminal("headrace", "top", "--http", address, cwd=root, NO_COLOR="1") as seen,
    ):
        assert seen.shows("s498/all")
        # The first reading stays on the screen.
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(ManyStreams, "streams", _failing)
            assert seen.shows("no newer figures:")
        seen.interrupt()
        assert seen.ends() == 0
        assert b"\x1b[1;31m" not in seen.shown
        assert seen.is_as_it_was


def _failing(_: ManyStreams) -> Sequence[StreamRow]:
    raise OSError


def test_a_file_gets_one_frame_with_all_lines(root: Path) -> None:
    with served() as address:
        done = run("headrace", "top", "--http", address, cwd=root)
    assert done.returncode == 0
    header, first, second, *others = done.stdout.splitlines()
    assert header.split()[:4] == ["KIND", "NAME", "STATE", "RATE"]
    assert first.split()[:3] == ["stream", "broken/all", "failed"]
    assert second.split()[:5:4] == ["stream", "498"]
    assert float(second.split()[3].removesuffix("/s").replace(",", "")) > 0
    assert len(others) == MANY - 2


def test_where_nothing_answers_it_says_so(root: Path) -> None:
    nothing = run("headrace", "top", "--http", "127.0.0.1:1", cwd=root)
    assert nothing.returncode == 1
    assert "nothing answers at 127.0.0.1:1 (Connection refused)" in nothing.stderr
    without = run("headrace", "top", "--http", "10.0.0.1:80", cwd=root, **{TOKEN: ""})
    assert without.returncode == 2
