"""Files that do not belong together, and those that others may read."""

from __future__ import annotations

import re

import pytest
from cryptography.hazmat.primitives import serialization

from extapi.certs.directory import load
from extapi.certs.failure import CertsFailure
from tests import certificates
from tests.unit.certs.place import Place, pem


@pytest.fixture
def made(place: Place) -> Place:
    place.ensure()
    return place


def refusal(place: Place) -> str:
    """Every command says the same, and leaves the files alone."""
    before = place.contents()
    texts = set()
    for run in (place.ensure, place.begin, place.switch, place.finish):
        with pytest.raises(CertsFailure) as caught:
            run()
        texts.add(str(caught.value))
    assert place.contents() == before
    (text,) = texts
    return text.replace(f"{place.paths.directory}/", "")


def test_a_key_of_another_authority(made: Place) -> None:
    made.paths.authority_key.write_bytes(certificates.authority("other").key_pem)
    assert refusal(made) == (
        'ca.key is the key of no certificate in ca.crt ("CN=extapi serving CA 2030-01-01T00:00:00Z"): '
        "put the key and the certificate there that belong together"
    )


def test_a_certificate_of_another_authority(made: Place) -> None:
    made.paths.certificate.write_bytes(certificates.authority("other").leaf("theirs").pem)
    assert refusal(made) == (
        '"CN=theirs" in tls.crt (issuer "CN=other") is signed by no authority in ca.crt '
        '("CN=extapi serving CA 2030-01-01T00:00:00Z"): add its authority there, or move tls.crt and tls.key away to have '
        "new ones made"
    )


def test_a_certificate_without_its_authority(made: Place) -> None:
    made.paths.authorities.unlink()
    assert refusal(made) == (
        'ca.crt is missing, but there is a certificate "CN=pizza.restaurant.svc" in tls.crt: put its authority there, or '
        "move all files away to start over"
    )


def test_something_else_among_the_authorities(made: Place) -> None:
    made.paths.authorities.write_bytes(
        made.paths.authorities.read_bytes() + certificates.authority("x").leaf("leaf").pem
    )
    assert refusal(made).startswith('"CN=leaf" in ca.crt is no authority (CA:TRUE, and certificate signing')


def test_a_key_without_its_certificate(made: Place) -> None:
    made.paths.certificate.unlink()
    assert refusal(made) == "tls.key has no tls.crt beside it: put it there, or move the key away"


@pytest.mark.parametrize("name", ["ca.crt", "ca.key", "next-ca.key", "tls.crt", "tls.key"])
def test_a_damaged_file(made: Place, name: str) -> None:
    (made.paths.directory / name).write_text("damaged")
    assert re.match(rf"{name} holds no (certificates|private key) in PEM \(", refusal(made))


def test_an_encrypted_key_of_the_operators_authority(made: Place) -> None:
    made.paths.authority_key.write_bytes(
        certificates.authority("mine").key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    assert "the private key in ca.key is encrypted: decrypt it first" in refusal(made)


def test_keys_that_others_may_read_are_told_with_the_remedy(made: Place) -> None:
    made.paths.key.chmod(0o640)
    made.paths.authority_key.chmod(0o604)
    made.paths.directory.chmod(0o770)
    directory = made.paths.directory
    assert made.paths.warnings() == [
        f"{directory}/ca.key can be read by others: chmod 600 {directory}/ca.key",
        f"{directory}/tls.key can be read by others: chmod 600 {directory}/tls.key",
        f"{directory} can be written by others, who could put keys there: chmod 700 {directory}",
    ]
    directory.chmod(0o755)
    made.paths.key.chmod(0o400)
    made.paths.authority_key.chmod(0o600)
    assert made.paths.warnings() == []


def test_of_two_certificates_of_one_key_the_one_that_lasts_longer_signs(made: Place) -> None:
    mine = certificates.authority("mine")
    short = certificates.authority("mine", key=mine.key, expired=True)
    made.paths.certificate.unlink()
    made.paths.key.unlink()
    made.paths.authority_key.write_bytes(mine.key_pem)
    for order in ((mine, short), (short, mine)):
        made.paths.authorities.write_bytes(b"".join(pem(each.certificate) for each in order))
        signer = load(made.paths).signer
        assert signer is not None
        assert signer.certificate == mine.certificate
