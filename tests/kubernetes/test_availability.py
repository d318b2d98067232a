"""What kube-apiserver says of a server that is absent, slow, somebody else's or out of date, and how soon.

Reasons and messages are those of ``kube-aggregator/pkg/controllers/status/remote`` and of Go's net/http, crypto/tls and
crypto/x509: the same on both control planes.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.certificates import SERVER, Issued, Paths, authority
from tests.kubernetes.backend import Answering, Backend, answer, discovery
from tests.kubernetes.calling import Caller
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.registration import HOST, registered
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("extension_server")

NAME, OTHER = "v1.absent.example.com", "v1.slow.example.com"
DISCOVERY_SECONDS = 5.0
"""What a server has for its answer to a probe, and to a request for its discovery (behaviour D1, D8)."""


@pytest.fixture(scope="module")
def ca() -> Issued:
    return authority("availability-ca")


@pytest.fixture
def leaf(ca: Issued, tmp_path: Path) -> Callable[..., Paths]:
    """A serving certificate: ``leaf()`` is as it should be; ``by`` another authority, ``host`` for another name."""

    def make(by: Issued | None = None, host: str = HOST, *, expired: bool = False, early: bool = False) -> Paths:
        issued = (by or ca).leaf("server", san=[host], eku=SERVER, expired=expired, not_yet_valid=early)
        return issued.save(tmp_path, f"{issued.certificate.serial_number:x}")

    return make


@pytest.fixture
def backends() -> Iterator[list[Backend]]:
    """What serves during the test; put it here."""
    started: list[Backend] = []
    yield started
    for each in started:
        each.close()


def refusing(status: str) -> Answering:
    return lambda _: answer(b"", status, "Location: /elsewhere")


TOO_SLOW = (
    # Which of its clocks Go reads first differs from one probe to the next.
    "context deadline exceeded",
    "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
    "net/http: request canceled (Client.Timeout exceeded while awaiting headers)",
)
X509 = "tls: failed to verify certificate: x509: "
TIME = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"
OUT_OF_DATE = X509 + f"certificate has expired or is not yet valid: current time {TIME} is "

SERVERS: dict[str, tuple[Callable[[Callable[..., Paths]], tuple[Paths | None, Answering]], str]] = {
    "of a foreign authority": (
        lambda leaf: (leaf(authority("another-ca")), discovery),
        f'Get "URL": {X509}certificate signed by unknown authority',
    ),
    "for another name": (
        lambda leaf: (leaf(host="localhost"), discovery),
        f'Get "URL": {X509}certificate is valid for localhost, not {re.escape(HOST)}',
    ),
    "expired": (lambda leaf: (leaf(expired=True), discovery), f'Get "URL": {OUT_OF_DATE}after {TIME}'),
    "not valid yet": (lambda leaf: (leaf(early=True), discovery), f'Get "URL": {OUT_OF_DATE}before {TIME}'),
    "that does not know the front proxy": (lambda leaf: (leaf(), refusing("401 Unauthorized")), "bad status from URL: 401"),
    "that refuses": (lambda leaf: (leaf(), refusing("403 Forbidden")), "bad status from URL: 403"),
    "that redirects": (lambda leaf: (leaf(), refusing("302 Found")), "bad status from URL: 302"),
    "that hangs up": (lambda leaf: (leaf(), lambda _: b""), 'Get "URL": EOF'),
    "without TLS": (
        lambda _: (None, discovery),
        # The built-in one has OpenSSL's words.
        'Get "URL": (http: server gave HTTP response to HTTPS client|tls: wrong version number)',
    ),
}  # fmt: skip


@pytest.mark.parametrize("server", SERVERS)
def test_the_condition_names_what_is_wrong_with_a_server(
    control_plane: ControlPlane,
    admin: Caller,
    ca: Issued,
    leaf: Callable[..., Paths],
    backends: list[Backend],
    server: str,
) -> None:
    make, problem = SERVERS[server]
    backend = Backend(*make(leaf))
    backends.append(backend)
    with registered(control_plane.client, NAME, backend.port, ca.pem) as service:
        condition = until(service.condition, 30)
        assert (condition["status"], condition["reason"]) == ("False", "FailedDiscoveryCheck")
        url = f"https://localhost:{backend.port}{service.path}"
        expected = re.escape("failing or missing response from URL: ").replace("URL", url) + problem.replace("URL", url)
        assert re.fullmatch(expected, condition["message"]), condition["message"]
        refused = admin("GET", service.path)
        assert (refused.status, refused.body) == (503, b"service unavailable\n")


def test_a_condition_follows_what_its_server_becomes(
    control_plane: ControlPlane, admin: Caller, ca: Issued, leaf: Callable[..., Paths], backends: list[Backend]
) -> None:
    """Absent, there, somebody else's, refusing, slow, gone and back: at one port, and in one condition."""
    backends += [Backend(leaf()), Backend(leaf())]
    port = backends[-1].port
    backends[-1].close()
    url = f"https://localhost:{port}/apis/absent.example.com/v1"

    def replaced(certificate: Paths, answering: Answering = discovery) -> None:
        backends[-1].close()
        backends.append(Backend(certificate, answering, port=port))

    with (
        registered(control_plane.client, NAME, port, ca.pem) as service,
        registered(control_plane.client, OTHER, backends[0].port, ca.pem) as other,
    ):

        def becomes(status: str, *ends: str, since: dt.datetime | None = None) -> dt.datetime:
            def changed() -> dt.datetime | None:
                found = service.condition()
                if found.get("status") != status or not found["message"].endswith(ends):
                    return None
                return dt.datetime.fromisoformat(found["lastTransitionTime"])

            at = until(changed, 60)
            assert since is None or at == since
            return at

        until(lambda: other.condition().get("status") == "True", 60)
        absent = becomes("False", f'Get "{url}": dial tcp 127.0.0.1:{port}: connect: connection refused')
        # It comes: noticed soon without anybody's help, since what failed is tried again (behaviour D4).
        replaced(leaf())
        there = becomes("True", "all checks passed")
        assert there >= absent
        assert service.condition()["reason"] == "Passed"
        assert admin("GET", service.path).status == 200
        # Its place is taken by somebody else; then the right one refuses. All that is one time of absence.
        replaced(leaf(authority("another-ca")))
        service.poke()
        lost = becomes("False", "x509: certificate signed by unknown authority")
        replaced(leaf(), refusing("403 Forbidden"))
        service.poke()
        becomes("False", f"bad status from {url}: 403", since=lost)
        # Slow: a probe has five seconds. So has whoever asks for the discovery of one that turned slow a moment ago.
        replaced(leaf(), lambda _: None)
        begun = dt.datetime.now(dt.UTC)
        service.poke()
        backends[0].answering = lambda _: None
        late = admin("GET", other.path)
        assert (late.status, late.body) == (503, b"error trying to reach service: context deadline exceeded\n")
        becomes("False", *(f'Get "{url}": {words}' for words in TOO_SLOW), since=lost)
        assert (dt.datetime.now(dt.UTC) - begun).total_seconds() >= DISCOVERY_SECONDS - 0.5
        replaced(leaf())
        service.poke()
        back = becomes("True", "all checks passed")
        assert (back - lost).total_seconds() >= DISCOVERY_SECONDS - 1.5  # times are whole seconds


def test_a_condition_names_what_is_wrong_with_a_service(
    control_plane: ControlPlane, ca: Issued, leaf: Callable[..., Paths], backends: list[Backend], namespace: str
) -> None:
    services = f"/api/v1/namespaces/{namespace}/services"
    made = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "api"}}
    control_plane.client.request("POST", services, {**made, "spec": {"ports": [{"port": 8443}]}})
    with registered(control_plane.client, NAME, 443, ca.pem) as service:

        def becomes(reason: str, message: str, **reference: object) -> None:
            service.change(service={"namespace": namespace, **reference})
            until(lambda: service.condition().get("message") == message, 30)
            condition = service.condition()
            assert (condition["status"], condition["reason"]) == ("False", reason)

        becomes("ServiceNotFound", f'service/none in "{namespace}" is not present', name="none", port=443)
        becomes("ServicePortError", f'service/api in "{namespace}" is not listening on port 443', name="api", port=443)
        text = f'cannot find endpointslices for service/api in "{namespace}"'
        becomes("EndpointsNotFound", text, name="api", port=8443)
