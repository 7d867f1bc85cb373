"""What a command reports over HTTP."""

from __future__ import annotations

import threading
import time
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from headrace.http.acts import Acts
from headrace.http.rows import NotReady
from headrace.metrics.definitions import BUILD_INFO, JOB_UP
from headrace.metrics.text import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from headrace.http.app_rows import AppDetail
    from headrace.http.detail_rows import (
        DeclaredRow,
        LedgerHistory,
        LedgerRow,
        LinkRow,
        SettingRow,
    )
    from headrace.http.quarantine_rows import (
        EditableStream,
        QuarantineReplay,
        QuarantineRow,
        QuarantineTrial,
    )
    from headrace.http.replay_rows import ReplayDetail
    from headrace.http.rows import AppRow, ReplayRow, StreamRow, TableRow
    from headrace.http.table_rows import TableDetail
    from headrace.signals import Drain

T = TypeVar("T")


class Facts:
    """What a command knows, asked by the server's threads.

    Whoever shows something overrides what it is about. `not_ready` and `jobs` answer at once, from
    memory; the others may take a moment.
    """

    # Whether what the workspace declares runs in this command.
    runs = True

    def jobs(self) -> Iterable[tuple[str, str]]:
        """Return the kind and name of everything that should run."""
        return ()

    def not_ready(self) -> Iterable[NotReady]:
        """Return what of it does not run, with the reason."""
        return ()

    def resting(self) -> Iterable[NotReady]:
        """Return everything that does not run, also what this command does not run itself."""
        return self.not_ready()

    def samples(self) -> Iterable[Sample]:
        """Return the values of metrics."""
        return ()

    def streams(self) -> Sequence[StreamRow]:
        """Return the streams."""
        return ()

    def tables(self) -> Sequence[TableRow]:
        """Return the lake tables."""
        return ()

    def apps(self) -> Sequence[AppRow]:
        """Return the applications."""
        return ()

    def replays(self) -> Sequence[ReplayRow]:
        """Return the replays, the newest first."""
        return ()

    def replay(self, run_id: str) -> ReplayRow | None:
        """Return one replay with all that is known of it."""
        return next((one for one in self.replays() if one.run_id == run_id), None)

    def table(self, name: str) -> TableDetail | None:  # noqa: ARG002 - who knows it overrides it
        """Return what the files and snapshots of a lake table tell; None where it is unknown."""
        return None

    def app(self, name: str) -> AppDetail | None:  # noqa: ARG002 - as above
        """Return what an application keeps of its batches; None where it is unknown."""
        return None

    def history(self, stream: str) -> Sequence[LedgerHistory] | None:  # noqa: ARG002 - as above
        """Return the last batches in a stream's ledgers; None where they are unknown."""
        return None

    def links(self, kind: str, name: str) -> Sequence[LinkRow]:  # noqa: ARG002 - as above
        """Return where other tools show something, and what it reads and writes."""
        return ()

    def replay_detail(self, run_id: str) -> ReplayDetail | None:  # noqa: ARG002 - who knows it overrides it
        """Return what was asked and planned of a replay, and what its result is."""
        return None

    def declared(self) -> Sequence[DeclaredRow]:
        """Return the files of the workspace; none where the command is about one thing alone."""
        return ()

    def ledger(self, stream: str) -> Sequence[LedgerRow] | None:  # noqa: ARG002 - who knows it overrides it
        """Return the ledgers of a stream's outputs and of its quarantine; None where it is unknown."""
        return None

    def settings(self, stream: str) -> Sequence[SettingRow] | None:  # noqa: ARG002 - who knows it overrides it
        """Return what a stream runs with; None where it is unknown."""
        return None

    def quarantine(self, stream: str) -> QuarantineRow | None:  # noqa: ARG002 - who knows it overrides it
        """Return a stream's rejected records; None where it keeps none. It may ask Kafka, and wait."""
        return None

    def quarantine_files(self, stream: str) -> EditableStream | None:  # noqa: ARG002 - as above
        """Return the files that say what becomes of a stream's records; None as above."""
        return None

    def quarantine_replay(self, stream: str) -> QuarantineReplay | None:  # noqa: ARG002 - as above
        """Return the last replay of a stream's rejected records; None where there was none."""
        return None

    def try_quarantine(self, stream: str, texts: Mapping[str, str]) -> QuarantineTrial | None:  # noqa: ARG002 - as above
        """Return what a stream would make of its rejected records; `texts` are changed files.

        It may ask Kafka, and wait.
        """
        return None

    def explain(self, stream: str, records: str) -> Mapping[str, Any] | None:  # noqa: ARG002 - as above
        """Return what a stream makes of records, a line each; None where that is unknown."""
        return None


class Board:
    """What a command reports now: first that it starts, then its facts, last that it stops."""

    def __init__(self, command: str, drain: Drain, *, read_only: bool = False) -> None:
        self.facts: Facts | None = None
        # What is measured beside the facts.
        self.also: list[Callable[[], Iterable[Sample]]] = []
        self.acts = Acts()
        self.read_only = read_only
        self.command = command
        self.drain = drain

    @property
    def may_write(self) -> bool:
        """Whether whoever looks may change the workspace's files."""
        return self.acts.has_files and not self.read_only

    def show(self, facts: Facts, acts: Acts | None = None) -> None:
        """Show this from now on, and do what is asked for so."""
        self.facts = facts
        self.acts = acts or self.acts

    def not_ready(self) -> list[NotReady]:
        """Return why the command is not ready, reason by reason."""
        if self.drain.requested:
            return [NotReady("command", self.command, None, "it was asked to stop")]
        if self.facts is None:
            return [NotReady("command", self.command, None, "it is starting")]
        return list(self.facts.not_ready())

    def samples(self) -> Iterator[Sample]:
        """Return the values of all metrics."""
        yield Sample(BUILD_INFO, {"version": metadata.version("headrace")}, 1)
        for one in self.also:
            yield from one()
        if self.facts is None:
            return
        away = {(one.kind, one.name) for one in self.facts.resting()}
        for kind, name in self.facts.jobs():
            yield Sample(JOB_UP, {"kind": kind, "name": name}, int((kind, name) not in away))
        yield from self.facts.samples()


# Of something that others change, too, no answer is older, where it can be had in time and where to
# ask for it all the time would not cost more than a part of a core.
MOST_AGE_S: Final = 2.0
AGE_BY_COST: Final = 3.0
PATIENCE_S: Final = 1.0
FIRST_PATIENCE_S: Final = 20.0


class CachedAnswer(Generic[T]):
    """The answer to a slow question. A thread asks again when somebody wants it and it is too old.

    Who wants it waits until a moment after it was asked, and then takes the last answer.
    """

    def __init__(
        self,
        name: str,
        ask: Callable[[], T],
        *,
        most_age_s: float = MOST_AGE_S,
        first_patience_s: float = FIRST_PATIENCE_S,
    ) -> None:
        self._ask = ask
        self._most_age_s = most_age_s
        self._first_patience_s = first_patience_s
        self._name = name
        self._changed = threading.Condition()
        self._answer: T | None = None
        self._asked_at_s = self._fresh_until_s = float("-inf")
        self._is_asking = False

    @property
    def last(self) -> T | None:
        """The last answer, at once."""
        return self._answer

    def value(self) -> T | None:
        """Return the answer; None where there is none in time."""
        with self._changed:
            if time.monotonic() < self._fresh_until_s:
                return self._answer
            if not self._is_asking:
                self._is_asking, self._asked_at_s = True, time.monotonic()
                threading.Thread(target=self._refresh, name=self._name, daemon=True).start()
            patience_s = self._first_patience_s if self._answer is None else PATIENCE_S
            wait_s = self._asked_at_s + patience_s - time.monotonic()
            self._changed.wait_for(lambda: not self._is_asking, max(0.0, wait_s))
            return self._answer

    def _refresh(self) -> None:
        answer: T | None = None
        try:
            answer = self._ask()
        finally:
            with self._changed:
                if answer is not None:
                    now_s = time.monotonic()
                    took_s = now_s - self._asked_at_s
                    self._answer = answer
                    self._fresh_until_s = now_s + max(self._most_age_s, AGE_BY_COST * took_s)
                self._is_asking = False
                self._changed.notify_all()
