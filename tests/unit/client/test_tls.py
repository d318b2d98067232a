"""Which certificates are refused before a connection is made, and what errors say."""

from __future__ import annotations

import pytest
from OpenSSL import SSL
from twisted.internet.error import ConnectionRefusedError as Refused, TimeoutError as TimedOut

from extapi.client.credentials import Credentials, CredentialsError
from extapi.client.tls import TlsPolicy, sentence
from tests.certificates import CLIENT, authority

CA = authority("ca")
ME = CA.leaf("me", eku=CLIENT)


def test_a_certificate_with_its_key() -> None:
    policy = TlsPolicy(Credentials("https://k", ca=CA.pem, certificate=ME.pem + CA.pem, key=ME.key_pem))
    assert policy.options("k") is not None


@pytest.mark.parametrize(
    "credentials",
    [
        Credentials("https://k", ca=b"no PEM"),
        Credentials("https://k", certificate=b"no PEM", key=ME.key_pem),
        Credentials("https://k", certificate=ME.pem, key=b"no PEM"),
        Credentials("https://k", certificate=ME.pem),
    ],
)
def test_what_is_no_pem_is_refused_at_once(credentials: Credentials) -> None:
    with pytest.raises(CredentialsError, match=r"^the credentials for https://k hold no usable PEM: "):
        TlsPolicy(credentials)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (SSL.Error([("SSL routines", "", "certificate verify failed")]), "TLS: certificate verify failed"),
        (SSL.Error([("a", "b", "one"), (), ("a", "b", "two")]), "TLS: one; two"),
        (SSL.SysCallError(-1, "Unexpected EOF"), "TLS: the connection was ended"),
        (SSL.Error(), "TLS: the connection was ended"),
        (ValueError("two\n  lines."), "two lines"),
        (ValueError(), "ValueError"),
        (TimedOut(), "connecting took too long"),  # type: ignore[no-untyped-call]  # Twisted's
        (Refused(), "Connection was refused by other side"),  # type: ignore[no-untyped-call]  # Twisted's
    ],
)
def test_an_error_is_one_line_without_a_full_stop(error: Exception, text: str) -> None:
    assert sentence(error) == text
