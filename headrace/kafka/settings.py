"""Settings of Kafka's clients: librdkafka's names, and the Java client's that Spark uses.

A cluster's `properties` are written once, under librdkafka's names, and reach both clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.config.workspace.workspace import Cluster

RENAMED = {
    "sasl.mechanisms": "sasl.mechanism",
    "socket.timeout.ms": "request.timeout.ms",
    "queue.buffering.max.ms": "linger.ms",
    "compression.codec": "compression.type",
    "message.max.bytes": "max.request.size",
}
# What the Java client does not have, or what is put together below out of several.
LEFT_OUT = frozenset(
    {
        "broker.address.family",
        "log_level",
        "debug",
        "statistics.interval.ms",
        "enable.ssl.certificate.verification",
        "queue.buffering.max.messages",
        "queue.buffering.max.kbytes",
        "batch.num.messages",
        # OpenSSL's names of ciphers and curves are not Java's; each has its own good ones.
        "ssl.cipher.suites",
        "ssl.curves.list",
        "ssl.sigalgs.list",
        "sasl.username",
        "sasl.password",
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl.certificate.location",
        "ssl.certificate.pem",
        "ssl.key.location",
        "ssl.key.pem",
    }
)
HOST_CHECK = "ssl.endpoint.identification.algorithm"
LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def quiet(settings: Mapping[str, str]) -> dict[str, str | int | float | bool]:
    """Keep librdkafka from printing: what fails is raised, and reported once."""
    return {"log_level": 0, **settings}


def java_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Carry librdkafka settings over; what the Java client does not have is left out."""
    result = {
        RENAMED.get(name, name): value for name, value in settings.items() if name not in LEFT_OUT
    }
    if result.get(HOST_CHECK) == "none":
        # librdkafka's word for what Java says with nothing.
        result[HOST_CHECK] = ""
    return result | _login(settings) | _trust(settings)


def _login(settings: Mapping[str, str]) -> dict[str, str]:
    user, password = settings.get("sasl.username"), settings.get("sasl.password")
    if user is None and password is None:
        return {}
    mechanism = settings.get("sasl.mechanism") or settings.get("sasl.mechanisms", "PLAIN")
    module = LOGIN_MODULES.get(mechanism.upper())
    if module is None:
        known = ", ".join(LOGIN_MODULES)
        raise Terminal(
            f"sasl.mechanism {mechanism} does not go with sasl.username", f"one of {known}"
        )
    login = f"{module} required username={_quoted(user or '')} password={_quoted(password or '')};"
    return {"sasl.jaas.config": login}


def _trust(settings: Mapping[str, str]) -> dict[str, str]:
    result: dict[str, str] = {}
    if "ssl.ca.location" in settings:
        result["ssl.truststore.location"] = settings["ssl.ca.location"]
    if "ssl.ca.pem" in settings:
        result["ssl.truststore.certificates"] = settings["ssl.ca.pem"]
    if result:
        result["ssl.truststore.type"] = "PEM"
    certificate, key = _pem(settings, "ssl.certificate"), _pem(settings, "ssl.key")
    if certificate and key:
        _require_pkcs8(key)
        result |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": certificate,
            "ssl.keystore.key": key,
        }
    return result


def _pem(settings: Mapping[str, str], name: str) -> str | None:
    path = settings.get(f"{name}.location")
    if path is None:
        return settings.get(f"{name}.pem")
    try:
        with open(path, encoding="utf-8") as source:  # noqa: PTH123 - a path as librdkafka takes it
            return source.read()
    except OSError as problem:
        raise Terminal(f"{path} cannot be read: {problem.strerror}") from None


def _require_pkcs8(key: str) -> None:
    """Refuse a key that OpenSSL reads and Java does not, before Java does it in its own words."""
    for kind in ("RSA", "EC", "DSA"):
        if f"-----BEGIN {kind} PRIVATE KEY-----" in key:
            raise Terminal(
                f"the client's key is in OpenSSL's own format (BEGIN {kind} PRIVATE KEY), which "
                "Spark's Kafka client (in Java) cannot read",
                "convert it to PKCS 8: openssl pkcs8 -topk8 -nocrypt -in OLD.key -out NEW.key",
            )


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def spark_options(cluster: Cluster) -> dict[str, str]:
    """Return a cluster's settings as options of Spark's Kafka connector."""
    settings = java_settings(cluster.client_properties())
    return {f"kafka.{name}": value for name, value in settings.items()}
