"""What the replay's benchmarks read: the same rows in other files, and plays that follow."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

from benchmarks.bench_replay_join import (
    IMPRESSIONS_OF_A_PLAY,
    MINUTES,
    PLAY_FILES,
    impressions_of,
    inside_window,
    plays_in_files,
    plays_of,
)
from benchmarks.replay_tables import (
    FILES,
    FILES_IN_ONE,
    KAFKA_PARTITIONS,
    SPAN_US,
    START_US,
    events_of,
    joined,
)

EACH = 20
SEED = 5


def arrivals(table: pa.Table) -> list[int]:
    times = pa.compute.struct_field(table["__metadata__"], "kafka_ingestion_ts")
    found: list[int] = times.cast(pa.int64()).to_pylist()
    return found


def test_files_follow_each_other_over_the_whole_span_and_each_offset_is_there_once() -> None:
    files = [events_of(part, EACH, SEED) for part in range(FILES)]
    times = [time for file in files for time in arrivals(file)]
    assert times == sorted(times)
    assert times[0] == START_US
    assert START_US + SPAN_US - SPAN_US // (FILES * EACH) <= times[-1] < START_US + SPAN_US
    places = Counter(
        (row["partition"], row["offset"])
        for file in files
        for row in file["__metadata__"].to_pylist()
    )
    each = FILES * EACH // KAFKA_PARTITIONS
    assert places == Counter((p, o) for p in range(KAFKA_PARTITIONS) for o in range(each))


def test_a_compaction_loses_nothing_and_makes_files_wide() -> None:
    files = [events_of(part, EACH, SEED) for part in range(FILES)]
    wanted = Counter(event for file in files for event in file["event_id"].to_pylist())
    together = list(joined(list(files), SEED))
    assert len(together) == FILES // FILES_IN_ONE
    assert wanted == Counter(event for file in together for event in file["event_id"].to_pylist())
    widths = [max(found) - min(found) for found in map(arrivals, together)]
    assert min(widths) > SPAN_US // 4


def test_every_play_follows_its_impression_and_most_impressions_have_none() -> None:
    shown = pa.concat_tables([impressions_of(part, EACH) for part in range(FILES)])
    shown_us = dict(
        zip(shown["id"].to_pylist(), shown["at"].cast(pa.int64()).to_pylist(), strict=True)
    )
    plays = plays_of(EACH, SEED)
    after = [
        at - shown_us[number]
        for number, at in zip(
            plays["impression_id"].to_pylist(), plays["at"].to_pylist(), strict=True
        )
    ]
    assert all(0 <= one <= MINUTES * 60_000_000 for one in after)
    assert len(set(plays["impression_id"].to_pylist())) == plays.num_rows
    assert 0.8 < plays.num_rows * IMPRESSIONS_OF_A_PLAY / len(shown_us) <= 1
    files = list(plays_in_files(plays))
    assert len(files) == PLAY_FILES
    times = [time for file in files for time in arrivals(file)]
    assert times == sorted(times) == plays["arrived"].to_pylist()


def test_a_join_keeps_what_may_still_match() -> None:
    # 360 minutes: impressions of 30 + 31 minutes, plays of 31.
    assert inside_window(360, 0) == pytest.approx(61)
    assert inside_window(0, 360) == pytest.approx(31)
