"""The records of a topic as they come, read as a consumer with `isolation.level=read_committed` does."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.ranges import RangeReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.config.workspace.workspace import Cluster
    from headrace.kafka.message import Message
    from headrace.signals import Drain

LOOKED_EVERY_S: Final = 0.5
END: Final = "end"
BEGINNING: Final = "beginning"


class Following:
    """A topic from a position on: `end`, `beginning`, or a time in milliseconds.

    Nothing is committed, and no consumer group is joined.
    """

    def __init__(self, cluster: Cluster, topic: str, begin: str | int) -> None:
        self._kafka = KafkaCluster(cluster)
        self._topic = topic
        spans = self._kafka.offsets(topic)
        if isinstance(begin, int):
            at = self._kafka.offsets_since(topic, begin)
            self._nexts = {number: at.get(number, span.stop) for number, span in spans.items()}
        elif begin == BEGINNING:
            self._nexts = {number: span.start for number, span in spans.items()}
        else:
            self._nexts = {number: span.stop for number, span in spans.items()}

    def runs(self, drain: Drain, *, once: bool) -> Iterator[Sequence[Message]]:
        """Yield runs of records, each of one partition, until asked to drain; or what is there now."""
        with contextlib.closing(RangeReader(self._kafka.properties)) as reader:
            while True:
                ranges = self._new()
                for _, messages in reader.chunks(self._topic, ranges):
                    yield messages
                    if drain.requested:
                        return
                if once or drain.wait(0 if ranges else LOOKED_EVERY_S):
                    return

    def _new(self) -> dict[int, range]:
        """Return what has come since, by partition; a new partition is read from its beginning."""
        found = {}
        for number, span in self._kafka.offsets(self._topic).items():
            # Retention may have taken what was not read yet; a topic that was re-created is shorter.
            begin = min(max(self._nexts.get(number, span.start), span.start), span.stop)
            if begin < span.stop:
                found[number] = range(begin, span.stop)
            self._nexts[number] = span.stop
        return found
