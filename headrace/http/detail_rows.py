"""What the pages of one stream, table or application tell beyond the API's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003 - the OpenAPI document is made by the types
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DeclaredRow:
    """A file of the workspace: what it reads, and where its records go.

    Locations are `kafka:CLUSTER/TOPIC`, `iceberg:TABLE`, `search:INDEX` and `stream:NAME`.
    `targets` of a stream are in the order of its outputs.
    """

    kind: str
    name: str
    file: str
    sources: Sequence[str] = ()
    targets: Sequence[str] = ()
    outputs: Sequence[str] = ()
    quarantine: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class LedgerPartition:
    """What became of one partition's records for one output, from the first on.

    `end` is the topic's next offset, None where it is not known. `absent` offsets held no record.
    `lost_offsets` names the offsets that the topic no longer had, and those that hold other records.
    """

    partition: int
    began: int
    position: int
    end: int | None
    read: int
    written: int
    filtered: int
    quarantined: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    lost: int = 0
    absent: int = 0
    lost_offsets: Sequence[str] = ()
    last_batch: str | None = None

    @property
    def lag(self) -> int | None:
        """How many offsets are behind the position."""
        return None if self.end is None else max(0, self.end - self.position)

    @property
    def missing(self) -> int:
        """How many of the records that were read are not accounted for."""
        accounted = self.written + self.filtered + sum(self.dropped.values()) + self.quarantined
        return self.read - accounted

    @property
    def adds_up(self) -> bool:
        """Whether both sums do: of the offsets, and of the records."""
        is_whole = self.position - self.began == self.read + self.absent + self.lost
        return self.missing == 0 and self.absent >= 0 and is_whole


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """The ledger of an output, or of the quarantine."""

    output: str
    partitions: Sequence[LedgerPartition] = ()

    @property
    def total(self) -> LedgerPartition:
        """All partitions together; the sums stand for offsets, and for no place in a topic."""
        own = self.partitions
        dropped: dict[str, int] = {}
        for one in own:
            for reason, number in one.dropped.items():
                dropped[reason] = dropped.get(reason, 0) + number
        ends = [one.end for one in own]
        known = [one for one in ends if one is not None]
        return LedgerPartition(
            -1,
            sum(one.began for one in own),
            sum(one.position for one in own),
            sum(known) if len(known) == len(ends) else None,
            sum(one.read for one in own),
            sum(one.written for one in own),
            sum(one.filtered for one in own),
            sum(one.quarantined for one in own),
            dropped,
            sum(one.lost for one in own),
            sum(one.absent for one in own),
            last_batch=max((one.last_batch for one in own if one.last_batch), default=None),
        )

    @property
    def adds_up(self) -> bool:
        """Whether every partition does."""
        return all(one.adds_up for one in self.partitions)


@dataclass(frozen=True, slots=True)
class LedgerBatch:
    """What a batch did, all partitions together; `lost` offsets were gone before they were read."""

    batch: int
    at: str
    read: int
    written: int
    filtered: int
    dropped: int
    quarantined: int
    lost: int = 0


@dataclass(frozen=True, slots=True)
class LedgerHistory:
    """The batches of an output that its ledger still names, the newest last.

    Kafka compacts a ledger: of older batches only the sums stay. `is_cut` says that there are more,
    and that a page reads no further back.
    """

    output: str
    batches: Sequence[LedgerBatch] = ()
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class LinkRow:
    """Where another tool shows something: what it is (topic, table, dashboard, Spark UI), and its name."""

    what: str
    name: str
    url: str


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting that something runs with, and where its value comes from; secrets are `***`."""

    key: str
    value: object
    origin: str
