"""The files of a workspace. A file for many topics is there once for each topic that exists now."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from fleet.parallel import ask_all
from headrace.config.load import load_workspace
from headrace.config.many_topics import Expansion, clusters_of, expand
from headrace.errors import BadConfig, HeadraceError
from headrace.kafka.cluster import KafkaCluster

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from headrace.config.kind_files import CheckedFile
    from headrace.config.workspace.workspace import Workspace

# The client of a cluster gives up a little earlier, and gives the reason.
LIMIT_S: Final = 12.0


@dataclass(frozen=True, slots=True)
class Expanded:
    """The files for each topic, and the reasons why clusters did not answer."""

    found: Expansion
    away: Mapping[str, HeadraceError]

    def why(self, checked: CheckedFile) -> str:
        """Return why the topics of a file are not known."""
        template = checked.template
        problem = None if template is None else self.away.get(template.cluster(None))
        return "headrace.yaml is broken" if problem is None else problem.message


def expanded(root: Path, files: Sequence[CheckedFile]) -> Expanded:
    """Ask all clusters of files for many topics at once."""
    try:
        workspace = load_workspace(root)
    except BadConfig:
        return Expanded(expand(files, {}), {})
    names = sorted(clusters_of(files) & workspace.clusters.keys())
    answers = ask_all({name: partial(_topics, workspace, name) for name in names}, LIMIT_S)
    away = {name: one for name, one in answers.items() if isinstance(one, HeadraceError)}
    topics = {name: one for name, one in answers.items() if not isinstance(one, HeadraceError)}
    return Expanded(expand(files, topics), away)


def _topics(workspace: Workspace, cluster: str) -> frozenset[str]:
    return frozenset(KafkaCluster(workspace.cluster(cluster)).topics())
