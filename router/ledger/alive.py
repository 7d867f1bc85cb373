"""Reports that routers are alive: one thread for all ledgers that share a producer."""

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

REPORT_EVERY_S: Final = 10.0
TURNS: Final = 10
WRITE_LIMIT_S: Final = 5.0
log = structlog.get_logger(__name__)
_reporters: Final[weakref.WeakKeyDictionary[LogClients, AliveReporter]] = (
    weakref.WeakKeyDictionary()
)
_lock: Final = threading.Lock()


class LedgerSessions(Protocol):
    """A ledger in which this process has sessions."""

    @property
    def name(self) -> str:
        """The name of its topic."""

    def alive_records(self) -> Sequence[tuple[str, str | None]]:
        """Return the records that report its sessions as alive."""

    def wrote(self, offsets: Sequence[int]) -> None:
        """Take in at which offsets these records were written."""


def reporter_of(clients: LogClients) -> AliveReporter:
    """Return the one reporter that writes with these clients."""
    with _lock:
        if clients not in _reporters:
            _reporters[clients] = AliveReporter(clients)
        return _reporters[clients]


class AliveReporter:
    """Reports the sessions of its ledgers. Its thread runs as long as there are any."""

    def __init__(self, clients: LogClients) -> None:
        # The clients are its key in a weak dictionary: a reference from here would keep them.
        self._clients = weakref.ref(clients)
        self._ledgers: list[LedgerSessions] = []
        self._changed = threading.Condition()
        self._reporting = threading.Lock()
        self._is_running = False

    def add(self, ledger: LedgerSessions) -> None:
        """Report a ledger's sessions from now on."""
        with self._changed:
            self._ledgers.append(ledger)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._work, name="reports alive", daemon=True).start()

    def remove(self, ledger: LedgerSessions) -> None:
        """Report a ledger's sessions no more."""
        with self._changed:
            if ledger in self._ledgers:
                self._ledgers.remove(ledger)
                self._changed.notify_all()
        # A report that is being written comes before the end that the ledger writes itself.
        with self._reporting:
            pass

    def _work(self) -> None:
        turn = 0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: not self._ledgers, REPORT_EVERY_S / TURNS)
                if not self._ledgers:
                    self._is_running = False
                    return
                # A tenth at a time: hundreds at once would hold up everything else for a moment.
                due = self._ledgers[turn::TURNS]
            turn = (turn + 1) % TURNS
            with self._reporting:
                still = [one for one in due if one in self._ledgers]
                if still:
                    self._report(still)

    def _report(self, ledgers: Sequence[LedgerSessions]) -> None:
        clients = self._clients()
        records = {(one.name, PARTITION): one.alive_records() for one in ledgers}
        if clients is None:
            return
        try:
            written = clients.write_all(records, WRITE_LIMIT_S)
        except HeadraceError as problem:
            log.debug("the report was not written", reason=problem.message)
            return
        for one in ledgers:
            one.wrote(written[one.name, PARTITION])
