"""Which headers a record goes on with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest

from headrace.contract import ORIGIN, RAW_SCHEMA, REGION_HEADER
from headrace.expressions.compiled.compiler import NotCompiled
from headrace.expressions.projection import Projected
from headrace.kafka.message import GivenMessage, RecordPosition
from headrace.records.hygiene.rules import HygieneRules
from router.plan.model import Outlet, RoutePlan, Source, ToTopic
from router.tasks.compile import compile_outlet, compile_route
from router.tasks.sent_lines import without_queue

if TYPE_CHECKING:
    from headrace.records.rows import Headers

AT_MS = 1_700_000_000_000
OWN: Headers = [("trace", b"\xff"), ("null", None)]
FROM = (ORIGIN, f"raw/3/7/{AT_MS}")


def plan_of(region: str | None, *origins: Literal["header", "none"]) -> RoutePlan:
    source = Source("c", "raw", {}, region, "raw", RAW_SCHEMA, None)
    outlets = tuple(
        Outlet(
            f"o{number}",
            None,
            (Projected("value", "value"),),
            ToTopic("c", f"out{number}", "raw", None, "lz4", origin),
        )
        for number, origin in enumerate(origins)
    )
    return RoutePlan("id", "s", source, HygieneRules(), None, outlets, needs_time=False)


def routed(plan: RoutePlan, own: Headers, *, is_full: bool = False) -> list[Any]:
    """What the outputs are given of one record; with a full queue, what waits is given it."""
    sent: list[Any] = []
    wait = without_queue(lambda *record: sent.append(record))

    def full(*_: object) -> None:
        raise BufferError

    made = [compile_outlet(one, plan.source.schema) for one in plan.outlets]
    route = compile_route(plan, [one for one in made if not isinstance(one, NotCompiled)])
    sends = [(full, wait[1]) if is_full else wait] * len(made)
    message = GivenMessage(RecordPosition("raw", 3, 7), AT_MS, b"v", None, own)
    assert route([message], 3, 0, sends, [], []) == (1,) * len(made)
    return [list(headers) for _, _, _, headers in sent]


@pytest.mark.parametrize("is_full", [False, True])
@pytest.mark.parametrize(
    ("region", "own", "others"),
    [
        (None, [], []),
        (None, OWN, OWN),
        ("eu", [], [(REGION_HEADER, "eu")]),
        ("eu", OWN, [*OWN, (REGION_HEADER, "eu")]),
        ("eu", [(REGION_HEADER, b"us")], [(REGION_HEADER, b"us")]),
    ],
)
def test_the_origin_comes_last_or_not_at_all(
    region: str | None, own: Headers, others: list[Any], is_full: bool
) -> None:
    plan = plan_of(region, "header", "none", "header")
    found = routed(plan, own, is_full=is_full)
    assert found == [[*others, FROM], others, [*others, FROM]]
