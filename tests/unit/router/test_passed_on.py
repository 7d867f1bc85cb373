"""Times that are passed on as text come out as if they had been read and written."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.expressions.compiled.compiler import NotCompiled
from headrace.expressions.projection import Projected
from headrace.kafka.message import GivenMessage, RecordPosition
from headrace.records.hygiene.rules import HygieneRules, ValueRange
from headrace.schema.avro import parse_avro
from router.plan.model import Outlet, RoutePlan, Source, ToSearch, ToTopic
from router.tasks import compile as compiling
from router.tasks.compile import compile_outlet, compile_route
from router.tasks.passed_on import times_passed_on
from router.tasks.sent_lines import without_queue

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from router.plan.model import Target

TIME = {"type": "long", "logicalType": "timestamp-micros"}
SCHEMA = parse_avro(
    {
        "type": "record",
        "name": "Event",
        "fields": [
            {"name": "at", "type": TIME},
            {"name": "until", "type": ["null", {**TIME, "logicalType": "timestamp-millis"}]},
            {"name": "clock", "type": {**TIME, "logicalType": "local-timestamp-micros"}},
            {"name": "since", "type": TIME, "default": 5},
            {"name": "id", "type": "int"},
        ],
    }
)
ALL = {name: name for name in ("at", "until", "clock", "since", "id")}
TOPIC = ToTopic("c", "out", "json", None, "lz4")


def outlet(
    target: Target = TOPIC, *, passes: str | None = None, name: str = "o", **columns: str
) -> Outlet:
    projected = tuple(Projected(*item) for item in (columns or ALL).items())
    return Outlet(name, passes, projected, target)


def plan_of(*outlets: Outlet, **hygiene: Any) -> RoutePlan:  # noqa: ANN401 - any rule
    source = Source("c", "raw", {}, None, "json", SCHEMA, None)
    return RoutePlan("id", "s", source, HygieneRules(**hygiene), None, outlets, needs_time=False)


def passed_on(plan: RoutePlan) -> set[str]:
    return set(times_passed_on(plan, compiled(plan)))


def compiled(plan: RoutePlan) -> list[Any]:
    found = [compile_outlet(one, plan.source.schema) for one in plan.outlets]
    assert not any(isinstance(one, NotCompiled) for one in found)
    return found


def routed(plan: RoutePlan, values: Iterable[bytes]) -> tuple[list[Any], list[str]]:
    """What the outputs are given, and why records were rejected."""
    sent: list[Any] = []
    bad: list[Any] = []
    route = compile_route(plan, compiled(plan))
    sends = [without_queue(lambda *record: sent.append(record))] * len(plan.outlets)
    messages = [
        GivenMessage(RecordPosition("raw", 0, offset), 1_700_000_000_000, value)
        for offset, value in enumerate(values)
    ]
    route(messages, 0, 0, sends, bad, [])
    return sent, [broken.reason for _, broken in bad]


def read_and_written(plan: RoutePlan, values: Sequence[bytes]) -> tuple[list[Any], list[str]]:
    """The same where nothing is passed on as text."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "times_passed_on", lambda *_: frozenset())
        return routed(plan, values)


def test_what_nobody_computes_with_is_passed_on() -> None:
    search = outlet(ToSearch("http://u", "i", None, 1), name="found", at="at", id="id")
    assert passed_on(plan_of(outlet())) == {"at", "until"}
    assert passed_on(plan_of(outlet(), search)) == {"at", "until"}
    # A column that no output has is only checked, and another name changes nothing.
    assert passed_on(plan_of(outlet(then="at", id="id"))) == {"at"}


@pytest.mark.parametrize(
    "other",
    [
        outlet(passes="at > timestamp '2026-01-01T00:00:00Z'"),
        outlet(passes="until > at"),
        outlet(at="at", day="cast(at AS date)"),
        outlet(at="cast(at AS string)"),
        outlet(replace(TOPIC, key_column="at")),
        outlet(replace(TOPIC, format="avro")),
        outlet(ToSearch("http://u", "i", "at", 1)),
    ],
)
def test_one_other_use_is_enough_to_read_it(other: Outlet) -> None:
    assert "at" not in passed_on(plan_of(other))
    assert "at" not in passed_on(plan_of(outlet(), replace(other, name="other")))


def test_a_rule_about_its_values_reads_it() -> None:
    assert passed_on(plan_of(outlet(), required=("at", "until"))) == {"at", "until"}
    bounds = {"AT": ValueRange("2020-01-01T00:00:00Z", None)}
    assert passed_on(plan_of(outlet(), ranges=bounds)) == {"until"}


def test_only_json_has_texts() -> None:
    plan = plan_of(outlet())
    assert passed_on(replace(plan, source=replace(plan.source, format="avro"))) == set()


moments = st.datetimes().map(lambda moment: moment.replace(tzinfo=UTC))
texts = st.one_of(
    moments.map(lambda moment: moment.isoformat()),
    moments.map(lambda moment: f"{moment.isoformat()[:26]}Z"),
    moments.map(lambda moment: f"{moment.isoformat(timespec='milliseconds')[:23]}Z"),
    st.from_regex(
        r"2026-0[1-3]-[0-3][0-9][T t][0-2][0-9]:[0-6]0:00(\.[0-9]{0,10})?(Z|[+-]0[0-9]:?[03]0|)",
        fullmatch=True,
    ),
    st.from_regex(r"2026-01-05T03:04:05[.,0-9ZT: +\u0661]{0,10}", fullmatch=True),
)
# As we write it, but for a character or two.
odd = st.builds(
    lambda at, changes, end: (
        at + end
        if not changes
        else "".join(changes.get(number, one) for number, one in enumerate(at)) + end
    ),
    st.sampled_from(
        [
            "2026-01-05T03:04:05.123456Z",
            "2026-01-05T03:04:05.123Z",
            "2026-W01-5T03:04:05.123456Z",
            "2024-02-29T00:00:00.000Z",
            "0001-01-01T00:00:00.000000Z",
            "9999-12-31T23:59:59.999999Z",
        ]
    ),
    st.dictionaries(
        st.integers(0, 26), st.sampled_from("0123456789-+:.,TtZzW \u0661\u00e9"), max_size=2
    ),
    st.sampled_from(["", "", "", "Z", " ", "0"]),
)
times: st.SearchStrategy[Any] = st.one_of(
    texts,
    odd,
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(10**17), 10**17),
    st.sampled_from([None, True, 1.5, "", "now", [], {}]),
)


@given(st.lists(st.fixed_dictionaries({"at": times, "until": times}), max_size=5))
def test_what_is_written_and_rejected_is_the_same_to_the_byte(
    records: list[dict[str, Any]],
) -> None:
    whole = [{**one, "clock": "2026-01-05", "id": number} for number, one in enumerate(records)]
    # Twice: once read, once looked up.
    values = [json.dumps(one).encode() for one in whole] * 2
    plan = plan_of(
        outlet(), outlet(name="other", until="until", id="id", text="cast(id AS string)")
    )
    assert routed(plan, values) == read_and_written(plan, values)


def test_a_text_as_computers_write_it_is_itself() -> None:
    at = "2026-01-05T03:04:05.123456Z"
    value = json.dumps({"at": at, "until": None, "clock": 0, "id": 1}).encode()
    sent, bad = routed(plan_of(outlet(at="at", until="until")), [value, value])
    assert bad == []
    assert [one[1] for one in sent] == [b'{"at":"%s","until":null}' % at.encode()] * 2
