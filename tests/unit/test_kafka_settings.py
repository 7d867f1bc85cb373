from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import Terminal
from headrace.kafka.settings import java_settings

if TYPE_CHECKING:
    from pathlib import Path


def test_what_has_the_same_name_or_none_is_passed_on() -> None:
    same = {"bootstrap.servers": "a:1,b:2", "client.id": "x", "security.protocol": "SASL_SSL"}
    assert java_settings(same | {"some.day": "new"}) == same | {"some.day": "new"}


def test_other_names_and_what_java_does_not_have() -> None:
    settings = {
        "sasl.mechanisms": "PLAIN",
        "socket.timeout.ms": "5000",
        "queue.buffering.max.ms": "5",
        "compression.codec": "zstd",
        "message.max.bytes": "1",
        "debug": "all",
        "broker.address.family": "v4",
    }
    assert java_settings(settings) == {
        "sasl.mechanism": "PLAIN",
        "request.timeout.ms": "5000",
        "linger.ms": "5",
        "compression.type": "zstd",
        "max.request.size": "1",
    }


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [
        ("PLAIN", "plain.PlainLoginModule"),
        ("scram-sha-256", "scram.ScramLoginModule"),
        ("SCRAM-SHA-512", "scram.ScramLoginModule"),
    ],
)
def test_a_login(mechanism: str, module: str) -> None:
    found = java_settings({"sasl.mechanism": mechanism, "sasl.username": "u", "sasl.password": "p"})
    assert found == {
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"org.apache.kafka.common.security.{module} required"
        ' username="u" password="p";',
    }


def test_a_mechanism_without_names_and_passwords_is_refused_with_one() -> None:
    with pytest.raises(Terminal, match=r"sasl\.mechanism GSSAPI does not go with sasl\.username"):
        java_settings({"sasl.mechanism": "GSSAPI", "sasl.username": "u"})


def read_jaas(text: str) -> dict[str, str]:
    """Read options the way Java's parser does: a backslash takes the next character as it is."""
    found, rest = {}, text.partition(" required ")[2]
    while rest != ";":
        name, _, rest = rest.lstrip().partition('="')
        value = ""
        while rest[0] != '"':
            skip = rest[0] == "\\"
            value += rest[skip]
            rest = rest[1 + skip :]
        found[name], rest = value, rest[1:]
    return found


@given(st.text(), st.text())
def test_no_password_breaks_out_of_its_quotes(user: str, password: str) -> None:
    found = java_settings({"sasl.username": user, "sasl.password": password})
    assert read_jaas(found["sasl.jaas.config"]) == {"username": user, "password": password}


def test_certificates(tmp_path: Path) -> None:
    certificate, key = tmp_path / "client.pem", tmp_path / "client.key"
    certificate.write_text("CERT")
    key.write_text("KEY")
    found = java_settings(
        {
            "ssl.ca.location": "ca.pem",
            "ssl.certificate.location": str(certificate),
            "ssl.key.location": str(key),
            "ssl.key.password": "p",
        }
    )
    assert found == {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "ca.pem",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "CERT",
        "ssl.keystore.key": "KEY",
        "ssl.key.password": "p",
    }
    assert java_settings({"ssl.ca.pem": "PEM"}) == {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": "PEM",
    }
    with pytest.raises(Terminal, match=r"none.pem cannot be read: No such file"):
        java_settings(
            {"ssl.certificate.location": str(tmp_path / "none.pem"), "ssl.key.location": str(key)}
        )


@pytest.mark.parametrize(("word", "java"), [("none", ""), ("https", "https")])
def test_whether_host_names_are_checked(word: str, java: str) -> None:
    name = "ssl.endpoint.identification.algorithm"
    assert java_settings({name: word}) == {name: java}


def test_certificates_that_are_given_in_the_text() -> None:
    found = java_settings({"ssl.certificate.pem": "CERT", "ssl.key.pem": "KEY"})
    assert found == {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "CERT",
        "ssl.keystore.key": "KEY",
    }


@pytest.mark.parametrize("kind", ["RSA", "EC"])
def test_a_key_that_java_does_not_read_is_refused_with_how_to_write_it(kind: str) -> None:
    key = f"-----BEGIN {kind} PRIVATE KEY-----\nMHc=\n"
    with pytest.raises(Terminal, match=r"(?s)in Java\) cannot read.*openssl pkcs8 -topk8"):
        java_settings({"ssl.certificate.pem": "CERT", "ssl.key.pem": key})


def test_names_of_ciphers_are_not_handed_on() -> None:
    assert java_settings({"ssl.cipher.suites": "ECDHE-RSA-AES256-GCM-SHA384"}) == {}
