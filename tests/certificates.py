"""Certificates of a house of the test's own: an authority, a server's, a client's."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from pathlib import Path

KEY_PASSWORD = "hush-key"  # noqa: S105 - a test's own


@dataclass(frozen=True)
class Certificates:
    """Files in PEM. `key` is open, `locked_key` wants KEY_PASSWORD."""

    folder: Path

    @property
    def authority(self) -> Path:
        return self.folder / "ca.pem"

    @property
    def certificate(self) -> Path:
        return self.folder / "leaf.pem"

    @property
    def key(self) -> Path:
        return self.folder / "leaf.key"

    @property
    def locked_key(self) -> Path:
        return self.folder / "locked.key"

    def server_context(self) -> ssl.SSLContext:
        """Return TLS that lets in only who has a certificate of this house."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        context.load_verify_locations(self.authority)
        context.verify_mode = ssl.CERT_REQUIRED
        return context


@dataclass(frozen=True)
class Issued:
    """A certificate and its key, each in a file."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates; its own is what clients and servers are told to trust."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._signed = _signed(name, self._key, self._key, issuer=None)
        self.certificate = folder / f"{name}.pem"
        self.certificate.write_bytes(self._signed.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, *, days: int = 1) -> Issued:
        """Sign a certificate for a name on the loopback; less than no days, and it has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        signed = _signed(name, key, self._key, self._signed, days=days)
        issued = Issued(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        issued.certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        issued.key.write_bytes(_pem(key, serialization.NoEncryption()))
        return issued


def make_certificates(folder: Path) -> Certificates:
    """Write the files; a key of elliptic curves takes no time to make."""
    made = Certificates(folder)
    folder.mkdir(parents=True)
    ca_key, leaf_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca = _signed("a test's authority", ca_key, ca_key, issuer=None)
    leaf = _signed("127.0.0.1", leaf_key, ca_key, issuer=ca)
    made.authority.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    made.certificate.write_bytes(leaf.public_bytes(serialization.Encoding.PEM))
    made.key.write_bytes(_pem(leaf_key, serialization.NoEncryption()))
    locked = serialization.BestAvailableEncryption(KEY_PASSWORD.encode())
    made.locked_key.write_bytes(_pem(leaf_key, locked))
    return made


def _pem(
    key: ec.EllipticCurvePrivateKey, locked: serialization.KeySerializationEncryption
) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked)


def _signed(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    *,
    days: int = 1,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=3))
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    if issuer is not None:
        here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        made = made.add_extension(x509.SubjectAlternativeName([here]), critical=False)
    return made.sign(signer, hashes.SHA256())
