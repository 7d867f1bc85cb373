"""The page of a replay: progress, the alignment band, the certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from headrace.http.pages.formats import duration, key_of
from headrace.http.pages.parts import Page, Part
from headrace.http.pages.templates import macro, render
from headrace.http.pages.time_axis import LEFT, WIDTH, short, ticks_between
from headrace.http.pages.time_picture import plan_picture
from headrace.times import SECOND_US, format_time_us, parse_time_us

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.http.board import Facts
    from headrace.http.pages.snapshot import Snapshot
    from headrace.http.rows import ReplayRow

LANE: Final = 34
TOP: Final = 38
# What a certificate proves, in the order in which people ask; the rest follows as it stands there.
PROOFS: Final = ("complete", "bound_held", "offset_order_held", "dropped_late", "rows")
# Where a yes is good, and a no is not.
GOOD: Final = frozenset({"complete", "bound_held", "offset_order_held"})
_MS: Final = "_ms"
# Of the picture's width, so much is the band at the least, and before it.
BAND_SHARE: Final = 0.28


@dataclass(frozen=True, slots=True)
class Lane:
    """A table in the picture; places are None where the time is not known, or far away."""

    name: str
    y: int
    watermark: str | None
    next: str | None
    held_back_by: str | None
    watermark_x: int
    next_x: int | None
    is_beyond: bool


@dataclass(frozen=True, slots=True)
class Band:
    """The alignment band: from the frontier to one threshold later."""

    frontier: str
    until: str
    frontier_x: int
    until_x: int
    threshold_s: float
    lanes: Sequence[Lane]
    ticks: Sequence[tuple[int, str]]
    height: int


def replays_page(snapshot: Snapshot) -> Page:
    """Return the list of all replays."""
    rows = {key_of("r", one.run_id): macro("rows.html", "replay")(one) for one in snapshot.replays}
    before, _, after = render(
        # A command that is about one thing declares nothing, and starts nothing.
        "replays_page.html",
        has_rows=bool(rows),
        can_start=bool(snapshot.declared),
    ).partition("<!--rows-->")
    return Page("Replays", [Part("replays", before, rows, after)], snapshot.replays, "replays")


def replay_page(facts: Facts, run_id: str) -> Page | None:
    """Return the page of a replay; None where there is none."""
    row = facts.replay(run_id)
    if row is None:
        return None
    detail = facts.replay_detail(run_id)
    app = None if detail is None else detail.app
    values = {
        "row": row,
        "band": band_of(row),
        "share": share_of(row),
        "detail": detail,
        # One whose file selects a table has no page: only replays run it.
        "has_app_page": any(one.name == app for one in facts.apps()),
    }
    plan = None if detail is None else detail.plan
    parts = [
        Part("replay", render("replay.html", **values)),
        Part(
            "certificate",
            render(
                "certificate.html",
                facts=certificate_facts(row.certificate),
                certificate=row.certificate,
            ),
        ),
        Part(
            "result",
            render(
                "replay_result.html",
                detail=detail,
                shown=None,
                problem=None,
                plan_picture=None if plan is None else plan_picture(plan),
            ),
        ),
    ]
    return Page(f"Replay {run_id}", parts, row, "replays")


def share_of(row: ReplayRow) -> float:
    """Return how much of the steps is done, in percent."""
    return 100 * row.steps_done / row.steps if row.steps else 100.0


def band_of(row: ReplayRow) -> Band | None:
    """Return the picture; None where the order has no threshold, or all is done."""
    if row.frontier is None or not row.threshold_ms or row.state == "complete":
        return None
    frontier_us = parse_time_us(row.frontier)
    threshold_us = row.threshold_ms * 1000
    times = [
        parse_time_us(time)
        for source in row.sources
        for time in (source.watermark, source.next)
        if time is not None
    ]
    # The band is what the picture is about: what is far from it stands at the edge.
    most_us = int(threshold_us / BAND_SHARE)
    first_us = max(min([*times, frontier_us]), frontier_us - most_us // 2) - threshold_us // 4
    last_us = min(max([*times, frontier_us + threshold_us]), frontier_us + most_us)
    last_us += threshold_us // 8
    span_us = last_us - first_us

    def at(us: int) -> int:
        return LEFT + max(0, min(WIDTH, WIDTH * (us - first_us) // span_us))

    lanes = []
    for number, source in enumerate(row.sources):
        seen = None if source.watermark is None else parse_time_us(source.watermark)
        following = None if source.next is None else parse_time_us(source.next)
        lanes.append(
            Lane(
                short(source.name),
                TOP + number * LANE,
                source.watermark,
                source.next,
                source.held_back_by,
                LEFT if seen is None else at(seen),
                None if following is None else at(following),
                following is not None and following > last_us,
            )
        )
    until_us = frontier_us + threshold_us
    ticks = [(at(us), format_time_us(us)[11:19]) for us in ticks_between(first_us, last_us)]
    return Band(
        row.frontier,
        format_time_us(until_us),
        at(frontier_us),
        at(until_us),
        threshold_us / SECOND_US,
        lanes,
        ticks,
        TOP + LANE * len(lanes) + 16,
    )


@dataclass(frozen=True, slots=True)
class Proof:
    """A single value of a certificate; `is_good` where it says whether a promise was kept."""

    name: str
    value: object
    is_good: bool | None = None


def certificate_facts(certificate: Mapping[str, Any] | None) -> list[Proof]:
    """Return what a certificate says in single values."""
    plain = {
        name: value
        for name, value in (certificate or {}).items()
        if value is not None and not isinstance(value, list | dict)
    }
    first = [name for name in PROOFS if name in plain]
    return [_proof(name, plain[name]) for name in dict.fromkeys([*first, *plain])]


def _proof(name: str, value: object) -> Proof:
    if name == "period":
        # It is written for programs, with microseconds.
        return Proof(name, str(value).replace(".000000Z", "Z"))
    if name.endswith(_MS) and isinstance(value, int | float):
        return Proof(name.removesuffix(_MS).replace("_", " "), duration(value / 1000))
    if isinstance(value, bool):
        is_good = value if name in GOOD else None
        return Proof(name.replace("_", " "), "yes" if value else "no", is_good)
    return Proof(name.replace("_", " "), value)
