"""Which topics a checkpoint is of, as the run before it has kept them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.errors import Terminal
from stream_app.topics import store_topic_ids, stored_topic_ids

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    place = tmp_path / "checkpoint"
    place.mkdir()
    return place


def test_topics_that_come_later_are_kept_beside_those_of_the_start(checkpoint: Path) -> None:
    store_topic_ids(checkpoint, {"c/plays": "1"})
    store_topic_ids(checkpoint, {"c/plays": "1", "c/shown": "2"})
    assert stored_topic_ids(checkpoint) == {"c/plays": "1", "c/shown": "2"}
    # Whole or not at all: nothing else is left.
    assert [one.name for one in checkpoint.parent.iterdir() if one.is_file()] == ["topics.json"]


def test_a_topic_that_was_made_anew_is_refused_and_the_old_id_stays(checkpoint: Path) -> None:
    store_topic_ids(checkpoint, {"c/plays": "1"})
    with pytest.raises(Terminal, match="topic c/plays was deleted and re-created"):
        store_topic_ids(checkpoint, {"c/plays": "2"})
    assert stored_topic_ids(checkpoint) == {"c/plays": "1"}


def test_a_checkpoint_that_begins_anew_knows_no_topic(checkpoint: Path) -> None:
    store_topic_ids(checkpoint, {"c/plays": "1"})
    checkpoint.rmdir()
    store_topic_ids(checkpoint, {"c/plays": "2"})
    checkpoint.mkdir()
    assert stored_topic_ids(checkpoint) == {"c/plays": "2"}
