"""Small files that tasks on other machines send to the driver, which writes them to its disk.

Reads: what tasks send, and who they say they are. Writes: those files, below one folder.
Promises: when `put` returns, the file is there whole; who does not have the token writes nothing.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import threading
from dataclasses import asdict, dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Listener
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from headrace import state_files
from headrace.errors import Transient

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from pyspark.sql import SparkSession


# The option of a source that has it. It holds a token: Spark masks the values of such names.
RELAY: Final = "relay_token"


@dataclass(frozen=True, slots=True)
class RelayAddress:
    """The driver's address, and the token that tasks send to it."""

    host: str
    port: int
    token: str

    def __repr__(self) -> str:
        return f"RelayAddress({self.host}:{self.port})"

    def to_json(self) -> str:
        """Write it as an option of a source, under a name that Spark masks."""
        return json.dumps(asdict(self))

    @classmethod
    def of_json(cls, text: str | None) -> Self | None:
        """Read it again; None where there is none."""
        return None if text is None else cls(**json.loads(text))


class Relay:
    """Writes what tasks send, as long as it is entered."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        conf = spark.sparkContext.getConf()
        self._folder = folder.resolve()
        self._host = conf.get("spark.driver.host") or "127.0.0.1"
        self._bind = conf.get("spark.driver.bindAddress") or self._host
        self._token = secrets.token_hex(32)
        self._ended = threading.Event()

    def __enter__(self) -> RelayAddress:
        self._listener = Listener((self._bind, 0), "AF_INET", authkey=self._token.encode())
        threading.Thread(target=self._listen, name="relay", daemon=True).start()
        return RelayAddress(self._host, self._listener.address[1], self._token)

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        # Closing a socket does not wake who waits for a connection; a connection does.
        with contextlib.suppress(OSError, AuthenticationError, EOFError):
            Client(self._listener.address, "AF_INET", authkey=self._token.encode()).close()
        self._listener.close()

    def _listen(self) -> None:
        while not self._ended.is_set():
            try:
                connection = self._listener.accept()
            except (AuthenticationError, OSError, EOFError):
                # Somebody without the token, or who has gone by now.
                continue
            threading.Thread(target=self._take, args=(connection,), daemon=True).start()

    def _take(self, connection: Connection[Any, Any]) -> None:
        with contextlib.suppress(EOFError, OSError), connection:
            path, content = Path(connection.recv_bytes().decode()), connection.recv_bytes()
            connection.send_bytes(self._written(path, content).encode())

    def _written(self, path: Path, content: bytes) -> str:
        """Write a file; return what stands against it."""
        if not path.is_absolute() or not path.resolve().is_relative_to(self._folder):
            return f"{path} is not in {self._folder}"
        try:
            state_files.write(path, content)
        except OSError as problem:
            return str(problem)
        return ""


def put(path: Path, content: bytes, relay: RelayAddress | None) -> None:
    """Write a file to the driver's disk: directly on the driver, or through its relay."""
    if relay is None:
        state_files.write(path, content)
        return
    try:
        with Client((relay.host, relay.port), "AF_INET", authkey=relay.token.encode()) as driver:
            driver.send_bytes(str(path).encode())
            driver.send_bytes(content)
            said = driver.recv_bytes()
    except (OSError, EOFError, AuthenticationError) as problem:
        raise Transient(f"the driver does not take what a task measured: {problem!r}") from None
    if said:
        raise Transient(f"the driver does not take what a task measured: {said.decode()}")
