"""A client certificate in files that change."""

from __future__ import annotations

from pathlib import Path

import pytest
from twisted.logger import capturedLogs

from extapi.client.clientpair import ClientPair
from tests.certificates import CLIENT, Issued, Paths, authority

CA = authority("front-proxy-ca")


@pytest.fixture
def first() -> Issued:
    return CA.leaf("front-proxy-client", eku=CLIENT)


@pytest.fixture
def paths(first: Issued, tmp_path: Path) -> Paths:
    return first.save(tmp_path, "proxy")


@pytest.fixture
def certificate(paths: Paths) -> ClientPair:
    made = ClientPair(paths.certificate, paths.key, "the front proxy's")
    made.current()
    return made


def test_the_pair_is_what_the_files_hold(certificate: ClientPair, first: Issued) -> None:
    assert certificate.current() == (first.chain_pem, first.key_pem)
    assert certificate.current() is certificate.current()


def test_a_new_pair_counts_as_soon_as_both_halves_are_there(
    certificate: ClientPair, first: Issued, paths: Paths
) -> None:
    second = CA.leaf("front-proxy-client", eku=CLIENT)
    with capturedLogs() as logs:
        paths.key.write_bytes(second.key_pem)
        for _ in range(3):
            assert certificate.current().certificate == first.chain_pem
    text = f"the key in {paths.key} is not that of the certificate in {paths.certificate}"
    assert [event["error"] for event in logs] == [text]  # once, however often it is looked at
    paths.certificate.write_bytes(second.chain_pem)
    assert certificate.current() == (second.chain_pem, second.key_pem)


@pytest.mark.parametrize(
    ("broken", "text"), [("certificate", "no PEM certificate in {path}"), ("key", "no usable private key in {path}")]
)
def test_what_is_no_pem_is_not_taken(
    certificate: ClientPair, first: Issued, paths: Paths, broken: str, text: str
) -> None:
    path: Path = getattr(paths, broken)
    path.write_bytes(b"hello")
    with capturedLogs() as logs:
        assert certificate.current().key == first.key_pem
    assert logs[0]["error"].startswith(text.format(path=path))
    path.unlink()
    with capturedLogs() as logs:
        assert certificate.current().key == first.key_pem
    assert str(path) in logs[0]["error"]


def test_there_has_to_be_a_pair_in_the_beginning(tmp_path: Path, paths: Paths) -> None:
    with pytest.raises(FileNotFoundError):
        ClientPair(tmp_path / "none", paths.key, "one").current()
    with pytest.raises(ValueError, match="no PEM certificate in"):
        ClientPair(paths.key, paths.key, "one").current()
