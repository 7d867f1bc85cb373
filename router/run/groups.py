"""Which outputs share a query: one that reads and decodes once for all of them, or each its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from headrace.contract import QUARANTINE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Members so far apart do not share a query: the one behind would hold up the others.
CLOSE: Final = 1_000_000
ALL: Final = "all"


def are_apart(
    direct: Sequence[str], alone: Sequence[str], isolation: Literal["output", "stream"]
) -> bool:
    """Whether each member has a query of its own, wherever the members are."""
    outputs = [name for name in direct if name != QUARANTINE]
    return not outputs or (isolation == "output" and len(outputs) + len(alone) > 1)


def is_one(direct: Sequence[str], isolation: Literal["output", "stream"]) -> bool:
    """Whether there is one output to share with: it and the quarantine go forward together."""
    return isolation == "output" and sum(name != QUARANTINE for name in direct) == 1


def grouped(
    direct: Sequence[str],
    alone: Sequence[str],
    isolation: Literal["output", "stream"],
    positions: Mapping[str, Mapping[int, int]],
) -> dict[str, Sequence[str]]:
    """Return the members of each query of a stream, by its name, which its checkpoint carries.

    `direct` are members that can share a query, QUARANTINE among them where bad records are kept;
    `alone` are outputs that cannot. `positions` are the members' next offsets: who is far behind
    the others catches up in a query of its own, and joins them at a later start.
    """
    if are_apart(direct, alone, isolation):
        return {name: [name] for name in (*direct, *alone)}
    outputs = [name for name in direct if name != QUARANTINE]
    lead = _lead(positions, direct)
    near = [name for name in direct if _behind(positions.get(name, {}), lead) <= CLOSE]
    apart = [*(name for name in direct if name not in near), *alone]
    shared = outputs[0] if len(outputs) == 1 else ALL
    groups: dict[str, Sequence[str]] = {shared: near} if near else {}
    return groups | {f"{name}.behind" if name == shared else name: [name] for name in apart}


def _lead(positions: Mapping[str, Mapping[int, int]], members: Sequence[str]) -> dict[int, int]:
    lead: dict[int, int] = {}
    for name in members:
        for partition, offset in positions.get(name, {}).items():
            lead[partition] = max(lead.get(partition, 0), offset)
    return lead


def _behind(own: Mapping[int, int], lead: Mapping[int, int]) -> int:
    return sum(offset - own.get(partition, offset) for partition, offset in lead.items())
