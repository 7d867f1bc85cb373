"""A standalone Spark cluster on the loopback: a master, and workers of one core each."""

from __future__ import annotations

import json
import urllib.request
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.embedded.broker import free_port
from headrace.embedded.process import start_tethered, stop_child, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PACKAGE = "org.apache.spark.deploy"
LIMIT_S = 120.0


@contextmanager
def standalone(
    folder: Path, workers: int, java_options: Sequence[str] = (), memory: str = "1g"
) -> Iterator[str]:
    """Start them, and return the master's URL; they end with the block. Worker N works in `work-N`."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ImportError("there is no pyspark")
    home = Path(spec.origin).parent
    port = free_port()
    page = free_port(besides=[port])
    url = f"spark://127.0.0.1:{port}"
    spark_class = [str(home / "bin" / "spark-class")]
    environment = {"SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m"}
    environment["SPARK_DAEMON_JAVA_OPTS"] = " ".join(java_options)
    here = ["--host", "127.0.0.1"]
    at = ["--port", str(port), "--webui-port", str(page)]
    commands = {"master": [*spark_class, f"{PACKAGE}.master.Master", *here, *at]}
    for number in range(workers):
        of = ["--cores", "1", "--memory", memory]
        of += ["--webui-port", str(free_port(besides=[port, page]))]
        of += ["--work-dir", str(folder / f"work-{number}"), url]
        commands[f"worker-{number}"] = [*spark_class, f"{PACKAGE}.worker.Worker", *here, *of]
    started = {
        name: start_tethered(command, folder / f"{name}.out", environment)[0]
        for name, command in commands.items()
    }

    def alive_workers() -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{page}/json/", timeout=2) as answer:
                return int(json.load(answer)["aliveworkers"])
        except OSError:
            return 0

    try:
        if not wait_until(lambda: alive_workers() == workers, LIMIT_S):
            raise TimeoutError([(folder / f"{name}.out").read_text() for name in started])
        yield url
    finally:
        for process in reversed(started.values()):
            stop_child(process, LIMIT_S)
