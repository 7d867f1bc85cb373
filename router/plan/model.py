"""What a task has to know of a stream: everything looked up, nothing left to ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.contract import QUARANTINE
from headrace.expressions.compiled.compiler import NotCompiled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.config.stream.sinks import Origin, TableSink
    from headrace.expressions.projection import Projected
    from headrace.kafka.bulk import ProducerSettings
    from headrace.records.hygiene.rules import HygieneRules
    from headrace.registry.address import RegistryAddress
    from headrace.schema.model import Record
    from router.ledger.claims import Claim


@dataclass(frozen=True, slots=True)
class Source:
    """The topic to read, and how its records are read."""

    cluster: str
    topic: str
    properties: Mapping[str, str]
    region: str | None
    format: Literal["json", "avro", "raw"]
    schema: Record
    registry: RegistryAddress | None

    def __repr__(self) -> str:
        # Properties may hold a password.
        return f"Source({self.cluster}/{self.topic})"


@dataclass(frozen=True, slots=True)
class Registered:
    """Where the schema of what is written is kept; without a known one it is made of the columns."""

    address: RegistryAddress
    subject: str
    known: Record | None


@dataclass(frozen=True, slots=True)
class ToTopic:
    """Records to a topic.

    With `claim` it is written in transactions. `producer`, `claim` and `avro` (the schema that values are written with, and its id) are looked up when the
    query starts: a cluster or a registry that is away holds up nobody else.
    """

    cluster: str
    topic: str
    format: Literal["json", "avro", "raw"]
    key_column: str | None
    compression: str
    origin: Origin = "header"
    is_exactly_once: bool = True
    registered: Registered | None = None
    producer: ProducerSettings | None = None
    claim: Claim | None = None
    avro: tuple[Record, int] | None = None


@dataclass(frozen=True, slots=True)
class ToSearch:
    """Documents to an index. By default an id is made of the record's position.

    `ca` are certificates (PEM), and not the file that they are in, which tasks may not have.
    `topic_id` is the source's, looked up when the query starts if documents are to have versions.
    """

    url: str
    index: str
    key_column: str | None
    batch_rows: int
    api_key: str | None = None
    ca: str | None = None
    topic_id: str | None = None

    def __repr__(self) -> str:
        # The address may hold a password, and the key is one.
        return f"ToSearch({self.index})"


@dataclass(frozen=True, slots=True)
class ToTable:
    """Rows to an Iceberg table of the workspace."""

    sink: TableSink


Target: TypeAlias = ToTopic | ToSearch | ToTable


@dataclass(frozen=True, slots=True)
class Outlet:
    """One output: which records, which columns of them, where to.

    `by_spark` is a setting under which expressions mean something else, so that Spark itself has
    to evaluate them; None where there is none.
    """

    name: str
    filter: str | None
    columns: tuple[Projected, ...]
    target: Target
    by_spark: str | None = None

    @property
    def has_origin(self) -> bool:
        """Whether its records say where they came from; the id of a document may be made of it."""
        return not isinstance(self.target, ToTopic) or self.target.origin == "header"

    @property
    def sent_to(self) -> str:
        """The name under which its target's client sends: a topic, an index, a table."""
        match self.target:
            case ToTopic():
                return self.target.topic
            case ToSearch():
                return self.target.index
            case ToTable():
                return self.target.sink.table


@dataclass(frozen=True, slots=True)
class RoutePlan:
    """A stream as its tasks work on it. `id` tells one plan from another within a process.

    `needs_time` says that one of the stream's outputs is a table, here or in another query: a
    record without a timestamp is a bad one then, for all of the stream.
    """

    id: str
    stream: str
    source: Source
    hygiene: HygieneRules
    quarantine: ToTopic | None
    outlets: tuple[Outlet, ...]
    needs_time: bool

    def held_as(self, member: str) -> str:
        """Return a member's name in its ledger: with its target, as its position says what that has."""
        if member == QUARANTINE:
            return f"{member} > {'' if self.quarantine is None else self.quarantine.topic}"
        return next(f"{member} > {one.sent_to}" for one in self.outlets if one.name == member)


def left_to_spark(outlet: Outlet) -> NotCompiled | None:
    """Return why none of an output's expressions is compiled, where a setting is the reason."""
    if outlet.by_spark is None:
        return None
    return NotCompiled(f"{outlet.by_spark} is set, which changes what expressions mean")
