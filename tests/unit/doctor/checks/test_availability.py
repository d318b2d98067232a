"""Reasons and messages are those of k8s.io/kube-aggregator/pkg/controllers/status, seen on 1.36.3 where a test there makes them."""

from __future__ import annotations

import datetime as dt

import pytest

from extapi.doctor.facts import Reading, ServiceFacts
from extapi.doctor.finding import Severity
from extapi.doctor.registration import registration
from tests.unit.doctor.healthy import (
    NOW,
    PLACE,
    api_service,
    config_map,
    external,
    forbidden,
    one,
    reading,
    registered,
    unselected,
)

CHECK = "apiservice.available"
URL = "https://10.0.0.7:443/apis/shop.example.com/v1"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("ServiceNotFound", "create the Service server in the namespace shop"),
        ("ServiceAccessError", "kube-apiserver's log"),
        ("ServicePortError", "kubectl edit apiservice v1.shop.example.com"),
        ("EndpointsNotFound", "-n shop -l kubernetes.io/service-name=server"),
        ("EndpointsAccessError", "kube-apiserver's log"),
        ("MissingEndpoints", "kubectl get pods -n shop"),
        ("SomethingNew", "kubectl logs -n shop service/server"),
    ],
)
def test_each_reason_is_explained(reason: str, words: str) -> None:
    finding = one(CHECK, **registered(condition={"status": "False", "reason": reason, "message": "the message"}))
    assert finding.severity is Severity.ERROR
    assert finding.saw == f"Available=False for 3 hours, {reason}: the message"
    assert words in finding.do
    assert "no namespace of the cluster can be deleted" in finding.wrong


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        (f'Get "{URL}": x509: certificate signed by unknown authority', "does not vouch"),
        (f'Get "{URL}": x509: certificate is valid for a, not b', "is not for server.shop.svc"),
        (
            f'Get "{URL}": x509: certificate is not valid for any names, but wanted to match b',
            "is not for server.shop.svc",
        ),
        ("x509: certificate relies on legacy Common Name field, use SANs instead", "is not for server.shop.svc"),
        ("x509: certificate has expired or is not yet valid: current time X is after Y", "has expired"),
        ("x509: certificate has expired or is not yet valid: current time X is before Y", "is not valid yet"),
        ("x509: certificate specifies an incompatible key usage", "does not accept the server's certificate"),
        ("dial tcp 10.0.0.7:443: connect: connection refused", "nothing listens"),
        ("dial tcp: lookup nowhere.example.com: no such host", "cannot resolve"),
        # Go's net/http through a proxy that refuses CONNECT, or is not there
        (f'Get "{URL}": Forbidden', "through the HTTP proxy that HTTPS_PROXY"),
        (f'Get "{URL}": Proxy Authentication Required', "through the HTTP proxy that HTTPS_PROXY"),
        (f'Get "{URL}": unknown status code', "through the HTTP proxy that HTTPS_PROXY"),
        (
            f'Get "{URL}": proxyconnect tcp: dial tcp 10.1.1.1:3128: connect: connection refused',
            "through the HTTP proxy that HTTPS_PROXY",
        ),
        (
            f'Get "{URL}": proxyconnect tcp: dial tcp: lookup nowhere.invalid: no such host',
            "through the HTTP proxy that HTTPS_PROXY",
        ),
        ("context deadline exceeded (Client.Timeout exceeded while awaiting headers)", "within 5 seconds"),
        (f"timed out waiting for {URL}", "within 5 seconds"),
        ("dial tcp 10.0.0.7:443: i/o timeout", "cannot reach it at all"),
        ("http: server gave HTTP response to HTTPS client", "plain HTTP"),
        ("tls: wrong version number", "plain HTTP"),  # of the built-in control plane
        (f"bad status from {URL}: 401", "does not trust kube-apiserver's proxy certificate"),
        (f"bad status from {URL}: 403", "system:kube-aggregator"),
        (f"bad status from {URL}: 404", "does not serve this group and version"),
        (f"bad status from {URL}: 302", "redirects"),
        (f"bad status from {URL}: 500", "fails, or is not ready"),
        (f'Get "{URL}": EOF', "closed the connection"),
        ("something else", "kube-apiserver's probe of the server failed"),
    ],
)
def test_each_failure_of_the_probe_is_explained(message: str, wrong: str) -> None:
    condition = {
        "status": "False",
        "reason": "FailedDiscoveryCheck",
        "message": f"failing or missing response from {URL}: {message}",
    }
    finding = one(CHECK, **registered(condition=condition))
    assert message in finding.saw
    assert wrong in finding.wrong
    assert "{" not in finding.do.replace('{"spec":{', "")


UNAUTHORIZED = registered(
    condition={"status": "False", "reason": "FailedDiscoveryCheck", "message": f"bad status from {URL}: 401"}
)


def test_a_proxy_that_is_not_trusted_is_compared_with_what_the_config_map_names() -> None:
    """Behaviour A16, A17: its issuer, and its common name."""
    nobody = reading(config_map(requestheader_allowed_names='["nobody", "{else}"]'))
    finding = one(CHECK, config_map=nobody, **UNAUTHORIZED)
    assert "is the common name of --proxy-client-cert-file of kube-apiserver one of: nobody, {else}?" in finding.do
    assert "is it issued by one of: CN=front-proxy-ca?" in finding.do
    anybody = one(CHECK, config_map=reading(config_map(requestheader_allowed_names="[]")), **UNAUTHORIZED)
    assert "is it issued by one of: CN=front-proxy-ca?" in anybody.do
    assert "common name" not in anybody.do


@pytest.mark.parametrize(
    "answer",
    [
        forbidden(),
        reading({}),
        reading(config_map(requestheader_client_ca_file=None)),
        reading(config_map(requestheader_allowed_names="nobody")),
    ],
)
def test_a_proxy_that_is_not_trusted_while_the_config_map_says_nothing(answer: Reading) -> None:
    assert (
        "is the ConfigMap well (authentication.* below)? If so, bind the server's account"
        in one(CHECK, config_map=answer, **UNAUTHORIZED).do
    )


def test_what_is_known_of_the_service_decides_what_makes_endpointslices() -> None:
    """Slices of a Service without a selector are made by hand (k8s.io/kubernetes/pkg/controller/endpointslice)."""
    missing = registered(condition={"status": "False", "reason": "EndpointsNotFound", "message": "the message"})
    finding = one(CHECK, **missing)
    assert "its spec.selector is app=shop" in finding.wrong
    assert "kube-controller-manager" in finding.do
    assert "as spec.selector" not in finding.do
    finding = one(CHECK, services=unselected(), **missing)
    assert "it has no spec.selector" in finding.wrong
    assert finding.do.endswith("give the Service the labels of the server's pods as spec.selector")
    hidden = one(CHECK, services={PLACE: ServiceFacts(forbidden())}, **missing)
    assert "it has no spec.selector, or kube-controller-manager does not run" in hidden.wrong


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "connect: connection refused",
            "let spec.service.port of the APIService be the port of --secure-port: look at the log of the server at localhost:443",
        ),
        ("i/o timeout", "for a slow server: look at the log of the server at localhost:443"),
        ("wrong version number", "let spec.service.port of the APIService be the port of --secure-port"),
        ("EOF", "look at the log of the server at localhost:443"),
    ],
)
def test_what_kubectl_refuses_is_not_proposed(message: str, words: str) -> None:
    """It finds the pods of a Service by its selector."""
    changed = registered(condition={"status": "False", "reason": "FailedDiscoveryCheck", "message": message})
    assert one(CHECK, services=external(), **changed).do.endswith(words)
    assert "kubectl logs" not in one(CHECK, services=unselected(), **changed).do
    assert "localhost" not in one(CHECK, **changed).do


def test_a_condition_that_is_not_there() -> None:
    old = registered(condition={"type": "Other"})
    assert one(CHECK, **old).severity is Severity.ERROR
    new = api_service(condition={"type": "Other"})
    new["metadata"]["creationTimestamp"] = (NOW - dt.timedelta(seconds=20)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert one(CHECK, registrations=[registration(new)]).severity is Severity.UNKNOWN
    new["metadata"]["creationTimestamp"] = (NOW - dt.timedelta(seconds=70)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert one(CHECK, registrations=[registration(new)]).severity is Severity.ERROR


def test_an_age_that_is_not_there_is_left_out() -> None:
    assert (
        one(CHECK, **registered(condition={"lastTransitionTime": "yesterday"})).saw
        == "Available=True, Passed: all checks passed"
    )
