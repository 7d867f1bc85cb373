"""Watching a topic fill: when its first record is there, and when the last one is."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # its stubs forget OffsetSpec

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    # How many offsets of a topic are taken, as readers of this isolation see it.
    Count = Callable[[IsolationLevel], int]

LOOK_EVERY_S = 0.1
ANSWER_LIMIT_S = 20.0


@dataclass(frozen=True, slots=True)
class Output:
    """What a competitor has to write, and where."""

    topic: str
    partitions: int
    records: int


class OutputWatch:
    """Counts inside `with`, and writes a line to a file at the first record and one at the last.

    Records of open transactions count as a beginning but not as an end: they may yet be aborted.
    """

    def __init__(self, count: Count, records: int, file: Path) -> None:
        self._count = count
        self._records = records
        self._file = file
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        # How many records were there when there were first seen to be any.
        self.first_count = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self.first_count:
            if self._ended.wait(LOOK_EVERY_S):
                return
            self.first_count = self._count(IsolationLevel.READ_UNCOMMITTED)
        self._write("first output")
        while self._count(IsolationLevel.READ_COMMITTED) < self._records:
            if self._ended.wait(LOOK_EVERY_S):
                return
        self._write("all output")

    def _write(self, line: str) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def counter(bootstrap_servers: str, output: Output) -> Count:
    """Return what counts a topic by its offsets; the few that end transactions are among them."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    spec = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # its module has no types
    asked = {TopicPartition(output.topic, number): spec for number in range(output.partitions)}

    def count(isolation: IsolationLevel) -> int:
        answers = admin.list_offsets(
            asked, isolation_level=isolation, request_timeout=ANSWER_LIMIT_S
        )
        try:
            return sum(answer.result().offset for answer in answers.values())
        except KafkaException:
            # A broker that was too busy to answer is asked again.
            return 0

    return count
