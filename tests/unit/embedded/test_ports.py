"""Ports for servers of one's own: each is asked for on its own, and none is given twice."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from headrace.embedded.broker import free_port

if TYPE_CHECKING:
    import pytest


class Given(socket.socket):
    """Gives the same port twice before it gives another, as a kernel may."""

    ports = iter((40_001, 40_001, 40_002))

    def bind(self, _: object) -> None:
        self.port = next(self.ports)

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", self.port


def test_a_port_that_is_spoken_for_is_not_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", Given)
    first = free_port()
    assert free_port(besides=[first]) == 40_002
