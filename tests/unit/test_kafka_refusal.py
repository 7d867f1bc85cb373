"""What a client is refused is not tried again; what only did not answer is."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from headrace.errors import Terminal
from headrace.kafka.refusal import reason_of, refusal

# Public names of librdkafka's codes.
SSL = KafkaError._SSL  # noqa: SLF001 - as it says
AUTHENTICATION = KafkaError._AUTHENTICATION  # noqa: SLF001 - as it says
TRANSPORT = KafkaError._TRANSPORT  # noqa: SLF001 - as it says
SETTINGS = {"bootstrap.servers": "127.0.0.1:1", "sasl.username": "me", "sasl.password": "hush"}


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (SSL, "ssl://b:1/bootstrap: SSL handshake failed: Disconnected"),
        (AUTHENTICATION, "SASL handshake failed: Local: Timed out"),
        (TRANSPORT, "Connect to ipv4#127.0.0.1:1 failed: Connection refused"),
        (KafkaError.NOT_LEADER_FOR_PARTITION, "Broker: Not leader for partition"),
    ],
)
def test_a_broker_that_restarts_refuses_nobody(code: int, text: str) -> None:
    assert refusal(KafkaError(code, text), SETTINGS, "consumer") is None


@pytest.mark.parametrize(
    ("code", "text", "told"),
    [
        (
            AUTHENTICATION,
            (
                "sasl_ssl://b:1/bootstrap: SASL authentication error: invalid credentials (after 9ms in"
                " state AUTH_REQ)"
            ),
            (
                "cluster consumer (127.0.0.1:1) rejects the login:"
                " SASL authentication error: invalid credentials"
            ),
        ),
        (
            SSL,
            "ssl://b:1/bootstrap: SSL handshake failed: tlsv13 alert certificate required",
            (
                "cluster consumer (127.0.0.1:1) rejects the TLS connection:"
                " SSL handshake failed: tlsv13 alert certificate required"
            ),
        ),
        (
            KafkaError.GROUP_AUTHORIZATION_FAILED,
            "Group authorization failed.",
            (
                "cluster consumer (127.0.0.1:1) does not allow this client to use the consumer group"
                " (Group authorization failed.)"
            ),
        ),
    ],
)
def test_what_is_refused_is_terminal_and_named(code: int, text: str, told: str) -> None:
    refused = refusal(KafkaError(code, text), SETTINGS, "consumer")
    assert isinstance(refused, Terminal)
    assert refused.message == told
    assert refused.advice
    assert "hush" not in str(refused)


def test_a_cause_is_told_without_where_and_when() -> None:
    error = KafkaError(TRANSPORT, "b:1/bootstrap: Connection refused (after 0ms in state)")
    assert reason_of(error) == "Connection refused"
