"""Verdicts that live as long as a connection."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography import x509

from extapi.authentication.base import AuthenticationError
from extapi.authentication.peer import REFUSAL_SECONDS, PeerVerdicts, first_expiry
from extapi.authentication.requestheader import RequestHeader
from extapi.authentication.settings import Settings
from extapi.authentication.x509 import ClientCertificate
from extapi.listener.call import Peer
from tests.certificates import authority
from tests.unit.client.building import now


@pytest.mark.parametrize(
    "error", [ValueError("bad DER"), x509.DuplicateExtension("twice", x509.ObjectIdentifier("1.2"))]
)
def test_a_malformed_certificate_is_a_refusal(error: Exception) -> None:
    asked: list[Peer] = []

    def judge(peer: Peer) -> tuple[str, float]:
        asked.append(peer)
        raise error

    clock: Any = now()
    verdicts = PeerVerdicts("key", Settings(), clock, judge)
    peer = Peer()
    for _ in range(2):
        with pytest.raises(AuthenticationError, match="x509: malformed certificate"):
            verdicts.of(peer)
    assert len(asked) == 1
    clock.advance(REFUSAL_SECONDS)
    with pytest.raises(AuthenticationError):
        verdicts.of(peer)
    assert len(asked) == 2


def test_two_authenticators_do_not_share_a_verdict() -> None:
    settings, peer, clock = Settings(), Peer(), now()
    first = PeerVerdicts("one", settings, clock, lambda _: ("a", float("inf")))
    second = PeerVerdicts("two", settings, clock, lambda _: ("b", float("inf")))
    assert (first.of(peer), second.of(peer), first.of(peer)) == ("a", "b", "a")


def test_the_first_expiry_is_of_what_was_accepted() -> None:
    settings, peer, clock = Settings(), Peer(), now()
    peer.verdicts["user"] = "something of another stage"
    assert first_expiry(peer) == float("inf")

    def refuse(_: Peer) -> tuple[str, float]:
        raise AuthenticationError("no")

    with pytest.raises(AuthenticationError):
        PeerVerdicts("refused", settings, clock, refuse).of(peer)
    assert first_expiry(peer) == float("inf")  # when it is asked again, not when it ends
    for key, expires in (("later", 7e9), ("sooner", 6e9)):
        PeerVerdicts(key, settings, clock, lambda _, expires=expires: ("", expires)).of(peer)  # type: ignore[misc]  # mypy infers no type for a default
    assert first_expiry(peer) == 6e9


def test_without_a_ca_nobody_is_vouched_for() -> None:
    peer = Peer(certificates=authority("ca").leaf("me").chain)
    for authenticator in (RequestHeader(Settings(), now()), ClientCertificate(Settings(), now())):
        with pytest.raises(AuthenticationError, match="no CA for"):
            authenticator._judge(peer)
