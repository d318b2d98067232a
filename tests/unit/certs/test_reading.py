"""Files that are not as they have to be: the message names the file, and what to do."""

from __future__ import annotations

import base64
import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PrivateFormat

from extapi.certs.failure import CertsFailure
from extapi.certs.reading import hosts, is_authority, read_certificates, read_key, vouches
from extapi.issuing import make_authority, make_server, new_key, self_sign
from tests import certificates
from tests.unit.certs.place import DAY
from tests.unit.test_issuing import NOW

PLAIN = serialization.NoEncryption()
CA = certificates.authority("ca")


def refusal(reader: Callable[[Path], object], path: Path) -> str:
    with pytest.raises(CertsFailure) as caught:
        reader(path)
    return str(caught.value)


def test_what_is_not_there_is_no_mistake(tmp_path: Path) -> None:
    assert read_certificates(tmp_path / "ca.crt") == ()
    assert read_key(tmp_path / "ca.key") is None


def test_certificates_come_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    other = certificates.authority("other")
    path.write_bytes(b"# a comment\n" + CA.pem + b"\n" + other.pem)
    assert read_certificates(path) == (CA.certificate, other.certificate)


@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL])
@pytest.mark.parametrize(
    "key",
    [
        rsa.generate_private_key(65537, 2048),
        *(ec.generate_private_key(c()) for c in (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)),
    ],
    ids=["RSA", "P-256", "P-384", "P-521"],
)
def test_keys_in_the_forms_that_openssl_writes(
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, form: PrivateFormat, tmp_path: Path
) -> None:
    path = tmp_path / "ca.key"
    path.write_bytes(key.private_bytes(Encoding.PEM, form, PLAIN))
    found = read_key(path)
    assert found is not None
    assert found.public_key() == key.public_key()


@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL])
def test_an_encrypted_key(form: PrivateFormat, tmp_path: Path) -> None:
    path = tmp_path / "ca.key"
    path.write_bytes(CA.key.private_bytes(Encoding.PEM, form, serialization.BestAvailableEncryption(b"x")))
    assert refusal(read_key, path) == (
        f"the private key in {path} is encrypted: decrypt it first (openssl pkey -in {path} -out FILE)"
    )


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (ed25519.Ed25519PrivateKey.generate(), "Ed25519"),
        (ec.generate_private_key(ec.SECP256K1()), "EC secp256k1"),
        (rsa.generate_private_key(65537, 1024), "RSA 1024 bits"),  # noqa: S505  # it is refused
    ],
    ids=["Ed25519", "another curve", "short RSA"],
)
def test_a_key_of_a_kind_that_is_not_taken(
    key: ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "ca.key"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, PLAIN))
    assert refusal(read_key, path) == (
        f"the private key in {path} ({kind}) cannot be used: use EC on P-256, P-384 or P-521, or RSA of at least 2048 bits"
    )


def test_files_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"", b"nonsense", CA.certificate.public_bytes(Encoding.DER)):
        path.write_bytes(content)
        assert refusal(read_certificates, path).startswith(f"{path} holds no certificates in PEM (")
        assert refusal(read_key, path).startswith(f"{path} holds no private key in PEM (")
    path.write_bytes(CA.key_pem)
    assert "a private key" in refusal(read_certificates, path)
    path.write_bytes(CA.pem)
    assert refusal(read_key, path).startswith(f"{path} holds no private key in PEM (")


def armored(der: bytes) -> bytes:
    return b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(der) + b"-----END CERTIFICATE-----\n"


def test_a_version_of_certificates_that_there_is_not(tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    der = CA.certificate.public_bytes(Encoding.DER)
    path.write_bytes(armored(der.replace(bytes.fromhex("a003020102"), bytes.fromhex("a003020109"))))
    assert refusal(read_certificates, path).startswith(
        f"{path} holds no certificates in PEM (9 is not a valid X509 version"
    )


KEY_USAGE = bytes.fromhex("0603551d0f")
"""How the extension of that name begins in DER (RFC 5280, 4.2.1.3)."""


@pytest.mark.parametrize(
    ("sound", "broken"),
    [
        (KEY_USAGE + bytes.fromhex("0101ff040403"), KEY_USAGE + bytes.fromhex("0101ff040405")),
        (KEY_USAGE, bytes.fromhex("0603551d13")),
        (bytes.fromhex("06082a8648ce3d030107"), bytes.fromhex("06082a8648ce3d03017f")),
    ],
    ids=["extension", "the same extension twice", "curve"],
)
def test_a_certificate_that_makes_no_sense(tmp_path: Path, sound: bytes, broken: bytes) -> None:
    """Found at once, and not only when what is broken in it is looked at."""
    der = CA.certificate.public_bytes(Encoding.DER)
    assert sound in der
    path = tmp_path / "ca.crt"
    path.write_bytes(CA.pem + armored(der.replace(sound, broken)))
    assert refusal(read_certificates, path).startswith(f"certificate 2 in {path} cannot be parsed (")


def test_a_key_among_certificates_is_not_given_away(tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    path.write_bytes(CA.pem + CA.key_pem)
    assert refusal(read_certificates, path) == (
        f"{path} also holds a private key, but is a public file: move the key to another file"
    )


def test_what_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(read_key, tmp_path) == f"cannot read {tmp_path}: Is a directory"

    def denied(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", denied)  # root may read everything
        assert refusal(read_key, tmp_path / "ca.key") == (
            f"cannot read {tmp_path}/ca.key: Permission denied; run this as the owner of the file"
        )
    (tmp_path / "file").touch()
    assert refusal(read_certificates, tmp_path / "file" / "ca.crt") == (
        f"cannot read {tmp_path}/file/ca.crt: Not a directory"
    )


def built(*extensions: x509.ExtensionType) -> x509.Certificate:
    key = new_key()
    name = x509.Name([])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, NOW, NOW + DAY)
    for extension in extensions:
        builder = builder.add_extension(extension, critical=True)
    return builder.sign(key, hashes.SHA256())


def test_an_authority_is_what_go_takes_for_one() -> None:
    # crypto/x509, Certificate.CheckSignatureFrom
    constraints = x509.BasicConstraints(ca=True, path_length=0)
    usage = CA.certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    wrong_usage = CA.leaf("a").certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    assert is_authority(built(constraints))
    assert is_authority(built(constraints, usage))
    assert not is_authority(built(constraints, wrong_usage))
    assert not is_authority(built())
    assert not is_authority(built(usage))
    assert not is_authority(CA.leaf("a").certificate)


def test_an_authority_vouches_for_what_it_signed_in_its_name() -> None:
    authority = make_authority("ca", now=NOW)
    leaf = make_server(authority, "a", ["a", "10.0.0.1"], now=NOW).certificate
    assert vouches(authority.certificate, leaf)
    assert vouches(authority.certificate, authority.certificate)
    assert not vouches(make_authority("ca", now=NOW).certificate, leaf)
    assert not vouches(self_sign("other", authority.key, now=NOW), leaf)
    assert not vouches(self_sign("ca", rsa.generate_private_key(65537, 2048), now=NOW), leaf)
    assert hosts(leaf) == ["a", "10.0.0.1"]
    assert hosts(authority.certificate) == []
