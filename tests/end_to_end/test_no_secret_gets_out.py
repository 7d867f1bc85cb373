"""A secret reaches the client that needs it, and nobody else: looked for in all that commands leave."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil
import pytest

from headrace.config.load import load_workspace
from headrace.embedded.process import wait_until
from headrace.iceberg.catalog import open_catalog
from headrace.kafka.cluster import KafkaCluster
from headrace.log import FORMAT_VARIABLE
from tests.end_to_end import secrets_workspace
from tests.end_to_end.commands import BIN
from tests.end_to_end.every_command import Command, every_command
from tests.end_to_end.secrets_workspace import CANARY
from tests.end_to_end.serving import Client, port_in
from tests.limits import LIMIT_S
from tests.lineage_receiver import receiving
from tests.postgres_server import PASSWORD, PostgresServer
from tests.registry_server import RegistryServer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.config.workspace.workspace import Workspace
    from headrace.embedded.broker import Broker
    from headrace.kafka.message import Message
    from tests.search_nodes import SearchNode

LOOKED_AGAIN_S: Final = 0.05
TOPICS: Final = ("secret_plays", "plays_starts", "secret_plays.quarantine")
TABLES: Final = ("lake.tv.starts", "lake.tv.counts")


def forms(secret: str) -> list[bytes]:
    """Return the secret as it is, and as base64 writes it wherever it begins."""
    raw = secret.encode()
    # The first and the last characters depend on what stands beside the secret.
    encoded = (base64.b64encode(b"-" * shift + raw)[4:-4] for shift in range(3))
    return [raw, *encoded]


FORMS: Final = forms(CANARY)


def leaks(content: bytes) -> bool:
    """Whether the secret can be read there."""
    return any(form in content for form in FORMS)


@dataclass
class Watch:
    """Looks at all that runs below this process, and at its temporary files, while it runs."""

    temporary: Path
    found: set[str] = field(default_factory=set)
    looked_at: set[str] = field(default_factory=set)
    _read: dict[Path, tuple[int, int, int]] = field(default_factory=dict)
    _parents: dict[int, int] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Watch:
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(LOOKED_AGAIN_S):
            for process in self._below():
                for part in ("cmdline", "environ"):
                    self._look_at(part, Path(f"/proc/{process}/{part}"))
            with contextlib.suppress(OSError):  # a folder goes while we look
                for file in files_below(self.temporary):
                    self._look_into(file)

    def _below(self) -> list[int]:
        """Return the processes below this one; one whose parent has ended stays among them."""
        now = psutil.pids()
        # Twenty times a second: each is asked once.
        self._parents = {
            one: self._parents[one] if one in self._parents else _parent_of(one) for one in now
        }
        children: dict[int, list[int]] = {}
        for one, parent in self._parents.items():
            children.setdefault(parent, []).append(one)
        found = list(children.get(os.getpid(), ()))
        for one in found:
            found += children.get(one, ())
        return found

    def _look_into(self, file: Path) -> None:
        """Read a temporary file, unless it is as it was when it was read last."""
        with contextlib.suppress(OSError):  # as below
            now = file.stat()
            state = (now.st_ino, now.st_size, now.st_mtime_ns)
            if self._read.get(file) != state:
                self._read[file] = state
                self._look_at("temporary file", file)

    def _look_at(self, kind: str, file: Path) -> None:
        # A process ends and a temporary file goes while we look.
        with contextlib.suppress(OSError):
            content = file.read_bytes()
            self.looked_at.add(kind)
            if leaks(content):
                self.found.add(f"{kind} {file}: {content[:200]!r}")


def _parent_of(process: int) -> int:
    """Return who started a process; 0 if it has ended."""
    with contextlib.suppress(OSError):
        # The name, in brackets, may hold anything.
        return int(Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[1])
    return 0


@dataclass(frozen=True)
class Site:
    """A workspace, and the folder of its commands' temporary files."""

    root: Path
    temporary: Path

    def here(
        self, command: Command, form: str, capfd: pytest.CaptureFixture[str]
    ) -> tuple[int, bytes]:
        """Run a command inside of this process; return its exit code and all that it prints."""
        temporary = str(self.temporary)
        capfd.readouterr()
        with pytest.MonkeyPatch.context() as patch, contextlib.chdir(self.root):
            patch.setenv("TMPDIR", temporary)
            patch.setenv(FORMAT_VARIABLE, "console")
            patch.setattr(tempfile, "tempdir", temporary)
            patch.setattr(sys, "argv", command.line(form))
            code = command.runs()
        return code, "".join(capfd.readouterr()).encode()

    def start(self, command: Command, form: str) -> subprocess.Popen[bytes]:
        """Start a command as a user does, in the workspace."""
        line = command.line(form)
        temporary = str(self.temporary)
        return subprocess.Popen(
            [str(BIN / line[0]), *line[1:]],
            cwd=self.root,
            env={**os.environ, "TMPDIR": temporary, "SPARK_LOCAL_DIRS": temporary},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def leaks(self) -> list[str]:
        """Return the files that hold the secret: logs, plans, checkpoints, tables, settings."""
        below = (*files_below(self.root), *files_below(self.temporary))
        return [str(file) for file in below if leaks(file.read_bytes())]


def files_below(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def said_by(process: subprocess.Popen[bytes], *, lasts: bool) -> bytes:
    """Return all that a command prints; one that lasts is asked to drain once it is up."""
    said = b""
    if lasts and process.stdout is not None:
        said = process.stdout.readline()
        process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=LIMIT_S)
    return said + out + err


def make_site(base: Path, **addresses: str) -> Site:
    """Make a workspace whose addresses hold the secret, read from a file outside of it."""
    site = Site(base / "workspace", base / "temporary")
    site.temporary.mkdir(parents=True)
    file = base / "password"
    secret = f"${{file:{file}}}"
    hidden = {name: address.replace(CANARY, secret) for name, address in addresses.items()}
    secrets_workspace.write(site.root, file, **hidden)
    return site


@pytest.mark.parametrize(
    "every_form", [False, pytest.param(True, marks=pytest.mark.long)], ids=["short", "every form"]
)
def test_no_command_lets_a_secret_out(
    broker: Broker,
    search_node: SearchNode,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    *,
    every_form: bool,
) -> None:
    """A command with a JVM, or one that lasts, is a process of its own, as a user runs it.

    All others run inside of this process. In the short form, what takes long runs once, in one form
    of its output.
    """
    registry = RegistryServer(user="headrace", password=CANARY)
    with PostgresServer() as postgres, registry, receiving() as receiver:
        registry.put("plays-value", secrets_workspace.SCHEMA)
        site = make_site(
            tmp_path,
            bootstrap=broker.bootstrap_servers,
            # The server takes any password: what counts is that this one is used.
            catalog=postgres.uri.replace(PASSWORD.replace(" ", "%20"), CANARY),
            registry=registry.url,
            # So does this one; that the node gets them is what unit tests look at.
            search=search_node.url.replace("//", f"//headrace:{CANARY}@"),
            keyed=search_node.url,
            lineage=receiver.url.replace("//", f"//headrace:{CANARY}@"),
        )
        with Watch(site.temporary) as watch:
            leaked = [
                f"{one.name} ({form})"
                for form in ("json", "text")
                for together in order(form, every_form=every_form)
                for one, said in zip(together, run(site, together, form, capfd), strict=True)
                if leaks(said)
            ]
        workspace = load_workspace(site.root)
        in_tables = [table for table in TABLES if leaks(all_of_a_table(workspace, table))]
    assert leaked + sorted(watch.found) + site.leaks() + in_tables == []
    assert {one["job"]["name"] for one in receiver.events} >= {"stream.plays", "replay.counts"}
    assert not any(leaks(json.dumps(one).encode()) for one in receiver.events)
    assert watch.looked_at == {"cmdline", "environ", "temporary file"}
    cluster = KafkaCluster(workspace.cluster("consumer"))
    for topic in TOPICS:
        records = list(cluster.records(topic))
        assert records, topic
        assert not any(leaks(all_of_a_record(record)) for record in records), topic


def order(form: str, *, every_form: bool) -> list[list[Command]]:
    """Return what is run one after the other, and at the end what can be run together."""
    commands = [
        one
        for one in every_command()
        if form in one.forms and (form == one.forms[-1] or every_form or not one.is_done_once)
    ]
    first = [one for one in commands if one.comes_first]
    return [*([one] for one in first), [one for one in commands if not one.comes_first]]


def run(
    site: Site, commands: Sequence[Command], form: str, capfd: pytest.CaptureFixture[str]
) -> list[bytes]:
    """Run commands that work at the same time; returns what they printed."""
    ended = answers(site, commands, {one.name: form for one in commands}, capfd)
    for one, (code, said) in zip(commands, ended, strict=True):
        assert code == 0, f"{one.name}: {said.decode()}"
    return [said for _, said in ended]


def answers(
    site: Site,
    commands: Sequence[Command],
    forms: Mapping[str, str],
    capfd: pytest.CaptureFixture[str],
) -> list[tuple[int, bytes]]:
    """Run commands, and return how each ended; those that need a process of their own at once."""
    running = {
        one.name: site.start(one, forms[one.name])
        for one in commands
        if one.is_done_once or one.lasts
    }
    found = []
    for one in commands:
        process = running.get(one.name)
        if process is None:
            found.append(site.here(one, forms[one.name], capfd))
        else:
            said = said_by(process, lasts=one.lasts)
            found.append((process.returncode, said))
    return found


def all_of_a_table(workspace: Workspace, identifier: str) -> bytes:
    """Return what a catalog says of a table: its properties, its snapshots and their summaries."""
    catalog, _, name = identifier.partition(".")
    table = open_catalog(workspace.catalog(catalog)).load_table(name)
    assert table.metadata.snapshots
    return table.metadata.model_dump_json().encode()


def all_of_a_record(record: Message) -> bytes:
    return f"{record.key()!r} {record.value()!r} {record.headers()}".encode()


def test_no_error_lets_a_secret_out(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Every server is away, and each command says so."""
    site = make_site(
        tmp_path,
        bootstrap="127.0.0.1:1",
        catalog=f"postgresql://headrace:{CANARY}@127.0.0.1:1/lake",
        registry=f"http://headrace:{CANARY}@127.0.0.1:1",
        search=f"http://headrace:{CANARY}@127.0.0.1:1",
        keyed="http://127.0.0.1:1",
        lineage=f"http://headrace:{CANARY}@127.0.0.1:1",
    )
    commands = [one for one in every_command() if not one.lasts]
    with Watch(site.temporary) as watch:
        forms = {one.name: one.forms[-1] for one in commands}
        ended = answers(site, commands, forms, capfd)
    failed = {one.name for one, (code, _) in zip(commands, ended, strict=True) if code}
    leaked = [one.name for one, (_, said) in zip(commands, ended, strict=True) if leaks(said)]
    assert leaked + sorted(watch.found) + site.leaks() == []
    assert {"router start", "lake-writer start", "headrace run", "backfill plan"} <= failed


def test_no_answer_over_http_lets_a_secret_out(tmp_path: Path) -> None:
    """Every server is away, and each answer says so."""
    site = make_site(
        tmp_path,
        bootstrap="127.0.0.1:1",
        catalog=f"postgresql://headrace:{CANARY}@127.0.0.1:1/lake",
        registry=f"http://headrace:{CANARY}@127.0.0.1:1",
        search=f"http://headrace:{CANARY}@127.0.0.1:1",
        keyed="http://127.0.0.1:1",
        lineage=f"http://headrace:{CANARY}@127.0.0.1:1",
    )
    (command,) = (one for one in every_command() if one.name == "headrace ui")
    process = site.start(command, "text")
    try:
        assert process.stdout is not None
        port = port_in(process.stdout.readline().decode())
        assert port is not None
        client = Client(port)
        paths = ["livez", "readyz", "metrics"]
        paths += [f"api/v1/{kind}" for kind in ("streams", "tables", "apps", "replays")]
        pages = (
            "streams/plays",
            "tables/plays_starts",
            "apps/counts",
            "quarantine/plays",
            "replays",
        )
        # Each look at a quarantine waits for its cluster.
        forms = ("streams/new?cluster=fronting", "streams/plays/region", "replays/new?app=counts")
        paths += [
            "api/v1/openapi.json",
            "",
            "index.json",
            *forms,
            *pages,
            *(f"{one}.json" for one in pages if "quara" not in one),
        ]
        answered = {path: client.get(f"/{path}") for path in paths}
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=LIMIT_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    assert {status for status, _ in answered.values()} == {200}
    assert '"problem":"' in answered["api/v1/streams"][1]
    # Settings are shown, and this one is among them.
    assert "source.schema.registry.url" in answered["streams/plays"][1]
    assert [path for path, (_, body) in answered.items() if leaks(body.encode())] == []
    assert not leaks(out + err)


def test_a_leak_is_found(tmp_path: Path) -> None:
    """In a file, in a process, and as base64 wherever it begins."""
    for before in ("", "u:", "us:", "use:"):
        assert leaks(base64.b64encode(f"{before}{CANARY}:rest".encode()))
    names = ("bootstrap", "catalog", "registry", "search", "keyed", "lineage")
    site = make_site(tmp_path, **dict.fromkeys(names, ""))
    assert site.leaks() == []
    (site.root / "log").write_text(f"password={CANARY}")
    (site.temporary / "plan").write_text(CANARY)
    assert len(site.leaks()) == 2
    with (
        Watch(site.temporary) as watch,
        subprocess.Popen(
            ["cat", "-", CANARY], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process,
    ):
        assert wait_until(lambda: len(watch.found) == 2, LIMIT_S)
        process.kill()
