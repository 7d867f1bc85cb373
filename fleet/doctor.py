"""`headrace doctor`: whether all that the workspace needs is there, and if not, why not."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fleet.parallel import ask_all
from headrace.config.app.file import App, KafkaTopics
from headrace.config.kind_files import check_file
from headrace.config.lake_table.file import LakeTable
from headrace.config.load import known_names
from headrace.config.stream.file import Stream
from headrace.config.stream.sinks import SearchSink, TopicSink
from headrace.config.validate import kind_files
from headrace.errors import HeadraceError, Terminal, Transient
from headrace.iceberg.catalog import open_catalog
from headrace.jars.cache import missing
from headrace.jars.java import java_and_banner, major_version
from headrace.jars.lock import locked
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.log_topic import PARTITION, LogTopic
from headrace.problems import counted
from headrace.registry.client import shared
from headrace.spark import needed_jar_sets
from router.ledger.topic import ledger_topic
from router.tasks.search_node import SearchNode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.config.common.model import Model
    from headrace.config.common.registries import RegistryConfig
    from headrace.config.kind_files import CheckedFile
    from headrace.config.workspace.workspace import Catalog, Cluster, Workspace
    from headrace.registry.address import RegistryAddress

# A cluster's own client gives up a little earlier, and says why.
LIMIT_S: Final = 12.0
SEARCH_LIMIT_S: Final = 8.0
LEAST_FREE_BYTES: Final = 2**30
# Records of the brokers' clock further ahead than this are from a clock that ours does not follow.
CLOCK_SLACK_S: Final = 5.0
NEWEST: Final = 10
REFUSED: Final = {401, 403}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at, and what was found."""

    what: str
    name: str
    detail: str
    advice: str = ""
    ok: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Return the facts for `-o json`."""
        return {
            "check": self.what,
            "name": self.name or None,
            "ok": self.ok,
            "detail": self.detail,
            "advice": self.advice or None,
        }

    def as_text(self) -> str:
        """Return a line for a person, and what to do in another."""
        what = " ".join(one for one in (self.what, self.name) if one)
        line = f"{'ok' if self.ok else 'FAILED':<6}  {what}: {self.detail}"
        return f"{line}\n        → {self.advice}" if self.advice else line


def examine(workspace: Workspace) -> list[Finding]:
    """Look at everything at once; each thing has its limit."""
    checks = dict(_checks(workspace))
    answers = ask_all(checks, LIMIT_S, at_most=len(checks))
    return [_finding(what, name, answer) for (what, name), answer in answers.items()]


def _finding(what: str, name: str, answer: str | HeadraceError) -> Finding:
    if isinstance(answer, HeadraceError):
        return Finding(what, name, answer.message, answer.advice, ok=False)
    return Finding(what, name, answer)


def _checks(workspace: Workspace) -> Iterator[tuple[tuple[str, str], Callable[[], str]]]:
    known = known_names(workspace)
    files = [check_file(path, known) for path in kind_files(workspace.root)]
    yield ("files", ""), partial(_files, files)
    yield ("java", ""), _java
    yield ("jars", ""), partial(_jars, workspace)
    yield ("disk", ""), partial(_disk, workspace)
    streams = [one.config.name for one in files if isinstance(one.config, Stream)]
    for cluster in workspace.clusters.values():
        yield ("cluster", cluster.name), partial(_cluster, cluster, streams)
    for catalog in workspace.catalogs.values():
        yield ("catalog", catalog.name), partial(_catalog, catalog)
    for names, address in _registries(files).items():
        yield ("registry", names), partial(_registry, address)
    for name, node in _search_nodes(files).items():
        yield ("search node", name), partial(_search, node)


def _files(files: Sequence[CheckedFile]) -> str:
    broken = [one for one in files if one.document.problems]
    if broken:
        problems = sum(len(set(one.document.problems)) for one in broken)
        raise Terminal(
            f"{counted(problems, 'problem')} in {counted(len(broken), 'file')}",
            "headrace validate names them; what these files need is not looked at",
        )
    return f"{counted(len(files), 'file')} without a problem"


def _java() -> str:
    path, banner = java_and_banner()
    return f"Java {major_version(banner)} at {path}"


def _jars(workspace: Workspace) -> str:
    needed = needed_jar_sets(workspace)
    absent = [jar for jar_set in needed for jar in missing(jar_set)]
    if absent:
        raise Terminal(
            f"{counted(len(absent), 'jar')} not in the cache, {absent[0].file_name} among them",
            "headrace jars fetch",
        )
    return f"{sum(len(locked(one)) for one in needed)} jars, checked by hash"


def _disk(workspace: Workspace) -> str:
    folder = workspace.state_dir
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    said = f"{free / 2**30:,.1f} GiB free for state_dir"
    if free < LEAST_FREE_BYTES:
        raise Terminal(said, "free some space: Spark and the checkpoints need at least 1 GiB")
    return said


def _cluster(cluster: Cluster, streams: Sequence[str]) -> str:
    kafka = KafkaCluster(cluster)
    topics = kafka.topics()
    ledgers = [name for name in map(ledger_topic, streams) if name in topics]
    said = f"reached at {cluster.bootstrap_servers}, {counted(len(topics), 'topic')}"
    behind_s = max((_behind_s(kafka, name) for name in ledgers), default=None)
    if behind_s is None:
        return said
    if behind_s > CLOCK_SLACK_S:
        raise Terminal(
            f"this machine's clock is {behind_s:,.0f} s or more behind the brokers' clock",
            "set it by NTP: times in tables and ledgers go by it",
        )
    return f"{said}, clocks compared"


def _behind_s(kafka: KafkaCluster, ledger: str) -> float:
    """Return how far our clock is behind at least: records of ledgers have the brokers' time."""
    log = LogTopic(kafka.properties, ledger)
    try:
        end = kafka.offsets(ledger)[PARTITION].stop
        times_ms = [one.timestamp()[1] for one in log.read(max(0, end - NEWEST))]
    finally:
        log.close()
    return max(times_ms, default=0) / 1000 - time.time()


def _catalog(catalog: Catalog) -> str:
    opened = open_catalog(catalog)
    try:
        namespaces = opened.list_namespaces()
    except Exception as problem:  # noqa: BLE001 - from any catalog's client
        # As where it is opened: its words may tell its address.
        raise Transient(
            f"it does not answer ({type(problem).__name__})",
            f"start it, or check catalogs.{catalog.name} in headrace.yaml",
        ) from None
    return f"reached ({catalog.type}), {counted(len(namespaces), 'database')}"


def _registry(address: RegistryAddress) -> str:
    shared(address).require_answer()
    return "reached"


def _search(node: SearchNode) -> str:
    try:
        # Nothing to index: whoever may write is told that the request is empty.
        status = node.post("/_bulk", b"\n").status
    finally:
        node.close()
    if status in REFUSED:
        raise Terminal(
            f"the search node refuses the login (HTTP {status})",
            "correct the user and the password in the sink's url, or its api_key",
        )
    if status >= 500:
        raise Transient(f"the search node cannot answer now (HTTP {status})", "look into its log")
    return "reached"


def _registries(files: Sequence[CheckedFile]) -> dict[str, RegistryAddress]:
    """Return each registry once, under the names of those that use it."""
    users: dict[RegistryAddress, list[str]] = {}
    for one in files:
        for registry in _registries_of(one.example):
            users.setdefault(registry.address(None), []).append(_name(one))
    return {", ".join(dict.fromkeys(names)): address for address, names in users.items()}


def _registries_of(config: Model | None) -> Iterator[RegistryConfig]:
    named: list[RegistryConfig | None] = []
    if isinstance(config, Stream | LakeTable):
        named.append(config.source.writers_registry)
    if isinstance(config, Stream):
        sinks = (output.sink for output in config.outputs)
        named += [sink.registry for sink in sinks if isinstance(sink, TopicSink)]
    if isinstance(config, App):
        topics = (one for one in config.sources.values() if isinstance(one, KafkaTopics))
        named += [one.writers_registry for one in topics]
    yield from (one for one in named if one is not None)


def _search_nodes(files: Sequence[CheckedFile]) -> dict[str, SearchNode]:
    found = {}
    for one in files:
        if not isinstance(one.example, Stream):
            continue
        for number, output in enumerate(one.example.outputs):
            # Of a file for many topics, the address of an example may be nobody's.
            is_open = one.document.is_open(("outputs", number, "sink", "url"))
            if isinstance(sink := output.sink, SearchSink) and not is_open:
                file = one.file.at("outputs", number, "sink", "ca").find_file()
                ca = None if file is None else file.read_text(encoding="utf-8")
                key = None if sink.api_key is None else sink.api_key.reveal().strip()
                node = SearchNode(sink.url.reveal(), key, ca, SEARCH_LIMIT_S)
                found[f"of {_name(one)}, output {output.name}"] = node
    return found


def _name(checked: CheckedFile) -> str:
    name = getattr(checked.config, "name", "") or (checked.template and checked.template.name)
    return f"{checked.kind} {name}".replace("_", " ", 1)
