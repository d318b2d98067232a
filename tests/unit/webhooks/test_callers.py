"""Who may ask for admission: with authorities, whoever shows a certificate of theirs; for conversion, anybody."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from extapi.authentication.trust import TrustSettings
from extapi.http.request import Peer, Request
from extapi.listener.requestinfo import request_info
from extapi.server.loopback import BodyBytes
from extapi.webhooks.callers import Callers
from tests.certificates import CLIENT, SERVER, Issued, authority
from tests.unit.webhooks.asking import Asked, lamps, recorded, result

CASE = recorded()["lamp-create/validate"]
CA = authority("webhook-ca")


class Now:
    """The present, at which certificates are valid."""

    def __init__(self) -> None:
        import time  # noqa: PLC0415 - certificates are made now

        self._now = time.time()

    def seconds(self) -> float:
        return self._now

    def callLater(self, delay: float, callable: Any, *args: Any) -> Any:  # noqa: A002, N802 - Twisted's
        raise AssertionError


def asked(*names: str, ca: Issued = CA) -> Asked:
    settings = TrustSettings()
    settings.trust_clients(ca.pem)
    return lamps(callers=Callers(settings, Now(), names))


def answer(server: Asked, path: str, body: bytes, certificate: Issued | None) -> tuple[int, bytes, Request]:
    info = request_info("POST", path, {})
    peer = Peer(certificates=() if certificate is None else certificate.chain)
    request = Request(
        method="POST", target=path, info=info, query={}, headers={"content-type": ["application/json"]}, body=BodyBytes(body),
        peer=peer, audit_id="a", received=0, deadline=30,
    )  # fmt: skip
    response = result(Deferred.fromCoroutine(_handled(server, request)))
    assert isinstance(response.body, bytes)
    return response.status, response.body, request


async def _handled(server: Asked, request: Request) -> Any:
    return await server.server.handler(request)


def reviewed(server: Asked, certificate: Issued | None) -> tuple[int, bytes, Request]:
    import json  # noqa: PLC0415 - only here

    return answer(server, "/validate/v1/lamp", json.dumps(CASE.review).encode(), certificate)


def test_a_certificate_of_the_authority_is_accepted() -> None:
    status, _, request = reviewed(asked(), CA.leaf("kube-apiserver", eku=CLIENT))
    assert (status, request.user and request.user.name, request.peer.authenticated) == (200, "kube-apiserver", True)
    assert reviewed(asked("kube-apiserver"), CA.leaf("kube-apiserver", eku=CLIENT))[0] == 200


@pytest.mark.parametrize(
    ("certificate", "text"),
    [
        (None, b"Unauthorized: a client certificate with a common name is required\n"),
        (CA.leaf("", eku=CLIENT), b"Unauthorized: a client certificate with a common name is required\n"),
        (
            authority("other").leaf("kube-apiserver", eku=CLIENT),
            b"Unauthorized: the client certificate is not accepted\n",
        ),
        (
            CA.leaf("kube-apiserver", eku=CLIENT, expired=True),
            b"Unauthorized: the client certificate is not accepted\n",
        ),
        (CA.leaf("kube-apiserver", eku=SERVER), b"Unauthorized: the client certificate is not accepted\n"),
        (CA.leaf("alice", eku=CLIENT), b"Unauthorized: the common name of the client certificate is not allowed\n"),
    ],
)
def test_others_are_refused(certificate: Issued | None, text: bytes) -> None:
    status, body, request = reviewed(asked("kube-apiserver"), certificate)
    assert (status, body, request.peer.authenticated) == (401, text, False)


def test_conversion_needs_no_certificate() -> None:
    """kube-apiserver shows none there."""
    body = (
        b'{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1",'
        b'"request":{"uid":"u","desiredAPIVersion":"hooked.example.com/v1"}}'
    )
    assert answer(asked(), "/convert/v1/lamp", body, None)[0] == 200


def test_a_change_of_authorities_counts_at_once() -> None:
    settings, other = TrustSettings(), authority("next")
    settings.trust_clients(CA.pem)
    server = lamps(callers=Callers(settings, Now()))
    certificate = CA.leaf("kube-apiserver", eku=CLIENT)
    assert reviewed(server, certificate)[0] == 200
    settings.trust_clients(other.pem)
    assert reviewed(server, certificate)[0] == 401
    assert reviewed(server, other.leaf("kube-apiserver", eku=CLIENT))[0] == 200
