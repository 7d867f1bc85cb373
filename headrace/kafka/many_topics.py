"""The files that a file for many topics makes, by the topics that its cluster has now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.many_topics import files_of, one_of, report_same
from headrace.kafka.cluster import KafkaCluster

if TYPE_CHECKING:
    from headrace.config.kind_files import CheckedFile
    from headrace.config.workspace.workspace import Workspace


def files_now(
    checked: CheckedFile, topic: str | None, workspace: Workspace, region: str | None = None
) -> list[CheckedFile]:
    """Return the file for each topic there is, or for the one that is named; any other file alone.

    What is wrong with one topic is a problem of its file.
    """
    template = checked.template
    if template is None or topic is not None:
        return [one_of(checked, topic, region)]
    there = KafkaCluster(workspace.cluster(template.cluster(region))).topics()
    found = files_of(template, there.keys(), region)
    report_same(found)
    return found
