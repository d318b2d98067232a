"""A cluster with one extension server, gathered, and nothing wrong; tests break a part of it.

The objects have the form in which kube-apiserver 1.36.3 returns them, as far as the checks look at it.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import ssl
from dataclasses import replace
from typing import Any

from extapi.doctor.accounts import RIGHTS
from extapi.doctor.checks import judge
from extapi.doctor.facts import Account, AccountFacts, ExpectedGroup, ExpectedKind, Facts, Reading, Served, ServiceFacts
from extapi.doctor.finding import Finding
from extapi.doctor.registration import RegisteredService, registration
from extapi.server.discovery import storage_version_hash
from tests.certificates import SERVER, Issued, authority

NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
GROUP, NAME, HOST = "shop.example.com", "v1.shop.example.com", "server.shop.svc"
SUBJECT = f"APIService {NAME}"
REFERENCE = RegisteredService("shop", "server", 443)
PLACE = ("shop", "server")
CA, PROXY_CA, USERS_CA = authority("serving-ca"), authority("front-proxy-ca"), authority("cluster-ca")
LEAF = CA.leaf("server", san=[HOST], eku=SERVER)
ALLOWED = {"status": {"allowed": True}}


def reading(obj: Any = None, *, status: int = 200, **changed: Any) -> Reading:
    """An answer with that object, at once."""
    whole: dict[str, Any] = {
        "right": "get on this",
        "status": status,
        "data": json.dumps(obj or {}).encode(),
        "date": NOW,
        "here": NOW,
        **changed,
    }
    return Reading(**whole)


def forbidden() -> Reading:
    """An answer of who may not ask."""
    return reading(status=403, text='User "x" cannot get this')


def api_service(*, condition: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """The APIService; ``condition``: changes of Available, ``spec``: changes, None takes away."""
    available = {"type": "Available", "status": "True", "reason": "Passed", "message": "all checks passed"}
    whole = {
        "group": GROUP,
        "version": "v1",
        "service": {"namespace": "shop", "name": "server", "port": 443},
        "caBundle": base64.b64encode(CA.pem).decode(),
        **spec,
    }
    since = (NOW - dt.timedelta(hours=3)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "metadata": {"name": NAME, "creationTimestamp": since},
        "spec": {key: value for key, value in whole.items() if value is not None},
        "status": {"conditions": [{**available, "lastTransitionTime": since, **(condition or {})}]},
    }


def discovery(**changed: Any) -> dict[str, Any]:
    """What the server answers to ``/apis/shop.example.com/v1``."""
    ware = {"name": "wares", "kind": "Ware", "storageVersionHash": storage_version_hash(GROUP, "v1", "Ware")}
    status = {"name": "wares/status", "kind": "Ware"}
    return {"kind": "APIResourceList", "groupVersion": f"{GROUP}/v1", "resources": [ware, status], **changed}


def aggregated(freshness: str = "Current") -> dict[str, Any]:
    """``/apis`` as kubectl asks for it."""
    version = {"version": "v1", "freshness": freshness}
    return {"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": GROUP}, "versions": [version]}]}


def service(**spec: Any) -> dict[str, Any]:
    """The Service; ``spec``: changes."""
    ports = [{"name": "https", "port": 443, "targetPort": "https", "protocol": "TCP"}]
    whole = {"type": "ClusterIP", "clusterIP": "10.0.0.7", "selector": {"app": "shop"}, "ports": ports, **spec}
    return {"spec": {key: value for key, value in whole.items() if value is not None}}


def external(name: str = "localhost") -> dict[tuple[str, str], ServiceFacts]:
    """The Service as one that stands for another name, of which kubectl finds no pods."""
    return {PLACE: ServiceFacts(reading(service(type="ExternalName", externalName=name, selector=None)))}


def unselected() -> dict[tuple[str, str], ServiceFacts]:
    """The Service as one that selects no pods; somebody else makes its EndpointSlices."""
    return {PLACE: ServiceFacts(reading(service(selector=None)), reading(slices()))}


def slices(*, ready: bool | None = True, name: str = "https", address: str = "10.1.0.3") -> dict[str, Any]:
    """The EndpointSlices of the Service."""
    endpoint = {"addresses": [address], "conditions": {} if ready is None else {"ready": ready}}
    return {"items": [{"endpoints": [endpoint], "ports": [{"name": name, "port": 8443, "protocol": "TCP"}]}]}


def pods() -> dict[str, Any]:
    """The pods that it selects."""
    container = {"name": "server", "ports": [{"name": "https", "containerPort": 8443}]}
    return {"items": [{"spec": {"serviceAccountName": "server", "containers": [container]}}]}


def config_map(**changed: str | None) -> dict[str, Any]:
    """The authentication ConfigMap; underscores in names of keys stand for dashes, None takes a key away."""
    data: dict[str, str | None] = {
        "client-ca-file": USERS_CA.pem.decode(),
        "requestheader-client-ca-file": PROXY_CA.pem.decode(),
        "requestheader-allowed-names": '["front-proxy-client"]',
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-username-headers": '["X-Remote-User"]',
        **{key.replace("_", "-"): value for key, value in changed.items()},
    }
    return {"data": {key: value for key, value in data.items() if value is not None}}


def served(leaf: Issued = LEAF, *, given: bool = True) -> dict[RegisteredService, list[Served]]:
    """What is presented."""
    return {REFERENCE: [Served("127.0.0.1:8443", given, leaf.chain)]}


def unreadable(issued: Issued) -> bytes:
    """The certificate in PEM, of a version that X.509 does not have: OpenSSL reads it, the cryptography package does not."""
    version = b"\xa0\x03\x02\x01"
    changed = ssl.PEM_cert_to_DER_cert(issued.pem.decode()).replace(version + b"\x02", version + b"\x07", 1)
    return ssl.DER_cert_to_PEM_cert(changed).encode()


def account(**denied: bool) -> AccountFacts:
    """The server's account; ``denied``: resources to which it has no rights."""
    reviews = {right: reading({"status": {"allowed": right.resource not in denied}}) for right in RIGHTS}
    return AccountFacts(Account("shop", "server"), reading(), reviews)


EXPECTED = [ExpectedGroup(GROUP, ["v1"], [ExpectedKind("Ware", "wares", "v1", ["v1"])])]
"""What ``--app`` says, where a test names one."""

HEALTHY = Facts(
    now=NOW,
    registrations=[registration(api_service())],
    groups=frozenset(),
    expected=[],
    services={PLACE: ServiceFacts(reading(service()), reading(slices()), reading(pods()))},
    served=served(),
    discovery={NAME: reading(discovery())},
    aggregated=reading(aggregated()),
    openapi_v2=reading({"paths": {f"/apis/{GROUP}/v1/wares": {}}}),
    openapi_v3=reading({"paths": {f"apis/{GROUP}/v1": {"serverRelativeURL": f"/openapi/v3/apis/{GROUP}/v1?hash=1"}}}),
    documents={NAME: reading({"components": {"schemas": {"Ware": {}}}})},
    config_map=reading(config_map()),
    accounts={PLACE: [account()]},
    namespaces=reading({"items": []}),
    stored=None,
)


def found(check: str, **changed: Any) -> list[Finding]:
    """What ``check`` finds when these facts are other than healthy."""
    return [each for each in judge(replace(HEALTHY, **changed)) if each.check == check]


def one(check: str, **changed: Any) -> Finding:
    """The only finding of ``check``."""
    (finding,) = found(check, **changed)
    return finding


def registered(*, condition: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """The facts with another APIService."""
    return {"registrations": [registration(api_service(condition=condition, **spec))]}
