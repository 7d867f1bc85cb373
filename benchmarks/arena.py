"""What all competitors of a run share: one broker, one loaded topic, one loaded table."""

from __future__ import annotations

import itertools
import re
import shutil
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from confluent_kafka import KafkaException

from benchmarks.events import AVRO_SCHEMA, generate
from headrace.config.workspace.workspace import Cluster
from headrace.embedded.broker import Broker, BrokerOptions
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord, Sender

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

PARTITIONS = 4
BROKER_HEAP_MB = 512
REPORT_EVERY = 500_000
RAW_TOPIC = "playback_raw"

HEADRACE_YAML = """\
clusters:
  here: {{bootstrap_servers: "{bootstrap}"}}
catalogs:
  lake: {{type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}}
"""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The topic that all read."""

    topic: str
    rows: int
    passing: int
    value_bytes: int


class Arena:
    """A broker over a temporary folder; started by `with`, stopped and removed at its end."""

    def __init__(self, events: int, seed: int, limit_s: float, say: Callable[[str], None]) -> None:
        self.events = events
        self.seed = seed
        self.limit_s = limit_s
        self.say = say
        self._stack = ExitStack()
        self._numbers = itertools.count()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.root = Path(tempfile.mkdtemp(prefix="headrace-benchmarks-"))
            stack.callback(shutil.rmtree, self.root, ignore_errors=True)
            self.say("starting a broker")
            options = BrokerOptions(heap_mb=BROKER_HEAP_MB, partitions=PARTITIONS)
            self.broker = stack.enter_context(Broker(self.root / "broker", options))
            self._stack = stack.pop_all()
        self.cluster = Cluster("here", self.broker.bootstrap_servers, None, {})
        self.kafka = KafkaCluster(self.cluster)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def bootstrap_servers(self) -> str:
        """Where the broker answers."""
        return self.broker.bootstrap_servers

    @cached_property
    def loaded(self) -> Loaded:
        """The topic of events, loaded when it is first asked for."""
        self.say(f"loading {self.events:,} events")
        self.kafka.ensure_topic(RAW_TOPIC, PARTITIONS)
        sender = Sender(self.cluster, RAW_TOPIC)
        passing = value_bytes = 0
        for number, event in enumerate(generate(self.events, self.seed), 1):
            sender.send(KafkaRecord(event.value, event.key, timestamp_ms=event.timestamp_ms))
            passing += event.passes
            value_bytes += len(event.value)
            if number % REPORT_EVERY == 0:
                self.say(f"  {number:,} sent")
        return Loaded(RAW_TOPIC, sender.close(), passing, value_bytes)

    @property
    def value_bytes(self) -> int:
        """How much of them has been sent: nothing where no competitor reads the topic."""
        return self.loaded.value_bytes if "loaded" in self.__dict__ else 0

    def drop_topics(self, *topics: str) -> None:
        """Delete those of the topics that are there, so that rounds do not fill the disk."""
        for topic in set(topics) & self.kafka.topics().keys():
            try:
                self.kafka.delete_topic(topic)
            except KafkaException as problem:
                self.say(f"  topic {topic} stays: {problem}")

    def new_folder(self, name: str) -> Path:
        """Make a folder that nobody used before."""
        # Topics are named after it, which take few characters.
        plain = re.sub("[^A-Za-z0-9]+", "-", name)
        folder = self.root / f"{next(self._numbers):03d}-{plain}"
        folder.mkdir()
        return folder

    def new_workspace(self, folder: Path) -> Path:
        """Make a workspace of headrace in a folder: this broker, a catalog of its own."""
        text = HEADRACE_YAML.format(bootstrap=self.bootstrap_servers)
        (folder / "headrace.yaml").write_text(text, encoding="utf-8")
        (folder / "event.avsc").write_text(AVRO_SCHEMA, encoding="utf-8")
        return folder


def use_master(workspace: Path, master: str) -> None:
    """Let the commands of a workspace run on a cluster."""
    with (workspace / "headrace.yaml").open("a", encoding="utf-8") as file:
        file.write(f'spark: {{master: "{master}"}}\n')


def console_script(name: str) -> str:
    """Return one of our console scripts, the one beside the Python that runs this."""
    return str(Path(sys.executable).with_name(name))
