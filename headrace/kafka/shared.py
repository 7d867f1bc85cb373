"""What all jobs of a process share of a cluster: its clients, and the questions to it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.group_commits import GroupCommits
from headrace.kafka.log_clients import LogClients
from headrace.kafka.watch import ClusterWatch

if TYPE_CHECKING:
    from headrace.config.workspace.workspace import Cluster

# Hundreds of jobs that begin together ask for the list of topics once.
TOPICS_FOR_S: Final = 2.0


class SharedCluster:
    """The clients of one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.kafka = KafkaCluster(cluster, TOPICS_FOR_S)
        self.watch = ClusterWatch(self.kafka)
        self.logs = LogClients(self.kafka.properties)
        self.groups = GroupCommits(self.kafka)


class SharedClusters:
    """The clusters of a process. A cluster with changed settings counts as another one."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, tuple[tuple[str, str], ...]], SharedCluster] = {}
        self._lock = threading.Lock()

    def of(self, cluster: Cluster) -> SharedCluster:
        """Return what is shared of a cluster."""
        settings = tuple(sorted(cluster.client_properties().items()))
        key = cluster.name, cluster.bootstrap_servers, settings
        with self._lock:
            if key not in self._known:
                self._known[key] = SharedCluster(cluster)
            return self._known[key]
