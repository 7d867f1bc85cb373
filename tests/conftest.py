"""What many tests share: one broker and one Spark session for the whole run."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from headrace.config.load import load_workspace
from headrace.embedded.broker import Broker, BrokerOptions
from tests.registry_server import RegistryServer
from tests.search_nodes import SearchNode
from tests.short_lived import JAVA_OPTIONS, SPARK_CONF
from tests.side_by_side import Rooms, longest_first, processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession
    from xdist.remote import Producer

    from headrace.config.workspace.workspace import Workspace

HEADRACE_YAML = """\
clusters:
  fronting: {{bootstrap_servers: "{bootstrap}", region: us-east-1}}
  consumer: {{bootstrap_servers: "{bootstrap}"}}
  nowhere: {{bootstrap_servers: "127.0.0.1:1"}}
catalogs:
  lake: {{type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}}
spark: {{master: "local[2]", conf: {{spark.driver.memory: 1g, {short_lived}}}}}
"""

_numbers = itertools.count()

# How long an example takes says how busy the machine is, and no more.
settings.register_profile("headrace", deadline=None)
settings.load_profile("headrace")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """As many as `-n auto` is to mean."""
    return processes()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Rooms | None:
    """Give whole files to processes, and with `--dist loadfile` those that share much together."""
    return Rooms(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long."""
    longest_first(items)


def headrace_yaml(broker: Broker) -> str:
    """Return the headrace.yaml of a workspace over the shared broker."""
    return HEADRACE_YAML.format(bootstrap=broker.bootstrap_servers, short_lived=SPARK_CONF)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A real broker, one for the whole run."""
    with Broker(
        tmp_path_factory.mktemp("broker"), BrokerOptions(heap_mb=384, java_options=JAVA_OPTIONS)
    ) as running:
        yield running


@pytest.fixture(scope="session")
def search_node() -> Iterator[SearchNode]:
    """A real OpenSearch node, one for the whole run."""
    with SearchNode() as running:
        yield running


@pytest.fixture(scope="session")
def make_workspace(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Make a folder with a headrace.yaml that names the broker and a catalog of its own."""

    def make() -> Path:
        root = tmp_path_factory.mktemp("workspace")
        text = headrace_yaml(broker)
        (root / "headrace.yaml").write_text(text, encoding="utf-8")
        return root

    return make


@pytest.fixture(scope="session")
def workspace(make_workspace: Callable[[], Path]) -> Workspace:
    """The workspace of the shared Spark session."""
    return load_workspace(make_workspace())


@pytest.fixture(scope="session")
def spark(workspace: Workspace) -> Iterator[SparkSession]:
    """The Spark session, one for the whole run, with the catalog `lake`."""
    from headrace.spark import start_session

    running = start_session(workspace, "tests")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def lake_catalog(workspace: Workspace) -> Catalog:
    """The catalog `lake` as pyiceberg sees it, on the same SQLite file as Spark's."""
    from headrace.iceberg.catalog import open_catalog

    return open_catalog(workspace.catalog("lake"))


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Name a topic or a table that no other test uses."""
    return lambda name: f"{name}_{next(_numbers)}"


@pytest.fixture
def registry_server() -> Iterator[RegistryServer]:
    """A schema registry of the test's own."""
    # Ids of its own: a later one may be given the same port, and a client knows its ids by that.
    with RegistryServer(first_id=1 + 1000 * next(_numbers)) as running:
        yield running
