"""What a task has to know of a live source: everything looked up, nothing left to ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.contract import with_metadata
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.quarantine import quarantine_way
from headrace.records.values import values_of
from headrace.schema.arrow import for_spark, to_arrow

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pyarrow as pa

    from headrace.config.app import KafkaTopics
    from headrace.config.workspace import Cluster, Workspace
    from headrace.kafka.bulk import Way
    from headrace.records.ahead import Ahead
    from headrace.records.values import Values
    from headrace.schema.model import Record


@dataclass(frozen=True, slots=True)
class LivePlan:
    """One live source of an application. `quarantines` has a topic and the way to it, by topic.

    `reader` is what its bad records say that they were met by, `folder` where tasks keep how many
    they met.
    """

    reader: str
    topics: tuple[str, ...]
    properties: Mapping[str, str]
    region: str | None
    values: Values
    quarantines: Mapping[str, tuple[str, Way]]
    folder: Path
    ahead: Ahead | None

    def __repr__(self) -> str:
        # Properties may hold a password.
        return f"LivePlan({self.reader})"

    @property
    def columns(self) -> pa.Schema:
        """The columns that Spark is given."""
        return for_spark(to_arrow(with_metadata(self.values.schema)))


def live_plan(  # noqa: PLR0913, PLR0917 - what a source is, and whose
    workspace: Workspace,
    source: KafkaTopics,
    schema: Record | None,
    reader: str,
    folder: Path,
    ahead: Ahead | None,
) -> LivePlan:
    """Return the plan of a source; its quarantines are made where they are missing."""
    cluster = workspace.cluster(source.cluster)
    return LivePlan(
        reader=reader,
        topics=source.topics,
        properties=cluster.client_properties(),
        region=cluster.region,
        values=values_of(workspace, source, schema, source.hygiene, reader),
        quarantines=_quarantines(workspace, cluster, source, ahead),
        folder=folder,
        ahead=ahead,
    )


def _quarantines(
    workspace: Workspace, cluster: Cluster, source: KafkaTopics, ahead: Ahead | None
) -> dict[str, tuple[str, Way]]:
    fates = {source.hygiene.on_bad_record, source.hygiene.tombstones, ahead and ahead.action}
    if "quarantine" not in fates:
        return {}
    kafka, named = KafkaCluster(cluster), source.hygiene.quarantine
    target = cluster if named is None else workspace.cluster(named.cluster)
    return {
        topic: quarantine_way(
            target,
            f"{topic}.quarantine" if named is None else named.topic,
            kafka.settings(topic),
        )
        for topic in source.topics
    }
