"""Says now and again that sessions go on: one thread for all ledgers that share a producer."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Final, Protocol

import structlog

from headrace.errors import HeadraceError
from headrace.kafka.log_topic import PARTITION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.kafka.log_clients import LogClients

SAY_EVERY_S: Final = 10.0
TURNS: Final = 10
WRITE_LIMIT_S: Final = 5.0
log = structlog.get_logger(__name__)
_tellers: Final[weakref.WeakKeyDictionary[LogClients, Teller]] = weakref.WeakKeyDictionary()
_lock: Final = threading.Lock()


class Told(Protocol):
    """A ledger with sessions."""

    @property
    def name(self) -> str:
        """The name of its topic."""

    def alive_records(self) -> Sequence[tuple[str, str | None]]:
        """Return what says that they go on."""

    def wrote(self, offsets: Sequence[int]) -> None:
        """Hear where that was written."""


def teller_of(clients: LogClients) -> Teller:
    """Return the one that tells with these clients."""
    with _lock:
        if clients not in _tellers:
            _tellers[clients] = Teller(clients)
        return _tellers[clients]


class Teller:
    """A thread for as long as there is somebody to tell of."""

    def __init__(self, clients: LogClients) -> None:
        # They outlive it: it is known by them.
        self._clients = weakref.ref(clients)
        self._told: list[Told] = []
        self._changed = threading.Condition()
        self._saying = threading.Lock()
        self._is_running = False

    def add(self, one: Told) -> None:
        """Tell of it from now on."""
        with self._changed:
            self._told.append(one)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._work, name="says alive", daemon=True).start()

    def remove(self, one: Told) -> None:
        """Tell of it no more."""
        with self._changed:
            if one in self._told:
                self._told.remove(one)
                self._changed.notify_all()
        # What is being said of it comes before what it says itself of its end.
        with self._saying:
            pass

    def _work(self) -> None:
        turn = 0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: not self._told, SAY_EVERY_S / TURNS)
                if not self._told:
                    self._is_running = False
                    return
                # Spread over the time: hundreds at once would be a moment in which all else waits.
                told = self._told[turn::TURNS]
            turn = (turn + 1) % TURNS
            with self._saying:
                still = [one for one in told if one in self._told]
                if still:
                    self._say(still)

    def _say(self, told: Sequence[Told]) -> None:
        clients = self._clients()
        records = {(one.name, PARTITION): one.alive_records() for one in told}
        if clients is None:
            return
        try:
            written = clients.write_all(records, WRITE_LIMIT_S)
        except HeadraceError as problem:
            log.debug("not heard of", reason=problem.message)
            return
        for one in told:
            one.wrote(written[one.name, PARTITION])
