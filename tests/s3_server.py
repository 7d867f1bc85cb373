"""A server that speaks S3, for tests: moto's, as a process on a loopback port."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import urllib.request
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.embedded.broker import free_port
from headrace.embedded.process import wait_until
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from typing import Self

BUCKET = "lake"
SECRET = "not-to-be-seen"  # noqa: S105 - the server takes any


@dataclass
class S3Server:
    """A server with one empty bucket."""

    port: int = field(default_factory=free_port)
    host: str = "127.0.0.1"

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "moto.server", "-H", self.host, "-p", str(self.port)]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        assert wait_until(self._answers, LIMIT_S)
        asked = urllib.request.Request(f"{self.endpoint}/{BUCKET}", method="PUT")  # noqa: S310 - our own address
        urllib.request.urlopen(asked).close()  # noqa: S310 - as above
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(LIMIT_S)

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection((self.host, self.port), 1.0):
            return True
        return False

    @property
    def endpoint(self) -> str:
        """Its address."""
        return f"http://{self.host}:{self.port}"

    @property
    def hadoop_settings(self) -> dict[str, str]:
        """What Hadoop's S3A has to know to reach it."""
        return {
            "fs.s3a.endpoint": self.endpoint,
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.access.key": "somebody",
            "fs.s3a.secret.key": SECRET,
        }

    @property
    def spark_conf(self) -> str:
        """The same in the `spark.conf` of a workspace, an entry a line."""
        settings = self.hadoop_settings.items()
        return "\n    ".join(f'spark.hadoop.{name}: "{value}"' for name, value in settings)

    @property
    def properties(self) -> dict[str, str]:
        """What a catalog's file says, for its tables to lie here."""
        return {
            "warehouse": f"s3://{BUCKET}/warehouse",
            "s3.endpoint": self.endpoint,
            "s3.region": "us-east-1",
            "s3.access-key-id": "somebody",
            "s3.secret-access-key": SECRET,
        }
