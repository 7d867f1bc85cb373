"""Three brokers for the tests of this folder that need more than one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.config.load import load_workspace
from tests.broker_cluster import BrokerCluster
from tests.integration.pipelines import Pipelines

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADRACE_YAML = """\
clusters:
  fronting: {{bootstrap_servers: "{bootstrap}", properties: {{client.rack: b}}}}
  consumer: {{bootstrap_servers: "{bootstrap}"}}
catalogs:
  lake: {{type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}}
"""


@pytest.fixture(scope="package")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerCluster]:
    """Three brokers, all of them alive before and after a test."""
    with BrokerCluster(tmp_path_factory.mktemp("brokers")) as running:
        yield running


@pytest.fixture(scope="package")
def three(brokers: BrokerCluster, tmp_path_factory: pytest.TempPathFactory) -> Pipelines:
    """Streams and tables over the three brokers, read from whichever is in the rack b."""
    root = tmp_path_factory.mktemp("three")
    text = HEADRACE_YAML.format(bootstrap=brokers.bootstrap_servers)
    (root / "headrace.yaml").write_text(text, encoding="utf-8")
    return Pipelines(load_workspace(root))
