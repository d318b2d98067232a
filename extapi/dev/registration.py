"""The objects that make a server on loopback an extension of kube-apiserver, and the rights it needs there.

Knows Services, APIServices and RBAC; knows nothing of processes. Source of the set of rights: "Configure the
aggregation layer" and "Set up an extension API server" in the Kubernetes documentation.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extapi.api.policyrule import PolicyRule
from extapi.dev.certificates import Identities
from extapi.dev.kube import KubeClient

NAMESPACE = "extapi-dev"
SERVICE = "extension-server"
_ACCOUNT = "extension-server"
_LABELS = {"app.kubernetes.io/managed-by": "extapi-dev"}
_STAMP = "extapi-dev/served"
_RBAC = "rbac.authorization.k8s.io"
_RBAC_PATH = f"/apis/{_RBAC}/v1"
APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
_GROUP_PRIORITY = 1000
_FIRST_VERSION_PRIORITY = 100

IDENTITIES = Identities(
    # The name and groups of a service account, in a certificate: in a cluster the server would run as this account.
    extension_user=f"system:serviceaccount:{NAMESPACE}:{_ACCOUNT}",
    extension_groups=("system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}"),
    extension_hosts=(f"{SERVICE}.{NAMESPACE}.svc", "localhost", "127.0.0.1", "::1"),
)


@dataclass(frozen=True)
class GroupVersions:
    """An API group and its versions, the preferred one first."""

    group: str
    versions: Sequence[str]


def authorize(client: KubeClient, needs: Sequence[PolicyRule] = ()) -> None:
    """Give the extension server's identity the rights that such a server needs, and no others.

    Args:
        needs: Additional rights that the author's code needs.

    Raises:
        KubeError: Kube-apiserver refused.
    """
    with client.kept() as kept:
        for path, obj in _rights(needs):
            kept.apply(path, obj)


def register(client: KubeClient, groups: Sequence[GroupVersions], *, port: int, ca: Path, stamp: str = "") -> None:
    """Register one APIService per version, all at ``port`` on loopback; remove obsolete ones of earlier runs.

    Args:
        ca: The certificate of the authority that signed the server's.
        stamp: An annotation of all objects. If it differs from before, the aggregator reads the server's documents again,
            which otherwise it does once a minute: kube-apiserver if an APIService changes, the built-in one if the Service does.

    Raises:
        KubeError: Kube-apiserver refused.
    """
    service = _stamped(_service(), stamp)
    bundle = base64.b64encode(ca.read_bytes()).decode()
    wanted = {obj["metadata"]["name"]: _stamped(obj, stamp) for obj in _api_services(groups, port, bundle)}
    label, value = next(iter(_LABELS.items()))
    with client.kept() as kept:
        kept.apply(f"/api/v1/namespaces/{NAMESPACE}/services/{SERVICE}", service)
        for item in kept.get(f"{APISERVICES}?labelSelector={label}%3D{value}")["items"]:
            if item["metadata"]["name"] not in wanted:
                kept.delete(f"{APISERVICES}/{item['metadata']['name']}")
        for name, obj in wanted.items():
            kept.apply(f"{APISERVICES}/{name}", obj)


def first_resources(client: KubeClient, groups: Sequence[GroupVersions]) -> list[str]:
    """The plural names of the resources in the preferred version of the first group that has any."""
    for group in groups:
        found = client.get(f"/apis/{group.group}/{group.versions[0]}")["resources"]
        names = [resource["name"] for resource in found if "/" not in resource["name"]]
        if names:
            return names
    return []


def _rights(needs: Sequence[PolicyRule] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """Paths and objects, in the order of dependence."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": _metadata(NAMESPACE)}
    yield f"/api/v1/namespaces/{NAMESPACE}", namespace
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(_ACCOUNT, NAMESPACE)}
    yield f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{_ACCOUNT}", account
    # TokenReview and SubjectAccessReview: it asks kube-apiserver who somebody is and what they may do.
    delegator = _binding(
        "ClusterRoleBinding", "extapi-dev:auth-delegator", None, "ClusterRole", "system:auth-delegator"
    )
    yield f"{_RBAC_PATH}/clusterrolebindings/extapi-dev:auth-delegator", delegator
    # The CAs and header names under which kube-apiserver proxies to it.
    found = "extension-apiserver-authentication-reader"
    reader = _binding("RoleBinding", "extapi-dev:authentication-reader", "kube-system", "Role", found)
    yield f"{_RBAC_PATH}/namespaces/kube-system/rolebindings/extapi-dev:authentication-reader", reader
    # NamespaceLifecycle: nothing is created in a namespace that is missing or going away.
    name = "extapi-dev:extension-server"
    rule = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]}
    # Whoever is responsible for the cluster may have webhooks asked about all writes, or policies.
    admission = {
        "apiGroups": ["admissionregistration.k8s.io"],
        "resources": [
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
            "mutatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "validatingwebhookconfigurations",
        ],
        "verbs": ["get", "list", "watch"],
    }
    rules = [rule, admission, *(each.to_dict() for each in needs)]
    role = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": _metadata(name), "rules": rules}
    yield f"{_RBAC_PATH}/clusterroles/{name}", role
    yield f"{_RBAC_PATH}/clusterrolebindings/{name}", _binding("ClusterRoleBinding", name, None, "ClusterRole", name)


def _binding(kind: str, name: str, namespace: str | None, role_kind: str, role: str) -> dict[str, Any]:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": kind,
        "metadata": _metadata(name, namespace),
        "roleRef": {"apiGroup": _RBAC, "kind": role_kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": _ACCOUNT, "namespace": NAMESPACE}],
    }


def _service() -> dict[str, Any]:
    """Of type ExternalName: kube-apiserver then connects to that name, here itself, at the APIService's port."""
    spec = {"type": "ExternalName", "externalName": "localhost"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": _metadata(SERVICE, NAMESPACE), "spec": spec}


def _stamped(obj: dict[str, Any], stamp: str) -> dict[str, Any]:
    if stamp:
        obj["metadata"]["annotations"] = {_STAMP: stamp}
    return obj


def _api_services(groups: Sequence[GroupVersions], port: int, bundle: str) -> Iterator[dict[str, Any]]:
    for group in groups:
        for position, version in enumerate(group.versions):
            yield {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": _metadata(f"{version}.{group.group}"),
                "spec": {
                    "group": group.group,
                    "version": version,
                    "service": {"namespace": NAMESPACE, "name": SERVICE, "port": port},
                    "caBundle": bundle,
                    "groupPriorityMinimum": _GROUP_PRIORITY,
                    "versionPriority": max(_FIRST_VERSION_PRIORITY - position, 1),
                },
            }


def _metadata(name: str, namespace: str | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "labels": _LABELS}
    if namespace is not None:
        metadata["namespace"] = namespace
    return metadata
