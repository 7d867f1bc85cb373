"""How long the batch of a job with a backlog may be, so that the other jobs are on time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.line.pace import LONGEST_S, SHORTEST_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.line.turns import Turns


def shared(turns: Sequence[Turns], before_s: float | None) -> float | None:
    """Return how often some job of a line is due, None where it has one; let each job know.

    A batch with a whole backlog would keep the others waiting, and so would a batch that begins just
    before they are due. So a job that is behind takes as much as is done until then. `before_s` is
    what was returned the last time: if nothing has changed, only the newest job has to know it.
    """
    shortest_s = min((one.interval_s for one in turns), default=0.0)
    others_s = max(shortest_s, SHORTEST_S) if len(turns) > 1 else None
    for one in turns if others_s != before_s else turns[-1:]:
        one.share(others_s or LONGEST_S)
    return others_s
