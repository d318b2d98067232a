"""What an operator is told to do, by the words of etcd and OpenSSL as real ones gave them."""

from __future__ import annotations

from pathlib import Path

import pytest

from extapi.storage.etcd.advice import advised
from extapi.storage.etcd.endpoints import EtcdOptions

NOBODY = EtcdOptions(prefix="/extapi/pizza")
SOMEBODY = EtcdOptions(
    prefix="/extapi/pizza",
    cafile=Path("ca.crt"),
    certfile=Path("client.crt"),
    username="jane",
    password_file=Path("pw"),
)


@pytest.mark.parametrize(
    ("words", "options", "parts"),
    [
        ("etcdserver: permission denied", SOMEBODY, ["'jane'", "readwrite /extapi/pizza/ --prefix"]),
        ("etcdserver: permission denied", NOBODY, ["the user needs", "readwrite /extapi/pizza/ --prefix"]),
        ("etcdserver: user name is empty", NOBODY, ["give --etcd-username and --etcd-password-file"]),
        ("etcdserver: authentication failed, invalid user ID or password", SOMEBODY, ["(jane)", "(pw)"]),
        ("TLS: tls alert certificate expired", SOMEBODY, ["--etcd-certfile (client.crt)", "replace it"]),
        ("TLS: tlsv1 alert unknown ca", SOMEBODY, ["--etcd-certfile (client.crt)", "replace it"]),
        ("TLS: tlsv13 alert certificate required", NOBODY, ["give --etcd-certfile and --etcd-keyfile"]),
        ("TLS: certificate verify failed", SOMEBODY, ["--etcd-cafile (ca.crt)"]),
        ("TLS: certificate verify failed", NOBODY, ["of the system", "no --etcd-cafile"]),
    ],
)
def test_what_was_said_comes_first(words: str, options: EtcdOptions, parts: list[str]) -> None:
    text = advised(words, options)
    assert text.startswith(f"{words}; ")
    assert [part for part in parts if part not in text] == []
    assert "\n" not in text


def test_nothing_is_made_up() -> None:
    assert advised("Connection refused", SOMEBODY) == "Connection refused"
