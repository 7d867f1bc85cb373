"""Real search nodes on the loopback: OpenSearch, and Elasticsearch with TLS and logins.

They come from a Maven repository, by hash, as headrace's own jars do.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import psutil

from headrace.embedded.broker import HOST, free_port
from headrace.embedded.process import start_tethered, wait_until
from headrace.jars.cache import ensure_all
from headrace.jars.java import java, major_version
from headrace.jars.lock import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.certificates import Authority

LOCK: Final = Path(__file__).with_name("search_nodes.lock")
READY_LIMIT_S: Final = 120.0
NOBODY: Final = 65534
FOLDER: Final = "headrace-search-"
LOGGING: Final = """\
appender.c.type = Console
appender.c.name = c
appender.c.layout.type = PatternLayout
appender.c.layout.pattern = %d %p %c{1.} %m%n
rootLogger.level = info
rootLogger.appenderRef.c.ref = c
"""
INGEST: Final = """\
name=ingest-common
description=the processors of ingest pipelines
version={version}
opensearch.version={version}
java.version=17
classname=org.opensearch.ingest.common.IngestCommonPlugin
"""
# The index of API keys names parts of a module that the small distribution does not have.
ANALYSIS: Final = Path(__file__).with_name("SecurityAnalysis.java")
PLUGIN: Final = """\
name=security-analysis
description=what the index of API keys names
version=1
elasticsearch.version={version}
java.version=21
classname=headrace.tests.SecurityAnalysis
"""
SECURE: Final = """
xpack.security.enabled: true
xpack.security.http.ssl.enabled: true
xpack.security.http.ssl.certificate: node.pem
xpack.security.http.ssl.key: node.key
"""


@dataclass
class SearchNode:
    """A node of one kind, started by `with`, and what a test wants of it.

    With an authority and a password it has TLS and logins: Elasticsearch alone comes with them.
    """

    kind: str = "opensearch-2"
    settings: Mapping[str, object] = field(default_factory=dict)
    java: str = field(default_factory=java)
    authority: Authority | None = None
    password: str | None = None
    tls: ssl.SSLContext | None = None
    _folder: Path = field(init=False)
    _child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        # Not below pytest's folder, which nobody else may enter: as root a node does not start.
        _clear()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-"))
        self.port = free_port()
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            # Nothing of it is kept, and to end in order takes OpenSearch half a minute.
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def url(self) -> str:
        """Where it is, with the login of a node that wants one."""
        login = f"elastic:{self.password}@" if self.password else ""
        return f"http{'s' if self.tls else ''}://{login}{HOST}:{self.port}"

    def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Return the node's answer as JSON, whatever its status."""
        url = f"http{'s' if self.tls else ''}://{HOST}:{self.port}{path}"
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        question = urllib.request.Request(url, data, headers, method=method)  # noqa: S310 - the node's own
        if self.password:
            pair = base64.b64encode(f"elastic:{self.password}".encode()).decode()
            question.add_header("Authorization", f"Basic {pair}")
        try:
            with urllib.request.urlopen(question, timeout=30, context=self.tls) as response:  # noqa: S310 - as above
                found: dict[str, Any] = json.loads(response.read())
        except urllib.error.HTTPError as error:
            with error:
                found = json.loads(error.read())
        return found

    def make(self, index: str, **body: object) -> None:
        """Create an index."""
        answer = self.ask("PUT", f"/{index}", body)
        assert answer.get("acknowledged"), answer

    def documents(self, index: str) -> dict[str, Any]:
        """Return the documents of an index by their ids."""
        self.ask("POST", f"/{index}/_refresh")
        hits = self.ask("GET", f"/{index}/_search?size=10000").get("hits", {"hits": []})["hits"]
        return {one["_id"]: one["_source"] for one in hits}

    def _start(self) -> None:
        folder = self._folder
        home = self._unpack()
        settings: dict[str, object] = {
            "cluster.name": "tests",
            "node.name": "n1",
            "path.data": str(folder / "data"),
            "path.logs": str(folder / "logs"),
            "network.host": HOST,
            "http.port": self.port,
            "transport.port": free_port(besides=[self.port]),
            "discovery.type": "single-node",
            "cluster.routing.allocation.disk.threshold_enabled": False,
            **self.settings,
        }
        for name in ("data", "logs", "tmp", "conf"):
            (folder / name).mkdir(exist_ok=True)
        product = "elasticsearch" if self.kind == "elasticsearch" else "opensearch"
        lines = (f"{name}: {json.dumps(value)}" for name, value in settings.items())
        (folder / "conf" / f"{product}.yml").write_text("\n".join(lines))
        (folder / "conf" / "log4j2.properties").write_text(LOGGING)
        environment = {
            "HOME": str(folder),
            "ES_JAVA_HOME": str(Path(self.java).parents[1]),
            "ES_PATH_CONF": str(folder / "conf"),
            "ES_TMPDIR": str(folder / "tmp"),
        }
        if product == "elasticsearch":
            command = self._elasticsearch(home, environment)
        else:
            command = self._opensearch(home)
        as_user = _hand_over(folder)
        # In its own folder: a node writes its agents' and JVM's files where it stands.
        command = ["env", "-C", str(home), *as_user, *command]
        self._child, _ = start_tethered(command, folder / "node.log", environment)
        self._wait(self._child)

    def _opensearch(self, home: Path) -> list[str]:
        command = [self.java, "-Xms512m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        if self.kind == "opensearch-2":
            command += ["-Djava.security.manager=allow"]
        else:
            command += [
                "--add-modules=jdk.incubator.vector",
                "--add-opens=java.base/java.nio=ALL-UNNAMED",
            ]
            command += ["-javaagent:agent/opensearch-agent.jar"]
        command += [
            f"-Djava.io.tmpdir={self._folder / 'tmp'}",
            f"-Dopensearch.path.home={home}",
            f"-Dopensearch.path.conf={self._folder / 'conf'}",
            "-Dopensearch.distribution.type=zip",
            "-Dopensearch.bundled_jdk=false",
        ]
        return [*command, "-cp", f"{home}/lib/*", "org.opensearch.bootstrap.OpenSearch"]

    def _elasticsearch(self, home: Path, environment: Mapping[str, str]) -> list[str]:
        conf = self._folder / "conf"
        self._add_analysis(home)
        shutil.copy(home / "config" / "jvm.options", conf)
        options = conf / "jvm.options.d"
        options.mkdir()
        (options / "heap.options").write_text("-Xms512m\n-Xmx512m\n")
        if self.authority is not None and self.password is not None:
            issued = self.authority.issue("node")
            shutil.copy(issued.certificate, conf / "node.pem")
            shutil.copy(issued.key, conf / "node.key")
            with (conf / "elasticsearch.yml").open("a") as settings:
                settings.write(SECURE)
            self.tls = ssl.create_default_context(cafile=self.authority.certificate)
            add = [str(home / "bin" / "elasticsearch-keystore"), "add", "-f", "-x"]
            subprocess.run(
                [*add, "bootstrap.password"],
                input=self.password.encode(),
                env={**os.environ, **environment},
                check=True,
                capture_output=True,
            )
        return [str(home / "bin" / "elasticsearch")]

    def _add_analysis(self, home: Path) -> None:
        classes = self._folder / "classes"
        javac = [
            str(Path(self.java).with_name("javac")),
            "-cp",
            f"{home}/lib/*",
            "-d",
            str(classes),
        ]
        subprocess.run([*javac, str(ANALYSIS)], check=True, capture_output=True)
        plugin = home / "plugins" / "security-analysis"
        plugin.mkdir(parents=True)
        with zipfile.ZipFile(plugin / "security-analysis.jar", "w") as jar:
            for path in classes.rglob("*.class"):
                jar.write(path, path.relative_to(classes))
        text = PLUGIN.format(version=home.name.removeprefix("elasticsearch-"))
        (plugin / "plugin-descriptor.properties").write_text(text)

    def _unpack(self) -> Path:
        """Return the unpacked node; the modules that come as jars are put in."""
        jars = [jar for jar in parse(LOCK.read_text(encoding="utf-8")) if jar.jar_set == self.kind]
        files = dict(zip(jars, ensure_all(jars), strict=True))
        (whole,) = (jar for jar in jars if jar.extension == "zip")
        with zipfile.ZipFile(files.pop(whole)) as archive:
            archive.extractall(self._folder)
        home = self._folder / f"{whole.artifact}-{whole.version}"
        for program in (*home.glob("bin/*"), *home.glob("modules/*/bin/*")):
            program.chmod(0o755)
        if files:
            module = home / "modules" / "ingest-common"
            module.mkdir()
            for path in files.values():
                shutil.copy(path, module)
            descriptor = INGEST.format(version=whole.version)
            (module / "plugin-descriptor.properties").write_text(descriptor)
        return home

    def _wait(self, child: subprocess.Popen[bytes]) -> None:
        def settled() -> bool:
            try:
                return child.poll() is not None or bool(self.ask("GET", "/_cluster/health"))
            except (OSError, ValueError):
                return False

        in_time = wait_until(settled, READY_LIMIT_S)
        if child.poll() is not None or not in_time:
            said = (self._folder / "node.log").read_text(errors="replace")[-3000:]
            message = f"{self.kind} did not start:\n{said}"
            raise AssertionError(message)


def newer_java(version: int) -> str | None:
    """Return a Java of at least that version, with its compiler, where the machine has one."""
    homes = [os.environ.get("JAVA_HOME", ""), *map(str, Path("/usr/lib/jvm").glob("*"))]
    for home in filter(None, homes):
        found = Path(home) / "bin" / "java"
        if not (found.is_file() and found.with_name("javac").is_file()):
            continue
        asked = subprocess.run([found, "-version"], capture_output=True, text=True, check=False)
        if (major_version(asked.stderr) or 0) >= version:
            return str(found)
    return None


def _clear() -> None:
    """Remove what runs that were killed have left."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*-*"):
        owner = folder.name.removeprefix(FOLDER).split("-")[0]
        if not psutil.pid_exists(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def _hand_over(folder: Path) -> list[str]:
    """Give a folder to the user that runs the node; return what begins its command."""
    if os.geteuid() != 0:
        return []
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    # To change the user undoes the tie to the parent.
    user = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--pdeathsig=KILL"]
    return ["setpriv", *user]
