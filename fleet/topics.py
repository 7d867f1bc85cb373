"""The topics that clusters have, asked for again every few seconds."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import structlog

from headrace.errors import HeadraceError
from headrace.kafka.cluster import KafkaCluster

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.config.workspace.workspace import Cluster

ASK_EVERY_S: Final = 2.0
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class TopicWatch:
    """Asks each cluster in a separate thread, so that a cluster that is away delays no other.

    A topic counts as gone when two answers in a row lack it. A broker that has just started may not
    know it yet.
    """

    _asked: dict[str, _Cluster] = field(default_factory=dict)

    def want(self, clusters: Mapping[str, Cluster]) -> None:
        """Ask these clusters from now on, and no others."""
        for name, one in list(self._asked.items()):
            if clusters.get(name) != one.cluster:
                one.ends.set()
                del self._asked[name]
        for name, cluster in clusters.items():
            if name not in self._asked:
                self._asked[name] = _Cluster(cluster)
                self._asked[name].start()

    def known(self) -> dict[str, frozenset[str] | None]:
        """Return the topics of each cluster; None as long as it has not answered."""
        return {name: one.topics for name, one in self._asked.items()}

    def wait(self, limit_s: float) -> bool:
        """Wait until each cluster has answered, or for this time; return whether any is asked."""
        until_s = time.monotonic() + limit_s
        for one in self._asked.values():
            one.answered.wait(max(0.0, until_s - time.monotonic()))
        return bool(self._asked)

    def close(self) -> None:
        """Stop asking, without waiting for answers."""
        self.want({})


@dataclass(slots=True)
class _Cluster:
    """A cluster that is asked. `topics` is replaced, never changed."""

    cluster: Cluster
    topics: frozenset[str] | None = None
    answered: threading.Event = field(default_factory=threading.Event)
    ends: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        threading.Thread(
            target=self._ask, name=f"topics of {self.cluster.name}", daemon=True
        ).start()

    def _ask(self) -> None:
        kafka: KafkaCluster | None = None
        missed: frozenset[str] = frozenset()
        is_away = False
        while not self.ends.is_set():
            try:
                kafka = kafka or KafkaCluster(self.cluster)
                now = frozenset(kafka.topics())
            except HeadraceError as problem:
                if not is_away:
                    log.warning(
                        "the topics of a cluster are not known",
                        cluster=self.cluster.name,
                        reason=problem.message,
                    )
                is_away = True
            except RuntimeError:
                # At the end of the process its clients are closed.
                return
            else:
                gone = (self.topics or now) - now
                found = now | (gone - missed)
                if found != self.topics:
                    self.topics = found
                missed, is_away = gone, False
                self.answered.set()
            self.ends.wait(ASK_EVERY_S)
