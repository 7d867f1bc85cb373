"""Why a query ended, from the words of Spark."""

from __future__ import annotations

import pytest

from headrace.errors import Terminal, Transient
from headrace.streaming import explained

WORDS = "[STREAM_FAILED] Query [id = 1] terminated with exception: "


@pytest.mark.parametrize(
    ("said", "kind", "told", "advice"),
    [
        ("Python worker failed to connect back.", Transient, "ten seconds", "too much to do"),
        ("No space left on device", Terminal, "the disk is full", "free some space"),
        ("TimeoutException: no metadata", Transient, "Kafka does not answer", "start it again"),
        ("nobody knows this", Transient, "nobody knows this", "Spark log"),
    ],
)
def test_a_query_is_told_by_its_cause(
    said: str, kind: type[Terminal | Transient], told: str, advice: str
) -> None:
    found = explained("plays", RuntimeError(WORDS + said))
    assert isinstance(found, kind)
    assert found.message.startswith("plays stopped: ")
    assert told in found.message
    assert advice in (found.advice or "")
