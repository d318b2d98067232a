"""Requests for tokens, and reviews of them, as clients send them."""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.unit.controlplane.access.conftest import Cluster

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


SECRETS = "/api/v1/namespaces/default/secrets"


def account(cluster: Cluster, name: str = "s") -> str:
    """Make one; its uid."""
    made = cluster.send("POST", ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
    return str(made.json()["metadata"]["uid"])


def secret(cluster: Cluster, name: str = "sec", **metadata: Any) -> str:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, **metadata}}
    return str(cluster.send("POST", SECRETS, body).json()["metadata"]["uid"])


def request(cluster: Cluster, spec: Any = None, metadata: Any = None, name: str = "s") -> tuple[int, Any]:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec or {}}
    answer = cluster.send("POST", f"{ACCOUNTS}/{name}/token", {**body, "metadata": metadata or {}})
    return answer.status, answer.json()


def token_of(cluster: Cluster, spec: Any = None) -> str:
    status, made = request(cluster, spec)
    assert status == 201
    return str(made["status"]["token"])


def bound(name: str = "sec", kind: str = "Secret", version: str = "v1", **more: str) -> dict[str, Any]:
    return {"boundObjectRef": {"kind": kind, "apiVersion": version, "name": name, **more}}


def parts(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and claims."""
    header, payload, _ = (base64.urlsafe_b64decode(part + "==") for part in token.split("."))
    return json.loads(header), json.loads(payload)


def packed(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def review(cluster: Cluster, token: str, **spec: Any) -> dict[str, Any]:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token, **spec}}
    answer = cluster.send("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body)
    assert answer.status == 201
    status: dict[str, Any] = answer.json().get("status", {})
    return status
