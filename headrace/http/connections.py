"""Bounds on connections: how many there are, and how long one may be open without a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

# Each holds a file descriptor of a process that needs them for records.
MOST_CONNECTIONS: Final = 64
REQUEST_WITHIN_S: Final = 10.0


class BoundedProtocol(H11Protocol):
    """Closes connections above the limit, and those that send no complete request in time."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, while there is room."""
        if len(self.connections) >= MOST_CONNECTIONS:
            transport.abort()
            self.transport = transport
            return
        super().connection_made(transport)
        self.loop.call_later(REQUEST_WITHIN_S, self._look, None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of a connection that was taken."""
        if self in self.connections:
            super().connection_lost(exc)

    def _look(self, seen: object) -> None:
        """Close the connection if no request has begun since the last check, and none is answered."""
        if self.transport.is_closing():
            return
        cycle = self.cycle
        if cycle is seen and (cycle is None or cycle.response_complete):
            self.transport.abort()
            return
        self.loop.call_later(REQUEST_WITHIN_S, self._look, cycle)
