"""A real Pushgateway on this machine."""

from __future__ import annotations

import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from headrace.embedded.broker import free_port
from headrace.embedded.process import start_tethered, stop_child, wait_until
from tests.limits import LIMIT_S
from tests.programs import program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GRACE_S: Final = 10.0


@contextmanager
def pushgateway(log: Path) -> Iterator[str]:
    """Run one, and give its address."""
    binary = program("prometheus-pushgateway", "prometheus-pushgateway")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [binary, f"--web.listen-address=127.0.0.1:{port}"]
    child, _ = start_tethered(command, log, {"GOMAXPROCS": "1"})

    def answers() -> bool:
        assert child.poll() is None, log.read_text()
        try:
            return "go_info" in metrics_of(address)
        except OSError:
            return False

    try:
        assert wait_until(answers, LIMIT_S), log.read_text()
        yield address
    finally:
        stop_child(child, GRACE_S)


def metrics_of(address: str) -> str:
    """Return what Prometheus would read there."""
    with urllib.request.urlopen(f"{address}/metrics", timeout=LIMIT_S) as answer:  # noqa: S310 - our own
        return str(answer.read(), "utf-8")
