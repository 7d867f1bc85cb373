"""Sending evaluated records, each of them acknowledged or refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from router.sending import Sending, sent_as

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.kafka.bulk import Refused
    from router.outcomes import Passed
    from router.plan import RoutePlan
    from router.sending import Sent


class ReplaySending:
    """Sends to outputs of a plan."""

    def __init__(self, plan: RoutePlan, names: Iterable[str]) -> None:
        self._sending = Sending(plan, names)

    def send(self, records: Sequence[tuple[str, Passed]]) -> dict[int, str]:
        """Send records to outputs; return which of them were refused, and why."""
        try:
            return self._send(records)
        except BaseException:
            self._sending.give_up()
            raise

    def _send(self, records: Sequence[tuple[str, Passed]]) -> dict[int, str]:
        sent: dict[Sent, list[int]] = {}
        for index, (name, one) in enumerate(records):
            topic = self._sending.outlets[name].sent_to
            sent.setdefault(sent_as(topic, one.value, one.key), []).append(index)
            self._produce(name, one)
        self._sending.poll()
        refused: dict[int, str] = {}
        while told := self._flushed():
            again: list[int] = []
            for no in told:
                indices = sent[no.topic, no.value, no.key]
                # Of records that are the same to the last byte it is all the same which.
                index = indices.pop()
                if no.is_innocent:
                    indices.insert(0, index)
                    again.append(index)
                else:
                    refused[index] = no.reason
            for index in again:
                self._produce(*records[index])
        return refused

    def _produce(self, name: str, one: Passed) -> None:
        topic = self._sending.outlets[name].sent_to
        self._sending.producers[name].produce_patiently(topic, one.value, one.key, one.headers)

    def _flushed(self) -> list[Refused]:
        producers = set(self._sending.producers.values())
        return [one for producer in producers for one in producer.flush()]
