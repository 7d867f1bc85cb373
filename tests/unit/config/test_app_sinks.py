from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.config.workspaces import APP

if TYPE_CHECKING:
    from tests.unit.config.workspaces import Files

SINK = "sink: {type: iceberg, catalog: lake, database: playback, table: rmi_out, mode: append}"


@pytest.mark.parametrize(
    ("sink", "place", "told"),
    [
        ("mode: upsert}", "9:1", "mode upsert needs a key"),
        ("mode: replace}", "9:1", "mode replace needs a time_column"),
        ("mode: append, key: [a]}", "9:88", "key is for mode upsert, but the mode is append"),
        ("mode: replace, time_column: at, version: v}", "9:106", "version is for mode upsert"),
        ("mode: append, deleted: gone}", "9:88", "deleted is for mode upsert"),
        ("mode: upsrt}", "9:80", 'did you mean "upsert"'),
        ("partition_by: [dy(at)]}", "9:89", 'did you mean "day'),
    ],
)
def test_a_contradiction_in_the_sink_is_told_at_its_place(
    files: Files, sink: str, place: str, told: str
) -> None:
    files.spoil("apps/rmi.yaml", "mode: append}", sink)
    (problem,) = files.problems()
    assert told in problem
    assert f"rmi.yaml:{place}" in problem


@pytest.mark.parametrize(
    "sink",
    [
        "mode: upsert, key: [a, b], version: at, deleted: gone}",
        'mode: replace, time_column: at, partition_by: [day(at), "bucket(4, a)"]}',
        "time_column: at}",
    ],
)
def test_a_sound_sink_is_taken(files: Files, sink: str) -> None:
    assert SINK in APP
    files.spoil("apps/rmi.yaml", "mode: append}", sink)
    assert files.problems() == []
