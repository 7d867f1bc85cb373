"""Spark's JVM on its way up: it is started at once, and connected to when somebody needs it.

Reads: where the JVM says that it listens. Promises: whoever waits for a JVM that has ended gets an
error, and one that nobody needs any more ends.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

T = TypeVar("T")
CHECK_EVERY_S: Final = 0.01
END_S: Final = 10.0
# Ctrl-C is for the command, and not for its JVM.
UNTOUCHED: Final = ("/bin/sh", "-c", """trap '' INT; exec "$0" "$@" """.strip())
# A small JVM puts the command line of the large one together.
LAUNCHER_OPTIONS: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
PORT: Final = "PYSPARK_GATEWAY_PORT"
SECRET: Final = "PYSPARK_GATEWAY_SECRET"  # noqa: S105 - the name of a variable


class ParentJvm:
    """The JVM that has started us: `spark-submit` of a Python program."""

    def gateway(self) -> Any:  # noqa: ANN401 - py4j has no types
        """Return pyspark's connection to it."""
        from pyspark.java_gateway import launch_gateway  # noqa: PLC0415 - as below

        return launch_gateway()  # type: ignore[no-untyped-call]  # pyspark does not type it

    def end(self) -> None:
        """Leave it as it is."""


class LaunchedJvm:
    """A JVM, from its start on."""

    def __init__(
        self, settings: Mapping[str, str], output: IO[bytes], folder: Path | None = None
    ) -> None:
        self._is_used = False
        given = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        submit = str(Path(os.environ["SPARK_HOME"]) / "bin" / "spark-submit")
        more = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
        self._folder = tempfile.TemporaryDirectory(prefix="headrace-jvm-")
        self._said = Path(self._folder.name) / "connection"
        environment = {
            "SPARK_LAUNCHER_OPTS": LAUNCHER_OPTIONS,
            **os.environ,
            "SPARK_CONNECT_MODE": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._said),
        }
        # It ends when its stdin does, and that is with us at the latest.
        self.process = subprocess.Popen(
            [*UNTOUCHED, submit, *given, *more],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=environment,
            cwd=folder,
        )

    def gateway(self) -> Any:  # noqa: ANN401 - py4j has no types
        """Wait for the JVM, and return pyspark's connection to it."""
        from pyspark.java_gateway import launch_gateway  # noqa: PLC0415 - it takes long, and the JVM starts meanwhile

        with self._folder:
            while not self._said.exists():
                if self.process.poll() is not None:
                    raise ChildProcessError("its Java gateway process exited")
                time.sleep(CHECK_EVERY_S)
            said = self._said.read_bytes()
        with _named(said):
            found: Any = launch_gateway()  # type: ignore[no-untyped-call]  # pyspark does not type it
        found.proc = self.process
        self._is_used = True
        return found

    def end(self) -> None:
        """End a JVM that nobody needs; pyspark keeps one that it has connected to."""
        if self._is_used:
            return
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(END_S)
        if self.process.stdin is not None:
            self.process.stdin.close()
        self._folder.cleanup()


@contextlib.contextmanager
def _named(said: bytes) -> Iterator[None]:
    """Let pyspark connect to a JVM that runs already: that is where its environment says so."""
    # A port, the length of a secret, and the secret, as Java writes them.
    os.environ[PORT] = str(int.from_bytes(said[:4], "big"))
    os.environ[SECRET] = said[8:].decode()
    try:
        yield
    finally:
        del os.environ[PORT], os.environ[SECRET]


class InBackground(Generic[T]):
    """What is started in a thread, so that its caller does something else meanwhile."""

    def __init__(self, start: Callable[[], T]) -> None:
        self._start = start
        self._found: T | None = None
        self._problem: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="start of Spark", daemon=True)
        self._thread.start()

    def result(self) -> T:
        """Wait for it; raise what it has raised."""
        self._thread.join()
        if self._found is None:
            raise self._problem or RuntimeError("it was not started")
        return self._found

    def _run(self) -> None:
        try:
            self._found = self._start()
        except BaseException as problem:  # noqa: BLE001 - raised again to whoever waits
            self._problem = problem
