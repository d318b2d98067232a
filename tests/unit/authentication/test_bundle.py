"""CA bundles: the nasty points of client certificates, judged as Go's crypto/x509 judges them, and files that change."""

from __future__ import annotations

import datetime as dt
import time
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID, NameOID

from extapi.authentication.authenticator import AuthenticationError
from extapi.authentication.bundle import (
    BUNDLE_LIMIT,
    MAX_INTERMEDIATES,
    RELOAD_SECONDS,
    Bundle,
    BundleError,
    BundleFile,
)
from extapi.authentication.clientcertificate import ClientCertificate
from extapi.authentication.trust import TrustSettings
from tests.certificates import BOTH, CLIENT, SERVER, Issued, authority, bundle, self_signed
from tests.unit.client.building import call, now, run

ANY = (ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,)


def _verify(pem: bytes, *presented: x509.Certificate, now: float | None = None) -> float:
    return Bundle(pem).verify(presented, time.time() if now is None else now).expires


@pytest.mark.parametrize("eku", [CLIENT, BOTH, ANY, ()])
def test_a_leaf_of_the_authority_is_good(eku: tuple[x509.ObjectIdentifier, ...]) -> None:
    ca = authority("ca")
    leaf = ca.leaf("me", eku=eku)
    assert _verify(ca.pem, *leaf.chain) == leaf.certificate.not_valid_after_utc.timestamp()


def test_a_server_certificate_is_no_client_certificate() -> None:
    ca = authority("ca")
    with pytest.raises(AuthenticationError, match="x509: certificate specifies an incompatible key usage"):
        _verify(ca.pem, *ca.leaf("me", eku=SERVER).chain)


def test_an_intermediate_for_servers_cannot_vouch_for_clients() -> None:
    ca = authority("ca")
    with pytest.raises(AuthenticationError, match="incompatible key usage"):
        _verify(ca.pem, *ca.intermediate("middle", eku=SERVER).leaf("me", eku=CLIENT).chain)
    assert _verify(ca.pem, *ca.intermediate("middle", eku=CLIENT).leaf("me", eku=CLIENT).chain)


def test_key_usage_counts_up_to_the_anchor() -> None:
    middle = authority("ca").intermediate("middle", eku=SERVER)
    with pytest.raises(AuthenticationError, match="incompatible key usage"):
        _verify(middle.pem, middle.leaf("me", eku=CLIENT).certificate)


def test_expired_in_the_words_of_go() -> None:
    ca = authority("ca")
    leaf = ca.leaf("me", expired=True)
    end = leaf.certificate.not_valid_after_utc.strftime("%Y-%m-%dT%H:%M:%SZ")
    with pytest.raises(AuthenticationError) as caught:
        _verify(ca.pem, *leaf.chain)
    text = str(caught.value)
    assert text.startswith(f"verifying certificate SN={leaf.certificate.serial_number}, SKID=")
    assert "failed: x509: certificate has expired or is not yet valid: current time 20" in text
    assert text.endswith(f"is after {end}")


def test_not_yet_valid() -> None:
    ca = authority("ca")
    with pytest.raises(AuthenticationError, match=r"is not yet valid: current time .* is before 20"):
        _verify(ca.pem, *ca.leaf("me", not_yet_valid=True).chain)


def test_time_is_that_of_the_clock() -> None:
    ca = authority("ca")
    leaf = ca.leaf("me")
    end = leaf.certificate.not_valid_after_utc.timestamp()
    trusted = Bundle(ca.pem)
    trusted.verify(leaf.chain, end - 1)
    with pytest.raises(AuthenticationError, match="expired"):
        trusted.verify(leaf.chain, end + 1)
    trusted.verify(leaf.chain, end - 1)


def test_an_expired_intermediate() -> None:
    ca = authority("ca")
    with pytest.raises(AuthenticationError, match="expired"):
        _verify(ca.pem, *ca.intermediate("middle", expired=True).leaf("me").chain)


def test_an_expired_anchor() -> None:
    ca = authority("ca", expired=True)
    with pytest.raises(AuthenticationError, match="expired"):
        _verify(ca.pem, *ca.leaf("me").chain)


@pytest.mark.parametrize("presented", ["other", "self-signed", "same name"])
def test_a_stranger_is_signed_by_unknown_authority(presented: str) -> None:
    ca = authority("ca")
    strangers: dict[str, Issued] = {
        "other": authority("other").leaf("me"),
        "self-signed": self_signed("me"),
        "same name": authority("ca").leaf("me"),
    }
    with pytest.raises(AuthenticationError):
        _verify(ca.pem, *strangers[presented].chain)


def test_unknown_authority_in_the_words_of_go() -> None:
    with pytest.raises(AuthenticationError, match="x509: certificate signed by unknown authority"):
        _verify(authority("ca").pem, *authority("other").leaf("me").chain)


def test_a_bundle_that_holds_only_an_intermediate() -> None:
    middle = authority("ca").intermediate("middle")
    assert _verify(middle.pem, middle.leaf("me").certificate)
    assert _verify(middle.pem, *middle.leaf("me").chain)


def test_a_bundle_that_holds_the_leaf_itself() -> None:
    leaf = authority("ca").leaf("me")
    assert _verify(leaf.pem, leaf.certificate)


def test_a_missing_intermediate() -> None:
    ca = authority("ca")
    with pytest.raises(AuthenticationError, match="unknown authority"):
        _verify(ca.pem, ca.intermediate("middle").leaf("me").certificate)


def test_no_authority_key_identifier() -> None:
    ca = authority("ca")
    assert _verify(ca.pem, *ca.leaf("me", authority_key_identifier=False).chain)


def test_a_leaf_cannot_sign() -> None:
    ca = authority("ca")
    leaf = ca.leaf("me")
    child = leaf.leaf("child")
    with pytest.raises(AuthenticationError):
        _verify(ca.pem, child.certificate, leaf.certificate)


def test_old_and_new_authority_in_one_bundle() -> None:
    old, new = authority("ca"), authority("ca")
    pem = bundle(old, new)
    assert _verify(pem, *old.leaf("me").chain)
    assert _verify(pem, *new.leaf("me").chain)


def test_the_earliest_expiry_of_the_chain_counts() -> None:
    ca = authority("ca")
    middle = ca.intermediate("middle")
    late = _lasting(middle, days=400)
    assert _verify(ca.pem, late, middle.certificate) == middle.certificate.not_valid_after_utc.timestamp()


def test_weak_signatures_are_refused() -> None:
    in_time = dt.datetime(2027, 1, 1, tzinfo=dt.UTC).timestamp()
    leaf = x509.load_pem_x509_certificate(_SHA1_LEAF)
    with pytest.raises(AuthenticationError, match="insecure algorithm SHA1"):
        _verify(_SHA1_CA, leaf, now=in_time)


def test_too_many_intermediates() -> None:
    ca = authority("ca")
    leaf = ca.leaf("me")
    with pytest.raises(AuthenticationError, match=f"more than {MAX_INTERMEDIATES} intermediate"):
        _verify(ca.pem, leaf.certificate, *[ca.certificate] * (MAX_INTERMEDIATES + 1))


def test_a_malformed_extension_is_no_crash() -> None:
    ca = authority("ca")
    broken = x509.UnrecognizedExtension(ExtensionOID.EXTENDED_KEY_USAGE, b"\x30\x03nope")
    settings = TrustSettings()
    settings.trust_clients(ca.pem)
    asked = call(certificates=(_lasting(ca, extension=broken),))
    with pytest.raises(AuthenticationError):
        run(ClientCertificate(settings, now()).authenticate(asked))


@pytest.mark.parametrize(
    "pem",
    [b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", b"x" * (BUNDLE_LIMIT + 1)],
)
def test_no_bundle(pem: bytes) -> None:
    with pytest.raises(BundleError, match="a CA bundle"):
        Bundle(pem)


def _lasting(
    issuer: Issued,
    *,
    days: int = 5,
    extension: x509.ExtensionType | None = None,
) -> x509.Certificate:
    """A leaf with what the generator of all tests has no option for."""
    now = dt.datetime.now(dt.UTC)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "me")]))
        .issuer_name(issuer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=days))
    )
    if extension is not None:
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(issuer.key, hashes.SHA256())


# The cryptography package does not sign with SHA-1; made with openssl, valid from 2026-11-21 to 2036-11-18.
_SHA1_CA = b"""\
-----BEGIN CERTIFICATE-----
MIIBcDCCARWgAwIBAgIUU5R8cvRHhsbtiRLJmkUScx4BacswCgYIKoZIzj0EAwIw
DTELMAkGA1UEAwwCY2EwHhcNMjYxMTIxMTIyMDAwWhcNMzYxMTE4MTIyMDAwWjAN
MQswCQYDVQQDDAJjYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABA6Tf+dnjdEm
RBFQJ9uWQG/FCS8rXtLnsUhzsaEvpcYpQHzRk5IRb64VvnCG2RIm/Ga9MkEhdGBh
DczK4FVfQPSjUzBRMB0GA1UdDgQWBBRmttBE2d5A4e9npGAgPTaZgJvaETAfBgNV
HSMEGDAWgBRmttBE2d5A4e9npGAgPTaZgJvaETAPBgNVHRMBAf8EBTADAQH/MAoG
CCqGSM49BAMCA0kAMEYCIQCAyUR2Wjppn5z9nMiXw0syJAyud2qQsuBC/FmW8foq
FwIhAIIk4yklY91aUixWcvS07xEhCxYNR/99ack/zoJSyDFL
-----END CERTIFICATE-----
"""
_SHA1_LEAF = b"""\
-----BEGIN CERTIFICATE-----
MIIBEjCBugIUAwXbsNXgV6rH3OWZUmxdlR4OqaowCQYHKoZIzj0EATANMQswCQYD
VQQDDAJjYTAeFw0yNjExMjExMjIwMDBaFw0zNjExMTgxMjIwMDBaMA0xCzAJBgNV
BAMMAm1lMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAESDJZ5YwYzRBROkUuGZ7C
e1ee3csKVLA2j6n3wUZafuzdu+62vhbC+0x5emgoG9D6UPI+dKXRAdYGD/xmbpHG
zTAJBgcqhkjOPQQBA0gAMEUCIALdfSvugMKl7875W7GObdd0rumUC3GtLHtJM7+m
kO3uAiEAoNqhEC9QItZ0sWt1h+jmedF81XBCNK8GTmnqihM51pQ=
-----END CERTIFICATE-----
"""


def test_a_certificate_with_thousands_of_extensions_is_not_searched_for_its_identifiers() -> None:
    stranger = authority("other")
    many = stranger.leaf("me", san=[f"a{number}.example.com" for number in range(2000)])
    few = stranger.leaf("me", san=["a.example.com"])
    for leaf, found in ((many, False), (few, True)):
        with pytest.raises(AuthenticationError, match="signed by unknown authority") as caught:
            _verify(authority("ca").pem, *leaf.chain)
        assert ("SKID=, AKID= failed" not in str(caught.value)) is found


def test_it_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    first, second = authority("a").pem, authority("b").pem
    path.write_bytes(first)
    settings = TrustSettings()
    clock: Any = now()
    file = BundleFile(path, settings.trust_clients, clock)
    file.load()
    file.start()
    assert settings.client_ca is not None
    assert settings.client_ca.pem == first
    generation = settings.generation

    clock.advance(RELOAD_SECONDS)
    assert settings.generation == generation
    path.write_bytes(b"half written")
    clock.advance(RELOAD_SECONDS)
    assert settings.client_ca.pem == first
    path.unlink()
    clock.advance(RELOAD_SECONDS)
    assert settings.client_ca.pem == first
    path.write_bytes(second)
    clock.advance(RELOAD_SECONDS)
    assert settings.client_ca.pem == second
    assert settings.generation == generation + 1

    file.stop()
    path.write_bytes(first)
    clock.advance(2 * RELOAD_SECONDS)
    assert settings.client_ca.pem == second
    assert clock.getDelayedCalls() == []


def test_a_start_without_it_is_an_error(tmp_path: Path) -> None:
    file = BundleFile(tmp_path / "none.crt", TrustSettings().trust_proxies, now())
    with pytest.raises(BundleError, match=r"cannot read the CA bundle .*none\.crt: No such file"):
        file.load()
    (tmp_path / "none.crt").write_bytes(b"x")
    with pytest.raises(
        BundleError, match=r"none\.crt: requestheader-client-ca-file: a CA bundle holds no usable certificates"
    ):
        file.load()
    file.stop()
