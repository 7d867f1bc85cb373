"""Packs of work for Spark's tasks. A task for each piece would cost more than its work."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headrace.line.job import Answer, Work

# A piece with more records than this gets a task of its own.
LIGHT_RECORDS: Final = 5_000
# Light work waits for brokers most of the time.
AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of work as it is sent to a task; `lag` is what its job has still to do after the batch."""

    job: str
    work: bytes
    lag: int
    records: int
    is_apart: bool

    @classmethod
    def of(cls, job: str, work: Work, lag: int) -> Piece:
        """Return a piece of a job's work."""
        return cls(job, pickle.dumps(work), lag, work.weight, work.is_apart)


def packed(pieces: Sequence[Piece], tasks: int) -> list[list[Piece]]:
    """Return what tasks do: heavy pieces each alone, light ones together in as many as run at once.

    The light ones come first: who has little to do does not wait for who has much.
    """
    if len(pieces) <= tasks:
        return [[one] for one in pieces]
    light = [one for one in pieces if one.records <= LIGHT_RECORDS and one.is_apart]
    heavy = [one for one in pieces if one.records > LIGHT_RECORDS or not one.is_apart]
    packs = [light[at::tasks] for at in range(tasks)]
    return [*filter(None, packs), *([one] for one in heavy)]


def done(pieces: Sequence[Piece]) -> Iterator[tuple[Piece, Answer]]:
    """Do the pieces of a task, those of several jobs at once; of one job one after the other."""
    by_job: dict[str, list[Piece]] = {}
    for one in pieces:
        by_job.setdefault(one.job, []).append(one)
    if len(by_job) == 1:
        yield from map(_do, pieces)
        return
    with ThreadPoolExecutor(min(AT_ONCE, len(by_job))) as pool:
        for asked in as_completed([pool.submit(_do_all, own) for own in by_job.values()]):
            yield from asked.result()


def _do_all(pieces: Sequence[Piece]) -> list[tuple[Piece, Answer]]:
    return list(map(_do, pieces))


def _do(piece: Piece) -> tuple[Piece, Answer]:
    work: Work = pickle.loads(piece.work)  # noqa: S301 - what our line dumped
    return piece, work.do()


def answers_in(rows: Iterable[Any]) -> dict[str, list[Any]]:
    """Return what the tasks have answered, by job."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(row["job"], []).append(pickle.loads(row["answer"]))  # noqa: S301 - what our tasks dumped
    return found
