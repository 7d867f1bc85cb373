from __future__ import annotations

from itertools import pairwise
from operator import itemgetter

from hypothesis import given
from hypothesis import strategies as st

from examples.cdc import generate as cdc
from examples.playback.apps.session_timers import GAP_US, Session, merged
from examples.playback.generate import Wanted, generate

MINUTE_MS = 60_000
TIMES = st.lists(st.integers(0, 40 * GAP_US), max_size=30)


def one(at: int) -> Session:
    return (at, at + GAP_US, 1, 5)


@given(TIMES, st.randoms())
def test_sessions_end_where_a_gap_begins_in_whatever_order_events_come(
    times: list[int], chance: object
) -> None:
    # The oracle: go through the times in order, and begin anew after a gap.
    expected: list[list[int]] = []
    for at in sorted(times):
        if expected and at - expected[-1][-1] <= GAP_US:
            expected[-1].append(at)
        else:
            expected.append([at])
    chance.shuffle(times)  # type: ignore[attr-defined]  # hypothesis' Random
    sessions: list[Session] = []
    for at in times:
        sessions = merged([*sessions, one(at)])
    assert sessions == [(some[0], some[-1] + GAP_US, len(some), 5 * len(some)) for some in expected]
    assert all(left[1] < right[0] for left, right in pairwise(sessions))


def test_what_is_generated_is_late_within_its_bound_and_skewed() -> None:
    made = generate(Wanted(hours=1, plays_per_hour=300))
    plays, shown = made["playback"][:-1], made["impressions"][:-1]
    assert len(shown) == 10 * len(plays) == 3000
    late_ms = [one["timestamp"] - one["value"]["event_ts"] for one in plays + shown]
    assert 60_000 < max(late_ms) < 8 * 60_000
    assert {one["headers"]["region"] for one in plays} == {"us-east-1", "eu-west-1"}
    by_user = [sum(one["key"] == f"u{n}" for one in plays) for n in (1, 50)]
    assert by_user[0] > 20 * by_user[1]
    assert generate(Wanted(hours=1, plays_per_hour=300)) == made


def test_changes_are_those_of_a_log_and_their_clocks_run_backwards() -> None:
    sent = cdc.generate(cdc.Wanted(hours=1, changes_per_hour=2_000))
    assert sent == cdc.generate(cdc.Wanted(hours=1, changes_per_hour=2_000))
    times = [one["timestamp"] for one in sent]
    assert max(before - after for before, after in pairwise(times)) > 60_000
    seen: dict[str, list[dict[str, object]]] = {}
    for one in sent:
        changes = seen.setdefault(one["key"], [])
        # What a connector sends again, it sends as it was.
        if one["value"] not in changes:
            changes.append(one["value"])
    for changes in seen.values():
        assert [one["version"] for one in changes] == list(range(1, len(changes) + 1))
        assert all(
            (after["op"] == "c") == (before["op"] == "d") for before, after in pairwise(changes)
        )
    left = cdc.accounts_after(sent)
    assert set(left) == {key for key, of in seen.items() if of[-1]["op"] != "d"}
    assert 0 < len(left) < len(seen)


def test_changes_in_the_order_of_their_times_give_other_accounts() -> None:
    sent = cdc.generate(cdc.Wanted())
    of_offsets = list(enumerate(sent))
    of_times = sorted(of_offsets, key=lambda one: one[1]["timestamp"])
    assert accounts_of(of_offsets) == cdc.accounts_after(sent)
    assert accounts_of(of_times).keys() - cdc.accounts_after(sent).keys()


def accounts_of(records: list[tuple[int, cdc.Envelope]]) -> dict[str, dict[str, object]]:
    """Do what the example's sink does with records that come in this order, step by step."""
    rows: dict[str, tuple[int, dict[str, object]]] = {}
    steps: list[list[tuple[int, cdc.Envelope]]] = []
    for one in records:
        if not steps or one[1]["timestamp"] > steps[-1][0][1]["timestamp"] + MINUTE_MS:
            steps.append([])
        steps[-1].append(one)
    for step in steps:
        newest = {
            record["key"]: (offset, record["value"])
            for offset, record in sorted(step, key=itemgetter(0))
        }
        for key, (offset, value) in newest.items():
            if key in rows and rows[key][0] > offset:
                continue
            rows.pop(key, None)
            if value["op"] != "d":
                rows[key] = offset, value
    return {key: value for key, (_, value) in rows.items()}
