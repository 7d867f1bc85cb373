"""Work put together for tasks: who has little to do waits for nobody who has much."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from headrace.line.packs import AT_ONCE, LIGHT_RECORDS, Piece, done, packed
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from headrace.errors import HeadraceError

together = threading.Barrier(2)
at_work: Counter[str] = Counter()


@dataclass(frozen=True)
class Answered:
    job: str
    records: int = 1
    bytes: int = 1
    problem: HeadraceError | None = None


@dataclass(frozen=True)
class Meeting:
    """Work that ends when another piece of work is at it, too."""

    job: str
    weight: int = 1
    is_apart: bool = True

    def do(self) -> Answered:
        together.wait(LIMIT_S)
        return Answered(self.job)


@dataclass(frozen=True)
class Alone:
    """Work that no other work of its job may be beside."""

    job: str
    weight: int = 1
    is_apart: bool = True

    def do(self) -> Answered:
        at_work[self.job] += 1
        beside = at_work[self.job]
        threading.Event().wait(0.001)
        at_work[self.job] -= 1
        return Answered(self.job, beside)


pieces = st.builds(
    Piece,
    st.sampled_from("abc"),
    st.binary(max_size=3),
    st.just(0),
    st.integers(0, 3 * LIGHT_RECORDS),
    st.booleans(),
)


@given(st.lists(pieces, max_size=40), st.integers(1, 8))
def test_each_piece_is_done_once_and_light_ones_first(given_: list[Piece], tasks: int) -> None:
    packs = packed(given_, tasks)
    assert all(packs)
    assert Counter(one for pack in packs for one in pack) == Counter(given_)
    if len(given_) <= tasks:
        assert [len(pack) for pack in packs] == [1] * len(given_)
        return
    light = [_is_light(pack[0]) for pack in packs]
    assert light == sorted(light, reverse=True)
    assert sum(light) <= tasks
    for pack in packs:
        assert len(pack) == 1 or all(map(_is_light, pack))


def _is_light(piece: Piece) -> bool:
    return piece.records <= LIGHT_RECORDS and piece.is_apart


def test_pieces_of_two_jobs_are_done_at_once() -> None:
    answers = dict(done([Piece.of(name, Meeting(name), 0) for name in ("one", "two")]))
    assert {piece.job for piece in answers} == {"one", "two"}


def test_pieces_of_one_job_are_done_one_after_the_other() -> None:
    names = [name for name in ("one", "two") for _ in range(2 * AT_ONCE)]
    answers = [answer for _, answer in done([Piece.of(one, Alone(one), 0) for one in names])]
    assert [answer.records for answer in answers] == [1] * len(names)
