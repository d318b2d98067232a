"""What the ConfigMap means: behaviour A1-A18."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from extapi.authentication.trust import HeaderNames, TrustRefused, TrustSettings
from extapi.doctor.finding import Severity
from extapi.http.request import RequestInfo
from extapi.server.health import Health, NamedCheck
from tests.certificates import authority, bundle
from tests.unit.client.building import call
from tests.unit.doctor.healthy import (
    NAME,
    NOW,
    PROXY_CA,
    REFERENCE,
    USERS_CA,
    config_map,
    forbidden,
    found,
    one,
    reading,
    registered,
    served,
    unreadable,
)

CONFIG_MAP, PROXIES, CLIENTS = "authentication.configmap", "authentication.proxies", "authentication.clients"
HEADERS, SAME, FOLLOWED = "authentication.headers", "authentication.same-ca", "authentication.followed"


def having(**changed: str | None) -> dict[str, Any]:
    return {"config_map": reading(config_map(**changed))}


def test_a_config_map_that_is_not_there() -> None:
    missing = reading(status=404, text='configmaps "extension-apiserver-authentication" not found')
    assert one(CONFIG_MAP, config_map=missing).severity is Severity.ERROR
    assert one(CONFIG_MAP, config_map=forbidden()).severity is Severity.UNKNOWN
    assert one(PROXIES, config_map=reading({})).severity is Severity.ERROR


@pytest.mark.parametrize("value", [None, "", " \n"])
def test_an_aggregation_layer_that_is_not_configured(value: str | None) -> None:
    finding = one(PROXIES, **having(requestheader_client_ca_file=value))
    assert finding.severity is Severity.ERROR
    for flag in ("--requestheader-client-ca-file", "--proxy-client-cert-file", "--proxy-client-key-file"):
        assert flag in finding.do
    assert not found(HEADERS, **having(requestheader_client_ca_file=value))


def test_users_without_certificates_are_nothing_wrong() -> None:
    assert one(CLIENTS, **having(client_ca_file=None)).severity is Severity.OK
    assert not found(SAME, **having(client_ca_file=None))


@pytest.mark.parametrize(
    ("pem", "severity"),
    [
        ("-----BEGIN NONSENSE-----", Severity.ERROR),
        (unreadable(PROXY_CA).decode(), Severity.ERROR),
        (authority("old", expired=True).pem.decode(), Severity.ERROR),
        (bundle(authority("old", expired=True), PROXY_CA).decode(), Severity.OK),
    ],
)
def test_bundles(pem: str, severity: Severity) -> None:
    assert one(PROXIES, **having(requestheader_client_ca_file=pem)).severity is severity


def test_authorities_that_are_not_valid_yet() -> None:
    finding = one(PROXIES, now=NOW - dt.timedelta(days=2))
    assert finding.severity is Severity.ERROR
    assert "no authority is valid now" in finding.wrong


def test_authorities_that_end_soon() -> None:
    assert one(PROXIES, now=NOW + dt.timedelta(days=29)).severity is Severity.WARNING


@pytest.mark.parametrize("key", ["requestheader-username-headers", "requestheader-group-headers"])
@pytest.mark.parametrize("value", [None, "", "[]", "null"])
def test_headers_that_nobody_named(key: str, value: str | None) -> None:
    finding = one(HEADERS, **having(**{key.replace("-", "_"): value}))
    assert finding.severity is Severity.ERROR
    assert f"--{key}=X-Remote-" in finding.do


UNAUTHORIZED: list[dict[str, Any]] = [
    {"discovery": {NAME: reading(status=401, text="Unauthorized")}},
    registered(
        condition={"status": "False", "reason": "FailedDiscoveryCheck", "message": "bad status from https://x: 401"}
    ),
]


@pytest.mark.parametrize("refused", UNAUTHORIZED)
def test_allowed_names_while_a_server_refuses_the_proxy(refused: dict[str, Any]) -> None:
    """Whether the proxy has such a name, nobody can see from here (behaviour A17)."""
    assert one(HEADERS).severity is Severity.OK
    finding = one(HEADERS, **having(requestheader_allowed_names='["nobody"]'), **refused)
    assert finding.severity is Severity.WARNING
    assert f"the server of {NAME} answers 401" in finding.wrong
    assert "one of: nobody? is it issued by one of: CN=front-proxy-ca?" in finding.do
    assert "correct --requestheader-allowed-names" in finding.do
    assert one(HEADERS, **having(requestheader_allowed_names="[]"), **refused).severity is Severity.OK


def test_a_list_that_is_none() -> None:
    finding = one(HEADERS, **having(requestheader_allowed_names="front-proxy-client"))
    assert finding.severity is Severity.ERROR
    assert "requestheader-allowed-names" in finding.saw


def test_the_same_authority_for_users_and_proxies() -> None:
    """A warning while a common name stands between them, and a hole without one (behaviour A17)."""
    same = having(requestheader_client_ca_file=bundle(PROXY_CA, USERS_CA).decode())
    finding = one(SAME, **same)
    assert finding.severity is Severity.WARNING
    assert "front-proxy-client" in finding.wrong
    anybody = having(requestheader_client_ca_file=USERS_CA.pem.decode(), requestheader_allowed_names="[]")
    finding = one(SAME, **anybody)
    assert finding.severity is Severity.ERROR
    assert "--requestheader-allowed-names" in finding.do


def test_a_renewed_authority_is_the_same() -> None:
    renewed = authority("renamed", key=USERS_CA.key)
    assert one(SAME, **having(requestheader_client_ca_file=renewed.pem.decode())).severity is Severity.WARNING


def test_users_whose_authority_the_front_proxys_has_issued() -> None:
    """A client presents that certificate with its own, and its chain ends at the front proxy's authority."""
    root = authority("root")
    same = having(
        client_ca_file=root.intermediate("users").pem.decode(), requestheader_client_ca_file=root.pem.decode()
    )
    assert one(SAME, **same).severity is Severity.WARNING
    assert "CN=users" in one(SAME, **same).saw
    finding = one(SAME, **same | having(
        client_ca_file=root.intermediate("users").pem.decode(),
        requestheader_client_ca_file=root.pem.decode(),
        requestheader_allowed_names='[""]',
    ))  # fmt: skip
    assert finding.severity is Severity.ERROR
    assert "refuse to start" in finding.wrong


def test_what_a_server_does_not_follow() -> None:
    """Only the server knows what was in force before."""
    settings = TrustSettings()
    names = HeaderNames(("x-remote-user",), (), ("x-remote-group",), ("x-remote-extra-",), ("front-proxy-client",))
    settings.use_names(names)
    with pytest.raises(TrustRefused):
        settings.use_names(replace(names, allowed=()))
    health = Health([NamedCheck("authentication-trust", lambda: None, note=settings.note)], lambda *_: None)
    asked = call(info=RequestInfo("get", "/readyz"))
    asked.query = {"verbose": [""]}
    answer = health.answer(asked, "/readyz")
    assert answer is not None
    assert isinstance(answer.body, bytes)
    finding = one(FOLLOWED, served={REFERENCE: [replace(served()[REFERENCE][0], readiness=answer.body.decode())]})
    assert finding.severity is Severity.WARNING
    assert finding.subjects == ("Service shop/server",)
    assert finding.saw.startswith(
        "127.0.0.1:8443 says at /readyz: not followed: requestheader-allowed-names (empty now)"
    )


@pytest.mark.parametrize("readiness", ["", "ok", "[+]authentication-trust ok\nreadyz check passed\n", "<html>"])
def test_a_server_that_has_nothing_to_say_about_it(readiness: str) -> None:
    assert not found(FOLLOWED, served={REFERENCE: [replace(served()[REFERENCE][0], readiness=readiness)]})
