"""Questions to brokers are asked again while leaders move, and no longer."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from confluent_kafka import KafkaError, KafkaException

from headrace.kafka import leaders
from headrace.kafka.leaders import NO_EPOCH, TopicEnds, ask

GONE = KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))
NO = KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))


class Brokers:
    """Answers one after another, and how often somebody asked and heard."""

    def __init__(self, *answers: int | BaseException) -> None:
        self.answers, self.heard = list(answers), 0

    def question(self) -> dict[str, Future[int]]:
        found: Future[int] = Future()
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            found.set_exception(answer)
        else:
            found.set_result(answer)
        return {"t": found}

    def hear(self) -> None:
        self.heard += 1


def test_it_is_asked_again_while_leaders_move_and_where_the_client_knows_no_offset() -> None:
    brokers = Brokers(GONE, -1001, TimeoutError(), 7)
    assert ask(brokers.question, brokers.hear, lambda offset: offset >= 0) == {"t": 7}
    assert (brokers.answers, brokers.heard) == ([], 3)


def test_what_another_leader_would_refuse_too_is_asked_once() -> None:
    brokers = Brokers(NO, 7)
    with pytest.raises(KafkaException):
        ask(brokers.question, brokers.hear)
    assert brokers.answers == [7]


@pytest.mark.parametrize(("answer", "kind"), [(GONE, KafkaException), (-1001, TimeoutError)])
def test_it_has_an_end(
    answer: int | BaseException, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaders, "MOVE_LIMIT_S", -1.0)
    with pytest.raises(kind):
        ask(Brokers(answer).question, lambda: None, lambda offset: offset >= 0)


def test_an_epoch_is_known_only_of_what_the_log_has() -> None:
    ends = TopicEnds({0: range(3, 9)}, {0: 4})
    assert [ends.epoch(0, at) for at in (3, 9, 10)] == [4, 4, NO_EPOCH]
    assert ends.epoch(1, 0) == NO_EPOCH
