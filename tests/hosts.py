"""Hosts on this machine that have no disk in common: network, mounts and processes of their own.

A host sees a Spark, a Java and a Python, all read only, and an empty disk; nothing of the driver's.
A bridge joins the hosts and the driver, which stays where the test is. Only root may make them.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import shlex
import socket
import subprocess
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import psutil

from headrace.embedded.broker import Broker, BrokerOptions, free_port
from headrace.embedded.process import start_tethered, stop_child, wait_until
from headrace.jars.cache import cache_root
from headrace.jars.java import java
from tests.limits import LIMIT_S
from tests.short_lived import JAVA_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX: Final = "hr"
BRIDGE: Final = re.compile(rf"{PREFIX}(\d+)")
WORKER: Final = "org.apache.spark.deploy.worker.Worker"
MASTER: Final = "org.apache.spark.deploy.master.Master"
SPARK: Final = "/tmp/spark"  # noqa: S108 - of a host, whose disk this is
OWN_NAMESPACES: Final = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child")
# `unshare` does not hear a SIGTERM, with which others are tethered to us.
TETHER: Final = ("setpriv", "--pdeathsig", "KILL")
# What a host is, once it has a network: its disk is at /tmp, and the driver's folders are empty.
BOOT: Final = """\
disk={disk}
until ip link show eth0 >/dev/null 2>&1; do sleep 0.02; done
ip addr add {address}/24 dev eth0; ip link set eth0 up; ip link set lo up
mkdir -p $disk/spark; mount --bind {spark} $disk/spark; mount -o remount,bind,ro $disk/spark
printf '127.0.0.1 localhost\\n{address} {name}\\n' > $disk/hosts; mount --bind $disk/hosts /etc/hosts
mount --rbind $disk /tmp
for folder in {hidden}; do [ -d "$folder" ] && mount -t tmpfs -o size=1m tmpfs "$folder"; done
cd /; exec env -i PATH=/usr/local/bin:/usr/bin:/bin JAVA_HOME={java_home} {environment} {command}
"""


@functools.cache
def may_be_made() -> bool:
    """Whether this process may make namespaces and devices of the network."""
    asked = [*OWN_NAMESPACES, "--mount-proc", "sh", "-c", "mount -t tmpfs tmpfs /mnt && ip link"]
    try:
        return subprocess.run(asked, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@dataclass
class Host:
    """One of them: a Spark worker of one core runs there."""

    number: int
    process: subprocess.Popen[bytes]
    device: str
    address: str

    def cut_off(self) -> None:
        """Take it off the network."""
        _ip("link", "set", self.device, "down")

    def join(self) -> None:
        """Let it be on the network again."""
        _ip("link", "set", self.device, "up")

    @property
    def received_bytes(self) -> int:
        """How much it has received over the network."""
        return int(Path(f"/sys/class/net/{self.device}/statistics/tx_bytes").read_text())

    def slow_down(self, kbit_per_s: int) -> None:
        """Let it receive no more than that in a second: its tasks take long over their records."""
        words = (
            f"tc qdisc add dev {self.device} root tbf rate {kbit_per_s}kbit burst 32k latency 2s"
        )
        subprocess.run(words.split(), check=True, capture_output=True)

    def speed_up(self) -> None:
        """Let it receive as fast as it can."""
        subprocess.run(
            ["tc", "qdisc", "del", "dev", self.device, "root"], check=True, capture_output=True
        )


class Hosts:
    """The bridge, the driver's address on it, and hosts as they are asked for. Used by `with`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._held = ExitStack()
        self.bridge = f"{PREFIX}{os.getpid()}"
        self.network = ""
        self.hosts: list[Host] = []
        self._numbers = itertools.count(1)
        self.master = ""

    def __enter__(self) -> Self:
        with self._held:
            _clear()
            taken = subprocess.run(["ip", "-o", "addr"], capture_output=True, text=True, check=True)
            first = os.getpid() % 250
            free = (f"10.77.{(first + more) % 250}" for more in range(250))
            self.network = next(one for one in free if f" {one}." not in taken.stdout)
            _ip("link", "add", self.bridge, "type", "bridge")
            self._held.callback(_ip, "link", "del", self.bridge)
            _ip("addr", "add", f"{self.address}/24", "dev", self.bridge)
            _ip("link", "set", self.bridge, "up")
            self._held = self._held.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    @property
    def address(self) -> str:
        """Where the hosts reach the driver's side."""
        return f"{self.network}.1"

    def broker(self, partitions: int = 2) -> Broker:
        """Return a broker that hosts and driver reach at one address; `bootstrap` says which."""
        here = free_port()
        there = free_port(besides=[here])
        controller = free_port(besides=[here, there])
        listeners = {"LOOPBACK0": f"127.0.0.1:{here}", "HOSTS": f"{self.address}:{there}"}
        addresses = [f"{name}://{place}" for name, place in listeners.items()]
        settings = {
            "listeners": ",".join((*addresses, f"CONTROLLER://127.0.0.1:{controller}")),
            "advertised.listeners": ",".join(addresses),
            "listener.security.protocol.map": ",".join(
                f"{name}:PLAINTEXT" for name in (*listeners, "CONTROLLER")
            ),
        }
        options = BrokerOptions(
            (here,),
            heap_mb=384,
            partitions=partitions,
            java_options=JAVA_OPTIONS,
            controller_port=controller,
            settings=settings,
        )
        self.bootstrap = listeners["HOSTS"]
        return Broker(self.folder / "broker", options)

    def start_master(self) -> None:
        """Start the master, on the driver's side."""
        port, page = free_port(), free_port()
        command = [str(_spark() / "bin" / "spark-class"), MASTER, "--host", self.address]
        command += ["--port", str(port), "--webui-port", str(page)]
        self._start("master", command, {"SPARK_HOME": str(_spark())})
        self.master = f"spark://{self.address}:{port}"

    def start_workers(self, count: int, memory_mb: int = 1024) -> None:
        """Start hosts with a worker each, and wait until the master knows them."""
        for _ in range(count):
            self._start_worker(next(self._numbers), memory_mb)
        came = wait_until(lambda: all(map(self._is_known, self.hosts)), LIMIT_S)
        assert came, [one.read_text() for one in self.folder.glob("*.out")]

    def _start_worker(self, number: int, memory_mb: int) -> None:
        address = f"{self.network}.{10 + number}"
        command = [f"{SPARK}/bin/spark-class", WORKER, "--host", address, "--cores", "1"]
        command += ["--memory", f"{memory_mb}m", "--webui-port", "8081", self.master]
        environment = {
            "SPARK_HOME": SPARK,
            "SPARK_LOCAL_IP": address,
            "SPARK_LOCAL_DIRS": "/tmp/local",  # noqa: S108 - of a host
            "SPARK_WORKER_DIR": "/tmp/work",  # noqa: S108 - of a host
        }
        self.hosts.append(self.boot(number, command, environment))

    def power_off(self, host: Host) -> None:
        """End all that runs on a host at once; nobody is told."""
        host.process.kill()
        host.process.wait()
        self.hosts.remove(host)

    def boot(self, number: int, command: list[str], environment: Mapping[str, str]) -> Host:
        """Start a host on which a program runs, with Spark at `SPARK`."""
        disk = self.folder / f"disk-{number}"
        disk.mkdir(exist_ok=True)
        address = f"{self.network}.{10 + number}"
        environment = {**_DAEMON, **environment}
        hidden = [Path(__file__).parents[1], cache_root(), Path.home() / ".cache"]
        hidden += [self.folder, Path(tempfile.gettempdir()).resolve()]
        script = BOOT.format(
            disk=shlex.quote(str(disk)),
            address=address,
            spark=shlex.quote(str(_spark())),
            name=socket.gethostname(),
            java_home=Path(java()).resolve().parents[1],
            hidden=shlex.join(str(one) for one in hidden if one != Path("/tmp")),  # noqa: S108 - its own
            environment=shlex.join(f"{name}={value}" for name, value in environment.items()),
            command=shlex.join(command),
        )
        boot = [*TETHER, *OWN_NAMESPACES, "--mount-proc", "--propagation", "private"]
        with (self.folder / f"host-{number}.out").open("ab") as output:
            process = subprocess.Popen(
                [*boot, "bash", "-ec", script],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._held.callback(process.wait)
        self._held.callback(process.kill)
        device = f"{self.bridge}v{number}"
        inside = wait_until(lambda: bool(psutil.Process(process.pid).children()), LIMIT_S)
        assert inside, (self.folder / f"host-{number}.out").read_text()
        pid = psutil.Process(process.pid).children()[0].pid
        _ip("link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", str(pid))
        _ip("link", "set", device, "master", self.bridge)
        _ip("link", "set", device, "up")
        return Host(number, process, device, address)

    def _start(
        self, name: str, command: list[str], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        output = self.folder / f"{name}.out"
        process, _ = start_tethered(command, output, {**_DAEMON, **environment})
        self._held.callback(stop_child, process, LIMIT_S)
        return process

    def _is_known(self, host: Host) -> bool:
        said = (self.folder / f"host-{host.number}.out").read_text(errors="replace")
        return "Successfully registered with master" in said


_DAEMON: Final = {
    "SPARK_DAEMON_MEMORY": "256m",
    "SPARK_DAEMON_JAVA_OPTS": " ".join(JAVA_OPTIONS),
}


def _spark() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _clear() -> None:
    """Remove the bridges of tests that were killed."""
    for name, *_ in psutil.net_if_addrs().items():
        found = BRIDGE.fullmatch(name)
        if found is not None and not psutil.pid_exists(int(found[1])):
            _ip("link", "del", name)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
