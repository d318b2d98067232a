"""The serving CA is rotated: old and new in the caBundle, a certificate of the new one, then the old one out.

Without a restart of the server, and without one request that fails meanwhile.
"""

from __future__ import annotations

import shutil
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509

from extapi.dev.ports import LOOPBACK
from tests.certificates import SERVER, Paths, authority
from tests.kubernetes import second
from tests.kubernetes.calling import Caller
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer
from tests.kubernetes.registration import HOST, Registration
from tests.kubernetes.second import SecondServer
from tests.kubernetes.traffic import Traffic
from tests.kubernetes.watching import watching
from tests.kubernetes.who import NOTES, REVIEWS, note, review
from tests.waiting import until


@pytest.fixture
def files(control_plane: ControlPlane, tmp_path: Path) -> Paths:
    """The serving certificate and its key, which may be replaced."""
    mine = Paths(tmp_path / "tls.crt", tmp_path / "tls.key")
    shutil.copy(control_plane.certificates.certificate("extension-server"), mine.certificate)
    shutil.copy(control_plane.certificates.key("extension-server"), mine.key)
    return mine


@pytest.fixture
def server(
    control_plane: ControlPlane, extension_server: ExtensionServer, files: Paths, tmp_path: Path
) -> Iterator[SecondServer]:
    flags = [f"--tls-cert-file={files.certificate}", f"--tls-private-key-file={files.key}"]
    with second.running(control_plane, "tests.kubernetes.who:api", tmp_path, "memory:", flags) as server:
        yield server


def served(port: int) -> int:
    """The serial number of the certificate that new connections meet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection((LOOPBACK, port), 30) as sock, context.wrap_socket(sock) as stream:
        return x509.load_der_x509_certificate(stream.getpeercert(binary_form=True) or b"").serial_number


def test_the_serving_authority_is_rotated_under_traffic(
    control_plane: ControlPlane, admin: Caller, server: SecondServer, files: Paths, tmp_path: Path
) -> None:
    service = Registration(control_plane.client, "v1.who.example.com")
    old = control_plane.certificates.certificate("serving-ca").read_bytes()
    authorities = authority("new-serving-ca")
    leaf = authorities.leaf("extension-server", san=[HOST, "localhost"], eku=SERVER)
    before = service.condition()
    assert before["status"] == "True"

    with (
        watching(admin, NOTES) as watch,
        Traffic(lambda _: admin("POST", REVIEWS, review())) as asking,
        Traffic(lambda number: admin("POST", NOTES, note(f"traffic-{number}"))) as writing,
    ):
        asking.further()
        service.trust(old + authorities.pem)
        asking.further()
        fresh = leaf.save(tmp_path, "fresh")
        fresh.key.replace(files.key)
        fresh.certificate.replace(files.certificate)
        until(lambda: served(server.port) == leaf.certificate.serial_number, 30)
        asking.further()
        service.trust(authorities.pem)
        asking.further()
        writing.further()
        assert admin("POST", NOTES, note("last")).status == 201
        watch.until("last")
    assert service.condition() == before
    # It is the same process: what it holds is in memory alone.
    assert len(admin("GET", NOTES).json["items"]) == writing.count + 1
    # The bundle does decide: kube-apiserver keeps connections by bundle, so that this is one it has not had yet.
    service.trust(authority("third-ca").pem)
    until(lambda: service.condition()["status"] == "False", 60)
    assert service.condition()["message"].endswith("x509: certificate signed by unknown authority")
