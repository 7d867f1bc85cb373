"""The end of a ledger's holder, where the cluster is away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.config.workspace.workspace import Cluster
from headrace.errors import Transient
from headrace.kafka.log_topic import LogTopic
from headrace.kafka.shared import SharedCluster
from router.ledger.topic import LedgerTopic

if TYPE_CHECKING:
    from collections.abc import Sequence

AWAY = Cluster("here", "127.0.0.1:1", None, {})


def ledger_with_a_session(shared: SharedCluster, stream: str) -> LedgerTopic:
    found = LedgerTopic(shared.kafka, stream, shared)
    found._sessions.add("a-session")  # noqa: SLF001 - as a claim leaves it
    return found


def test_many_that_end_do_not_wait_one_by_one_for_a_cluster_that_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared = SharedCluster(AWAY)
    ended: list[str] = []

    def write(
        self: LogTopic, records: Sequence[tuple[str, str | None]], limit_s: float = 0.0
    ) -> list[int]:
        assert limit_s > 0
        ended.append(self.topic)
        return list(range(len(records)))

    with pytest.raises(Transient, match="no acknowledgement"):
        shared.logs.write("headrace.first.ledger", 0, [("key", "value")], 0.1)
    monkeypatch.setattr(LogTopic, "write", write)
    ledger_with_a_session(shared, "second").close()
    assert ended == []
    # Since then it has answered.
    shared.logs.is_silent = False
    ledger_with_a_session(shared, "third").close()
    assert ended == ["headrace.third.ledger"]
