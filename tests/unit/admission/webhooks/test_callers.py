"""As whom webhooks are called: what they see of a user of the kubeconfig, and what is told of one that cannot be used.

The texts were observed on kube-apiserver 1.36.3 with the same kubeconfig.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from twisted.internet.task import Clock

from extapi.client.webhookcall import Target, WebhookCaller
from extapi.client.webhookusers import WebhookUser, WebhookUsers, read_users
from tests.certificates import CLIENT, authority
from tests.unit.client.conftest import Turning
from tests.webhooks.admission import EVERY
from tests.webhooks.admitted import Admitted, webhook
from tests.webhooks.server import Certified, Webhook, serving

CALLERS = authority("callers")
Asks = Callable[[Any], tuple[int, str, list[tuple[dict[str, str], str]]]]


@pytest.fixture
def asking(certificates: Certified, tmp_path: Path) -> Iterator[Webhook]:
    """A webhook that asks for a client certificate."""
    with serving(EVERY, certificates.context(tmp_path, client_ca=CALLERS)) as served:
        yield served


@pytest.fixture
def asks(asking: Webhook, certificates: Certified, tmp_path: Path) -> Iterator[Asks]:
    """Creates an object with that user for the webhook: the status, the message, and what the webhook saw."""
    stops: list[Callable[[], None]] = []

    def asked(user: Any) -> tuple[int, str, list[tuple[dict[str, str], str]]]:
        users = [{"name": f"127.0.0.1:{asking.port}", "user": user}, {"name": "*", "user": {"token": "wrong"}}]
        file = tmp_path / "kubeconfig"
        file.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "users": users}))
        turning = Turning()
        admitted = Admitted(turning, users=read_users(file, Clock()))
        stops.extend([admitted.stop, turning.close])
        for kind in ("mutating", "validating"):
            admitted.configure(kind, webhook(asking.url("allow"), certificates.ca.pem, "w.test"))
        status, answer = admitted.create()
        seen = [
            (
                {
                    name: value
                    for name, value in call.headers.items()
                    if name.startswith(("authorization", "impersonate"))
                },
                call.client,
            )
            for call in asking.calls
        ]
        return status, str(answer.get("message", "")), seen

    yield asked
    for stop in stops:
        stop()


@pytest.mark.parametrize(
    ("user", "headers"),
    [
        ({"token": "t0ken"}, {"authorization": "Bearer t0ken"}),
        ({"username": "u", "password": "p:w"}, {"authorization": "Basic dTpwOnc="}),
        (
            {"token": "t", "as": "user-a", "as-user-extra": {"ex.io/a b%": ["é"]}},
            {"authorization": "Bearer t", "impersonate-user": "user-a", "impersonate-extra-ex.io%2fa%20b%25": "é"},
        ),
        ({}, {}),
    ],
)
def test_a_webhook_sees_the_users_headers(asks: Asks, user: Any, headers: dict[str, str]) -> None:
    assert asks(user) == (201, "", [(headers, "")] * 2)


def test_a_webhook_that_asks_for_it_sees_the_users_certificate(asks: Asks, tmp_path: Path) -> None:
    paths = CALLERS.leaf("client-one", eku=CLIENT).save(tmp_path, "caller")
    files = {"client-certificate": str(paths.certificate), "client-key": str(paths.key)}
    assert asks(files) == (201, "", [({}, "client-one")] * 2)


@pytest.mark.parametrize(
    ("user", "text"),
    [
        ({"tokenFile": "/nope"}, "could not get REST client: open /nope: no such file or directory"),
        (
            {"client-certificate": "/nope/a.crt", "client-key": "/nope/a.key"},
            "could not get REST client: open /nope/a.crt: no such file or directory",
        ),
        (
            {"username": "u", "password": "p", "token": "t"},
            "could not get REST client: username/password or bearer token may be set, but not both",
        ),
        ({"auth-provider": {"name": "gcp"}}, "could not get REST client: auth provider not supported"),
        (
            {"token": "a\nb"},
            (
                'failed to call webhook: Post "https://127.0.0.1:{port}/allow?timeout=10s": net/http: invalid header field value '
                'for "Authorization"'
            ),
        ),
    ],
)
def test_a_user_that_cannot_be_used(asks: Asks, asking: Webhook, user: Any, text: str) -> None:
    wanted = f'Internal error occurred: failed calling webhook "w.test": {text.replace("{port}", str(asking.port))}'
    assert asks(user) == (500, wanted, [])


def test_the_roots_of_both_are_trusted() -> None:
    """The cluster's, for kube-apiserver itself, besides those of the configuration."""
    users = WebhookUsers({"a.b.svc": WebhookUser(ca=b"one")}, environ={}, clock=Clock())
    config = {"service": {"namespace": "b", "name": "a"}, "caBundle": base64.b64encode(b"two").decode()}
    assert WebhookCaller(config, lambda *_: ("h", 1), Clock(), users=users)._ca() == b"one\ntwo"
    assert WebhookCaller({"url": "https://c"}, lambda *_: ("h", 1), Clock(), users=users)._ca() is None


@pytest.mark.parametrize(
    ("config", "address"),
    [
        ({"url": "https://example.com/a"}, "example.com:443"),
        ({"url": "https://example.com:8443/a"}, "example.com:8443"),
        ({"url": "https://example.com:443/a"}, "example.com:443"),
        ({"url": "https://[::1]:8443/a"}, "[::1]:8443"),
        ({"url": "https://[fd00::443]/a"}, "[[fd00::443]]:443"),  # what net.JoinHostPort makes of url.URL.Host
        ({"service": {"namespace": "ns", "name": "check"}}, "check.ns.svc:443"),
        ({"service": {"namespace": "ns", "name": "check", "port": 9443}}, "check.ns.svc:9443"),
    ],
)
def test_the_address_by_which_a_user_is_found(config: Any, address: str) -> None:
    assert Target(config).address_of_user == address
