"""Whether a broker answers."""

from __future__ import annotations

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from headrace.kafka.settings import quiet


def answers(bootstrap_servers: str) -> bool:
    """Whether a broker answers there within a second."""
    admin = AdminClient(quiet({"bootstrap.servers": bootstrap_servers}))
    try:
        return bool(admin.list_topics(timeout=1.0).brokers)
    except KafkaException:
        return False
