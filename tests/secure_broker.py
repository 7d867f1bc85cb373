"""A broker with TLS, logins and access lists: a listener for each way in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs forget them
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from headrace.embedded.broker import HOST, Broker, BrokerOptions, free_port
from tests.certificates import Authority
from tests.limits import LIMIT_S
from tests.short_lived import JAVA_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.certificates import Issued

USER: Final = "headrace"
PASSWORD: Final = 'p"a\\ss, word;'  # noqa: S105 - a test's own
GUEST: Final = "guest"


class SecureBroker:
    """One broker over TLS. `USER` may do what the documentation asks for; `GUEST` may do nothing.

    Who comes in without TLS is a superuser: the broker itself, and what a test prepares.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.authority, self.stranger = (
            Authority(folder, "authority"),
            Authority(folder, "stranger"),
        )
        self.client = self.authority.issue(USER)
        self.expired_client = self.authority.issue("expired-client", days=-1)
        self.foreign_client = self.stranger.issue("foreign-client")
        good = self._keystore(folder, "broker", 1)
        old = self._keystore(folder, "expired-broker", -1)
        plain = free_port()
        self.scram = free_port({plain})
        self.mutual = free_port({plain, self.scram})
        self.expired = free_port({plain, self.scram, self.mutual})
        listeners = {"SCRAM": self.scram, "MUTUAL": self.mutual, "EXPIRED": self.expired}
        addresses = [f"LOOPBACK0://{HOST}:{plain}"]
        addresses += [f"{name}://{HOST}:{port}" for name, port in listeners.items()]
        protocols = ["CONTROLLER:PLAINTEXT", "LOOPBACK0:PLAINTEXT", "SCRAM:SASL_SSL"]
        controller = free_port({plain, *listeners.values()})
        settings: dict[str, object] = {
            "controller.quorum.voters": f"1@{HOST}:{controller}",
            "listeners": ",".join([*addresses, f"CONTROLLER://{HOST}:{controller}"]),
            "advertised.listeners": ",".join(addresses),
            "listener.security.protocol.map": ",".join([*protocols, "MUTUAL:SSL", "EXPIRED:SSL"]),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": good,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.authority.certificate,
            "ssl.principal.mapping.rules": "RULE:^CN=(.*?)$/$1/",
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.expired.ssl.keystore.type": "PEM",
            "listener.name.expired.ssl.keystore.location": old,
            "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.scram.scram-sha-512.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        }
        options = BrokerOptions(
            ports=(plain,), heap_mb=256, java_options=JAVA_OPTIONS, settings=settings
        )
        self.broker = Broker(folder / "broker", options)

    def __enter__(self) -> Self:
        self.broker.start()
        self._admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers})
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        users: list[UserScramCredentialAlteration] = [
            UserScramCredentialUpsertion(name, info, PASSWORD.encode()) for name in (USER, GUEST)
        ]
        for done in self._admin.alter_user_scram_credentials(users).values():
            done.result(LIMIT_S)
        # No more than docs/security.md asks for.
        of_topics = [
            AclOperation.READ,
            AclOperation.WRITE,
            AclOperation.CREATE,
            AclOperation.DESCRIBE,
            AclOperation.DESCRIBE_CONFIGS,
        ]
        self.allow(USER, ResourceType.TOPIC, "", of_topics)
        self.allow(USER, ResourceType.GROUP, "headrace.", [AclOperation.READ])
        of_transactions = [AclOperation.WRITE, AclOperation.DESCRIBE]
        self.allow(USER, ResourceType.TRANSACTIONAL_ID, "headrace.", of_transactions)
        return self

    def __exit__(self, *_: object) -> None:
        self._admin.__exit__(None, None, None)
        self.broker.stop()

    def allow(
        self, user: str, kind: ResourceType, prefix: str, operations: Iterable[AclOperation]
    ) -> None:
        """Let a user do this with all whose names begin so."""
        pattern = ResourcePatternType.PREFIXED if prefix else ResourcePatternType.LITERAL
        lists = [
            AclBinding(
                kind, prefix or "*", pattern, f"User:{user}", "*", one, AclPermissionType.ALLOW
            )
            for one in operations
        ]
        for done in self._admin.create_acls(lists).values():
            done.result(LIMIT_S)

    def login(self, user: str = USER, password: str = PASSWORD) -> dict[str, str]:
        """Return a cluster of the workspace, by name and password."""
        return {
            "bootstrap.servers": f"{HOST}:{self.scram}",
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": password,
            "ssl.ca.location": str(self.authority.certificate),
        }

    def mutual_tls(self, client: Issued | None) -> dict[str, str]:
        """Return a cluster of the workspace, by certificates on both sides."""
        settings = {
            "bootstrap.servers": f"{HOST}:{self.mutual}",
            "security.protocol": "SSL",
            "ssl.ca.location": str(self.authority.certificate),
        }
        if client is None:
            return settings
        return settings | {
            "ssl.certificate.location": str(client.certificate),
            "ssl.key.location": str(client.key),
        }

    def _keystore(self, folder: Path, name: str, days: int) -> Path:
        """Write key and certificate into one file, as a broker has them."""
        issued = self.authority.issue(name, days=days)
        keystore = folder / f"{name}.keystore.pem"
        keystore.write_text(issued.key.read_text() + issued.certificate.read_text())
        return keystore
