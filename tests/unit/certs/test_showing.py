from __future__ import annotations

import hashlib
import ssl

import pytest

from extapi.certs.failure import CertsFailure
from extapi.certs.showing import show
from tests import certificates
from tests.unit.certs.place import DAY, Place


def shown(place: Place, *, readable: bool = True) -> list[str]:
    said: list[str] = []
    assert show(place.paths, now=place.now, say=said.append) is readable
    return [line.replace(f"{place.paths.directory}/", "") for line in said]


def fingerprint(text: str) -> str:
    """As ``openssl x509 -fingerprint -sha256`` prints it."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(text)).digest().hex(":").upper()


def test_everything_about_each_certificate(place: Place) -> None:
    place.ensure("10.0.0.1")
    assert shown(place) == [
        "ca.crt: CN=extapi serving CA 2030-01-01T00:00:00Z",
        "  issuer       CN=extapi serving CA 2030-01-01T00:00:00Z (itself)",
        "  not before   2029-12-31T23:55:00Z",
        "  not after    2039-12-30T00:00:00Z (in 3650 days)",
        "  key          EC secp256r1, in ca.key",
        f"  SHA-256      {fingerprint(place.paths.authorities.read_text())}",
        "tls.crt: CN=pizza.restaurant.svc",
        "  issuer       CN=extapi serving CA 2030-01-01T00:00:00Z (in ca.crt)",
        "  names        pizza.restaurant.svc, pizza.restaurant.svc.cluster.local, pizza.restaurant, pizza, 10.0.0.1",
        "  not before   2029-12-31T23:55:00Z",
        "  not after    2031-01-01T00:00:00Z (in 365 days)",
        "  key          EC secp256r1, in tls.key",
        f"  SHA-256      {fingerprint(place.paths.certificate.read_text())}",
    ]


def test_a_rotation_in_the_middle(place: Place) -> None:
    place.ensure()
    place.now += DAY
    place.begin()
    told = [line for line in shown(place) if not line.startswith(("  not ", "  SHA", "  names"))]
    assert told == [
        "ca.crt: CN=extapi serving CA 2030-01-01T00:00:00Z",
        "  issuer       CN=extapi serving CA 2030-01-01T00:00:00Z (itself)",
        "  key          EC secp256r1, in ca.key",
        "ca.crt: CN=extapi serving CA 2030-01-02T00:00:00Z",
        "  issuer       CN=extapi serving CA 2030-01-02T00:00:00Z (itself)",
        "  key          EC secp256r1, in next-ca.key",
        "tls.crt: CN=pizza.restaurant.svc",
        "  issuer       CN=extapi serving CA 2030-01-01T00:00:00Z (in ca.crt)",
        "  key          EC secp256r1, in tls.key",
    ]


def test_times(place: Place) -> None:
    place.ensure()
    told: list[str] = []
    for now in (364 * DAY + DAY / 2, 366 * DAY, -DAY):
        place.now += now
        told += [line for line in shown(place) if line.startswith("  not ")][2:]
        place.now -= now
    assert told == [
        "  not before   2029-12-31T23:55:00Z",
        "  not after    2031-01-01T00:00:00Z (in 12 hours)",
        "  not before   2029-12-31T23:55:00Z",
        "  not after    2031-01-01T00:00:00Z (expired)",
        "  not before   2029-12-31T23:55:00Z (not yet)",
        "  not after    2031-01-01T00:00:00Z (in 366 days)",
    ]


def test_what_does_not_belong_together_is_shown_all_the_same(place: Place) -> None:
    place.ensure()
    other = certificates.authority("other")
    place.paths.certificate.write_bytes(other.leaf("theirs").pem)
    told = shown(place)
    assert "  issuer       CN=other (not here)" in told
    assert "  key          EC secp256r1, not here" in told
    assert told[-1] == "tls.key: EC secp256r1, the key of none of these"


def test_what_cannot_be_read_is_said_and_the_rest_shown(place: Place) -> None:
    place.ensure()
    place.paths.certificate.write_text("damaged")
    told = shown(place, readable=False)
    assert told[0] == "ca.crt: CN=extapi serving CA 2030-01-01T00:00:00Z"
    assert told[-1].startswith("tls.crt holds no certificates in PEM (")


def test_an_empty_directory_is_named(place: Place) -> None:
    with pytest.raises(
        CertsFailure, match=r"there is nothing in .*/deploy/certs: make certificates with extapi certs --service"
    ):
        show(place.paths, now=place.now, say=print)
