"""The server: it runs in a separate thread, and ends with its command."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import structlog

from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uvicorn import Server

    from headrace.http.address import Address
    from headrace.http.board import Board

END_WITHIN_S: Final = 2.0
BACKLOG: Final = 64
log = structlog.get_logger(__name__)


@contextlib.contextmanager
def serving(
    address: Address | None, board: Board, *, is_asked_for: bool = True
) -> Iterator[Address | None]:
    """Serve a board until left, and say where; without an address, serve nothing.

    Where the address cannot be had: an error if it `is_asked_for`, else a warning.
    """
    listener = None if address is None else _listener(address, is_asked_for=is_asked_for)
    if address is None or listener is None:
        yield None
        return
    with listener:
        taken = replace(address, port=listener.getsockname()[1])
        server = _server(taken, board)
        thread = threading.Thread(target=_run, args=(server, listener), name="http", daemon=True)
        thread.start()
        log.info("serving HTTP", url=f"http://{taken}")
        try:
            yield taken
        finally:
            server.should_exit = True
            thread.join(END_WITHIN_S)


def _listener(address: Address, *, is_asked_for: bool) -> socket.socket | None:
    listener: socket.socket | None = None
    try:
        ((family, _, _, _, where), *_) = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen(BACKLOG)
    except OSError as problem:
        if listener is not None:
            listener.close()
        why = f"{address} cannot be listened on: {problem.strerror or problem}"
        advice = "choose another with --http HOST:PORT"
        if is_asked_for:
            raise Terminal(why, advice) from None
        log.warning("there is no HTTP side", reason=why, advice=advice)
        return None
    return listener


def _server(address: Address, board: Board) -> Server:
    # Who serves nothing need not wait for it.
    from uvicorn import Config, Server  # noqa: PLC0415

    from headrace.http.connections import MOST_CONNECTIONS, BoundedProtocol  # noqa: PLC0415
    from headrace.http.routes import routes_of  # noqa: PLC0415

    return Server(
        Config(
            routes_of(board, address),
            http=BoundedProtocol,
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level=logging.CRITICAL,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=1,
        )
    )


def _run(server: Server, listener: socket.socket) -> None:
    from headrace.http.pages.templates import compile_all  # noqa: PLC0415 - as above

    try:
        compile_all()
        server.run([listener])
    except Exception as problem:  # noqa: BLE001 - it ends no command
        log.warning("the HTTP side has ended", problem=type(problem).__name__)
