"""Why a cluster refuses a client: an error of one sentence, and no retry."""

from __future__ import annotations

import re
import socket
import ssl
from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaError, KafkaException

from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Mapping

PROBE_LIMIT_S: Final = 3.0
IN_PROPERTIES: Final = "in the properties of the cluster in headrace.yaml"
_TLS: Final = KafkaError._SSL  # noqa: SLF001 - its public name
_LOGIN: Final = frozenset(
    {
        KafkaError._AUTHENTICATION,  # noqa: SLF001 - its public name
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError.ILLEGAL_SASL_STATE,
    }
)
# In TLS 1.3 a broker refuses a client's certificate after the handshake: it looks like a failed read.
_CERTIFICATE_ALERT: Final = re.compile(r"alert .*(certificate|unknown ca|handshake failure)")
# What each access list lacks, and what it is to be given.
_LISTS: Final[Mapping[int, str]] = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "the topic",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "the consumer group",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "the cluster",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "the transactional id",
}


class AccessRefused(Terminal):
    """A cluster that does not let a client in, or not do what it asks for."""


def refusal(
    error: KafkaError, settings: Mapping[str, str], cluster: str = "", topic: str = ""
) -> Terminal | None:
    """Return what is refused and why; None where an error says nothing of the kind.

    `settings` are those that the client was made with, the topic is what it was asked about.
    """
    servers = settings.get("bootstrap.servers", "")
    where = f"cluster {cluster} ({servers})" if cluster else f"the cluster at {servers}"
    code = error.code()
    if code in _LISTS:
        is_topic = bool(topic) and code == KafkaError.TOPIC_AUTHORIZATION_FAILED
        what = f"topic {topic}" if is_topic else f"{_LISTS[code]} ({error.str()})"
        return AccessRefused(
            f"{where} does not allow this client to use {what}",
            "ask its administrator to grant the rights in docs/security.md (kafka-acls) to the user "
            "that sasl.username or the certificate names",
        )
    # A broker that ends in the middle of a login, or of a handshake, refuses nobody.
    if code in _LOGIN and "Local: " not in error.str():
        return AccessRefused(
            f"{where} rejects the login: {reason_of(error)}",
            f"correct sasl.username, sasl.password and sasl.mechanism {IN_PROPERTIES}",
        )
    if code == _TLS or _CERTIFICATE_ALERT.search(error.str()):
        return _tls(error, where, settings)
    return None


def settings_refused(problem: KafkaException, cluster: str = "") -> Terminal:
    """Return that Kafka's client does not take its settings: a file that is not there, for one."""
    of = f" of cluster {cluster}" if cluster else ""
    return Terminal(
        f"Kafka's client rejects the settings{of}: {problem.args[0].str()}",
        f"correct them {IN_PROPERTIES}",
    )


def _tls(error: KafkaError, where: str, settings: Mapping[str, str]) -> Terminal | None:
    found = certificate_problem(settings)
    if found is not None:
        return AccessRefused(
            f"the certificate of {where} is not trusted: {found}",
            f"set ssl.ca.location to the authority that signed it, {IN_PROPERTIES}; if it has "
            "expired or is for another host name, its administrator has to renew it",
        )
    if not _CERTIFICATE_ALERT.search(error.str()):
        return None
    return AccessRefused(
        f"{where} rejects the TLS connection: {reason_of(error)}",
        "it may require a client certificate that has not expired and that an authority it trusts "
        f"has signed: set ssl.certificate.location and ssl.key.location {IN_PROPERTIES}",
    )


def certificate_problem(settings: Mapping[str, str]) -> str | None:
    """Return what is wrong with the certificate of the first broker that answers, if anything is.

    Kafka's client says of each such problem the same.
    """
    context = ssl.create_default_context(
        cafile=settings.get("ssl.ca.location"), cadata=settings.get("ssl.ca.pem")
    )
    for server in settings.get("bootstrap.servers", "").split(","):
        host, _, port = server.strip().rpartition(":")
        try:
            with (
                socket.create_connection((host, int(port)), PROBE_LIMIT_S) as opened,
                context.wrap_socket(opened, server_hostname=host),
            ):
                return None
        except ssl.SSLCertVerificationError as problem:
            return problem.verify_message
        except (OSError, ValueError):
            continue
    return None


def reason_of(error: KafkaError) -> str:
    """Return what an error says of its cause, without which broker it was and what it was about."""
    # «ssl://127.0.0.1:9093/bootstrap: reason (after 3ms in state …)»
    text = error.str().partition("bootstrap: ")[2] or error.str()
    return text.partition(" (after ")[0].strip()
