"""What the ConfigMap means: spec A1-A18."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from extapi.doctor.finding import Severity
from tests.certificates import authority, bundle
from tests.unit.doctor.healthy import (
    NAME,
    NOW,
    PROXY_CA,
    USERS_CA,
    config_map,
    forbidden,
    found,
    one,
    reading,
    registered,
    unreadable,
)

CONFIG_MAP, PROXIES, CLIENTS = "authentication.configmap", "authentication.proxies", "authentication.clients"
HEADERS, SAME = "authentication.headers", "authentication.same-ca"


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
    """Whether the proxy has such a name, nobody can see from here (spec A17)."""
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
    """A warning while a common name stands between them, and a hole without one (spec A17)."""
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
