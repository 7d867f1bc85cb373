"""A real HDFS, and where it is asked for a YARN, in one JVM with a bounded heap.

Hadoop's own mini cluster, from a Maven repository by hash, beside the Hadoop that pyspark brings.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Self

from headrace.embedded.process import wait_until
from headrace.jars.cache import ensure_all
from headrace.jars.java import java
from headrace.jars.lock import parse
from tests.limits import LIMIT_S
from tests.short_lived import JAVA_OPTIONS

LOCK: Final = Path(__file__).with_name("hadoop.lock")
SOURCE: Final = Path(__file__).with_name("HadoopCluster.java")


@dataclass
class HadoopCluster:
    """HDFS at an address, started by `with`; with node managers there is YARN on the loopback."""

    folder: Path
    address: str = "127.0.0.1"
    node_managers: int = 0
    mb_each: int = 2048

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        spec = find_spec("pyspark")
        assert spec is not None
        assert spec.origin is not None
        held = ensure_all(parse(LOCK.read_text(encoding="utf-8")))
        classpath = os.pathsep.join((*map(str, held), f"{Path(spec.origin).parent}/jars/*"))
        given = [self.address, str(self.folder), str(self.node_managers), str(self.mb_each)]
        with self.output.open("wb") as output:
            # It ends when its stdin does, and that is with us at the latest.
            self._process = subprocess.Popen(
                [
                    *(java(), "-Xmx768m", *JAVA_OPTIONS),
                    *("--add-opens=java.base/java.lang=ALL-UNNAMED", "-cp", classpath),
                    *(str(SOURCE), *given),
                ],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                start_new_session=True,
            )
        if not wait_until(self._is_ready, LIMIT_S) or self._process.poll() is not None:
            self._process.kill()
            raise AssertionError(self.output.read_text()[-3000:])
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.terminate()
        self._process.wait(LIMIT_S)

    @property
    def output(self) -> Path:
        """What it said."""
        return self.folder / "hadoop.out"

    @property
    def conf(self) -> Path:
        """The folder of what its clients have to know: HADOOP_CONF_DIR."""
        return self.folder / "conf"

    @property
    def url(self) -> str:
        """Where HDFS is."""
        found = re.search(r"hdfs://[\w.:]+", (self.conf / "core-site.xml").read_text())
        assert found is not None
        return found[0]

    def _is_ready(self) -> bool:
        said = self.output.read_text(errors="replace")
        return "READY" in said or self._process.poll() is not None
