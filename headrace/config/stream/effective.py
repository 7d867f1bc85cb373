"""A stream as one deployment runs it: the file, what the deployment changes, and the defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from headrace.errors import UsageError
from headrace.problems import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.config.common.overrides import Override, Resources
    from headrace.config.load import LoadedStream
    from headrace.config.stream.file import Stream
    from headrace.config.workspace.workspace import Workspace

MIB: Final = 2**20


@dataclass(frozen=True, slots=True)
class Effective:
    """What a router runs.

    `deployment` is the override that was applied, `region` goes with records that carry none,
    `spark_conf` is the workspace's with the deployment's on top.
    """

    config: Stream
    stream: LoadedStream
    deployment: str | None
    region: str | None
    spark_conf: Mapping[str, str] = field(repr=False)

    @property
    def override(self) -> Override | None:
        """What the deployment changes, None where the file is run as it is."""
        return None if self.deployment is None else self.stream.config.overrides[self.deployment]


def effective(stream: LoadedStream, workspace: Workspace, region: str | None) -> Effective:
    """Return the stream as the deployment of that name runs it, and as the file says without one.

    A name that is only the region of the source's cluster changes nothing: it asks for what is.
    """
    deployment = _deployment(stream.config, workspace, region)
    override = None if deployment is None else stream.config.overrides[deployment]
    config = stream.config if override is None else _with(stream.config, override)
    cluster = workspace.cluster(config.source.cluster)
    own_region = override.region if override else None
    conf = dict(workspace.spark.conf)
    if override is not None:
        conf |= resource_settings(override.resources, workspace.spark.master)
        conf |= override.spark.conf
    return Effective(_filled_in(config), stream, deployment, own_region or cluster.region, conf)


def resource_settings(resources: Resources, master: str) -> dict[str, str]:
    """Return the Spark settings that memory and cores stand for.

    Locally the driver does all the work; on a cluster they are an executor's.
    """
    is_local = master.startswith("local")
    settings: dict[str, str] = {}
    if resources.memory is not None:
        process = "driver" if is_local else "executor"
        settings[f"spark.{process}.memory"] = f"{max(resources.memory // MIB, 1)}m"
    if resources.cores is not None:
        cores = str(resources.cores)
        settings |= (
            {"spark.master": f"local[{cores}]"} if is_local else {"spark.executor.cores": cores}
        )
    return settings


def _deployment(config: Stream, workspace: Workspace, region: str | None) -> str | None:
    if region is None or region in config.overrides:
        return region
    if workspace.cluster(config.source.cluster).region == region:
        return None
    there = [cluster.name for cluster in workspace.clusters.values() if cluster.region == region]
    if there:
        raise UsageError(
            f"stream {config.name} does not read a cluster of region {region}",
            f"add overrides.{region}: {{source: {{cluster: {there[0]}}}}} to its file",
        )
    regions = [cluster.region for cluster in workspace.clusters.values() if cluster.region]
    known = sorted({*config.overrides, *regions})
    raise UsageError(
        f"stream {config.name} has no deployment {region}, and no cluster is in such a region",
        did_you_mean(region, known) or f"add overrides.{region} to its file",
    )


def _with(config: Stream, override: Override) -> Stream:
    """Return the stream with what the deployment changes."""
    changes = override.source.model_dump(exclude_none=True)
    whole: dict[str, object] = {"source": config.source.model_copy(update=changes)}
    if override.trigger is not None:
        whole["trigger"] = override.trigger
    return config.model_copy(update=whole)


def _filled_in(config: Stream) -> Stream:
    """Return the stream with the defaults that depend on its source."""
    start = config.source.starting_offsets
    outputs = tuple(
        output.model_copy(update={"starting_offsets": output.starting_offsets or start})
        for output in config.outputs
    )
    hygiene = config.hygiene.model_copy(update={"quarantine": config.quarantine})
    return config.model_copy(update={"outputs": outputs, "hygiene": hygiene})
