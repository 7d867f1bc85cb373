"""A lake writer as a process of its own, and what is in its topic and its table, counted by hand."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlparse

import numpy as np
import psutil
import pyarrow.parquet as pq
from confluent_kafka import Consumer, TopicPartition

from headrace.embedded.process import wait_until
from headrace.iceberg.catalog import table_loader
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from headrace.config.workspace.workspace import Workspace

LAKE_WRITER = Path(sys.executable).parent / "lake-writer"
METADATA = ("__metadata__.partition", "__metadata__.offset")
AT_ONCE = 100_000
# What a record of the tests begins with, ahead of its number.
BEFORE_ID = b'{"id": '


class Writer:
    """`lake-writer start`, its words in a file."""

    def __init__(self, path: Path, root: Path, *more: str) -> None:
        self._said = root / f"said-{random.randrange(2**32)}"
        command = [str(LAKE_WRITER), "start", "-c", str(path), "--workspace", str(root), *more]
        with self._said.open("w") as said:
            self._process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True
            )

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave none behind where a test fails."""
        if not self.ended():
            self.kill()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def said(self) -> str:
        return self._said.read_text()

    def landed(self) -> int:
        return self.said.count("batch landed")

    def ended(self) -> bool:
        return self._process.poll() is not None

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait for something that comes about while it runs."""
        assert wait_until(lambda: condition() or self.ended(), LIMIT_S), self.said
        assert not self.ended(), self.said

    def end(self, limit_s: float = LIMIT_S) -> int:
        """Wait for it to end by itself."""
        return self._process.wait(limit_s)

    def stop(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        return self.end()

    def kill(self) -> None:
        """Kill it and its JVM, as a machine does that loses power."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(LIMIT_S)

    def kill_alone(self) -> list[psutil.Process]:
        """Kill it without a word to its JVM; returns what it had started."""
        started = psutil.Process(self.pid).children(recursive=True)
        self._process.kill()
        self._process.wait(LIMIT_S)
        return started


def audit(path: Path, root: Path) -> tuple[int, dict[str, object]]:
    """Ask `lake-writer audit`, as a user would."""
    command = [str(LAKE_WRITER), "audit", "-c", str(path), "--workspace", str(root), "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def in_files(workspace: Workspace, name: str) -> NDArray[np.int64]:
    """Return (partition, offset, id) of every row, read from the table's Parquet files, in order."""
    table = table_loader(workspace, f"lake.tv.{name}")()
    found = [np.empty((0, 3), np.int64)]
    for task in table.scan().plan_files():
        place = urlparse(task.file.file_path).path
        rows = pq.ParquetFile(place).read(["id", *METADATA])
        metadata = rows["__metadata__"].combine_chunks()
        columns = (metadata.field("partition"), metadata.field("offset"), rows["id"])
        found.append(np.stack([column.to_numpy().astype(np.int64) for column in columns], axis=1))
    return in_order(np.concatenate(found))


def in_topic(servers: str, topic: str) -> NDArray[np.int64]:
    """Return (partition, offset, id) of every record, read with a consumer of the test's own."""
    settings = {"bootstrap.servers": servers, "group.id": "proof", "enable.auto.commit": False}
    consumer = Consumer(settings)
    try:
        partitions = consumer.list_topics(topic, timeout=LIMIT_S).topics[topic].partitions
        places = [TopicPartition(topic, number, 0) for number in partitions]
        number = sum(consumer.get_watermark_offsets(place)[1] for place in places)
        consumer.assign(places)
        found: list[tuple[int, int, int]] = []
        while len(found) < number:
            for one in consumer.consume(min(AT_ONCE, number - len(found)), LIMIT_S):
                problem, value = one.error(), one.value() or b""
                assert problem is None, problem
                text = value.removeprefix(BEFORE_ID).partition(b",")[0]
                found.append((one.partition() or 0, one.offset() or 0, int(text)))
    finally:
        consumer.close()
    return in_order(np.array(found, np.int64))


def in_order(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return rows in the order of partition and offset; a doubled one is there twice."""
    return rows[np.lexsort((rows[:, 1], rows[:, 0]))]
