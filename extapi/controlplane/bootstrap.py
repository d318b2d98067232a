"""The objects that every cluster has: namespaces, RBAC roles and bindings, and the configuration of extension servers.

They are made through the server's own client at every start. Missing objects are created; roles and bindings get missing
rules and subjects back, and keep what was added to them, as with kube-apiserver. Must not know how the server is built.

Source: ``kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy``, for the kinds that are served here, and
``component-helpers/auth/rbac/reconciliation``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from twisted.logger import Logger

from extapi import Context, Invalid, NotFound

_log = Logger()

Resource = tuple[str, str, str]
"""Group, version and plural name."""
Rule = tuple[str, ...]
"""Verbs, groups, resources and, optionally, object names; or verbs and paths. Words are separated by spaces.

The core group is written ``core`` beside other groups.
"""

RBAC = "rbac.authorization.k8s.io"
PROTECTED = "rbac.authorization.kubernetes.io/autoupdate"
"""The annotation of objects that are repaired at each start, unless its value is false."""
SYSTEM = "kube-system"
NAMESPACES = ("default", SYSTEM, "kube-public", "kube-node-lease")

_READ, _WRITE = "get list watch", "create delete deletecollection patch update"
_ALL = "create delete deletecollection get list patch update watch"
_HEALTH = "/healthz /livez /readyz /version /version/"
CLUSTER_ROLES: Mapping[str, Sequence[Rule]] = {
    "cluster-admin": [("*", "*", "*"), ("*", "*")],
    "system:discovery": [("get", f"/api /api/* /apis /apis/* /openapi /openapi/* {_HEALTH}")],
    "system:public-info-viewer": [("get", _HEALTH)],
    "system:basic-user": [
        ("create", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
        ("create", "authentication.k8s.io", "selfsubjectreviews"),
    ],
    "system:auth-delegator": [
        ("create", "authentication.k8s.io", "tokenreviews"),
        ("create", "authorization.k8s.io", "subjectaccessreviews"),
    ],
    "system:aggregate-to-admin": [
        ("create", "authorization.k8s.io", "localsubjectaccessreviews"),
        (_ALL, RBAC, "rolebindings roles"),
    ],
    "system:aggregate-to-edit": [
        (_READ, "", "secrets"),
        ("impersonate", "", "serviceaccounts"),
        (_WRITE, "", "configmaps secrets serviceaccounts services"),
        ("create", "", "serviceaccounts/token"),
        (_WRITE, "core events.k8s.io", "events"),
        (_ALL, "coordination.k8s.io", "leases"),
    ],
    "system:aggregate-to-view": [
        (_READ, "", "configmaps serviceaccounts services services/status"),
        (_READ, "", "namespaces/status"),
        (_READ, "", "namespaces"),
        (_READ, "core events.k8s.io", "events"),
    ],
}
AGGREGATED = {"admin": "", "edit": "admin", "view": "edit"}
"""Aggregated cluster roles, and the aggregated role that each is a part of."""
BINDINGS: Mapping[str, Sequence[str]] = {
    "cluster-admin": ["system:masters"],
    "system:discovery": ["system:authenticated"],
    "system:public-info-viewer": ["system:authenticated", "system:unauthenticated"],
    "system:basic-user": ["system:authenticated"],
}
"""Cluster roles, and the groups that a binding of the same name grants them to."""
NAMESPACES_STEP, ACCESS_STEP, TRUST_STEP, SERVICE_STEP = STEPS = (
    "start-system-namespaces-controller",
    "rbac/bootstrap-roles",
    "start-cluster-authentication-info-controller",
    "bootstrap-controller",
)
"""The names of kube-apiserver's hooks that make these objects."""
AUTHENTICATION = "extension-apiserver-authentication"
"""The ConfigMap in kube-system that tells extension servers which authorities to trust."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrap:
    """Makes these objects. To be started before the server is ready."""

    client_ca: str
    """The CA of client certificates, PEM."""
    proxy_ca: str
    """The CA of the front proxy's certificate, PEM."""
    proxy_names: Sequence[str]
    """The common names that the front proxy's certificate may have."""
    port: int
    """The port of this server."""
    made: set[str] = field(default_factory=set, init=False)
    """The finished :data:`STEPS`."""

    async def start(self, context: Context) -> None:
        """Create what is missing and repair the rest.

        An object that cannot be repaired is logged and left unchanged.

        Raises:
            ApiError: An object was refused. Nothing works without these objects.
            TransportError: The server did not answer.
        """
        for name in NAMESPACES:
            await _ensure(context, ("", "v1", "namespaces"), _object("v1", "Namespace", name))
        self.made.add(NAMESPACES_STEP)
        for resource, obj in _access():
            await _ensure(context, resource, obj)
        self.made.add(ACCESS_STEP)
        await _ensure(context, ("", "v1", "configmaps"), self._authentication(), overwrite="data")
        self.made.add(TRUST_STEP)
        await _ensure(context, ("", "v1", "services"), self._service(), overwrite="spec")
        self.made.add(SERVICE_STEP)

    def unfinished(self, step: str) -> str | None:
        """A health check for one of :data:`STEPS`: None once it is done."""
        return None if step in self.made else "not finished"

    def _authentication(self) -> dict[str, Any]:
        lists = {
            "requestheader-allowed-names": self.proxy_names,
            "requestheader-extra-headers-prefix": ["X-Remote-Extra-"],
            "requestheader-group-headers": ["X-Remote-Group"],
            "requestheader-uid-headers": ["X-Remote-Uid"],
            "requestheader-username-headers": ["X-Remote-User"],
        }
        data = {"client-ca-file": self.client_ca, "requestheader-client-ca-file": self.proxy_ca}
        data |= {key: json.dumps(list(words), separators=(",", ":")) for key, words in lists.items()}
        return {**_object("v1", "ConfigMap", AUTHENTICATION, SYSTEM), "data": data}

    def _service(self) -> dict[str, Any]:
        obj = _object("v1", "Service", "kubernetes", "default")
        obj["metadata"]["labels"] = {"component": "apiserver", "provider": "kubernetes"}
        return {**obj, "spec": {"ports": [{"name": "https", "port": 443, "targetPort": self.port}]}}


def _access() -> list[tuple[Resource, dict[str, Any]]]:
    """Roles and bindings, roles first."""
    roles = [{**_role("ClusterRole", name), "rules": _rules(rules)} for name, rules in CLUSTER_ROLES.items()]
    for name, into in AGGREGATED.items():
        chosen = [{"matchLabels": _aggregates(name)}]
        role = {**_role("ClusterRole", name), "aggregationRule": {"clusterRoleSelectors": chosen}}
        role["metadata"]["labels"] |= _aggregates(into) if into else {}
        roles.append(role)
    reader = _role("Role", f"{AUTHENTICATION}-reader", SYSTEM)
    reader["rules"] = _rules([(_READ, "", "configmaps", AUTHENTICATION)])
    bindings = [_binding(name, groups) for name, groups in BINDINGS.items()]
    return [((RBAC, "v1", f"{obj['kind'].lower()}s"), obj) for obj in [*roles, reader, *bindings]]


def _object(api_version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any]:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **place}}


def _role(kind: str, name: str, namespace: str = "") -> dict[str, Any]:
    """An RBAC object with the labels and annotations of bootstrapped objects."""
    obj = _object(f"{RBAC}/v1", kind, name, namespace)
    obj["metadata"]["labels"] = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    obj["metadata"]["annotations"] = {PROTECTED: "true"}
    prefix = "system:aggregate-to-"
    if name.startswith(prefix):
        obj["metadata"]["labels"] |= _aggregates(name.removeprefix(prefix))
    return obj


def _aggregates(name: str) -> dict[str, str]:
    """The label that makes a role part of the aggregated role ``name``."""
    return {f"{RBAC}/aggregate-to-{name}": "true"}


def _rules(rules: Sequence[Rule]) -> list[dict[str, Any]]:
    fields = ("verbs", "apiGroups", "resources", "resourceNames")
    return [
        {"verbs": rule[0].split(), "nonResourceURLs": sorted(rule[1].split())}
        if len(rule) == 2
        else {
            name: [_GROUPS.get(word, word) for word in words.split()] or [""]
            for name, words in zip(fields, rule, strict=False)
        }
        for rule in rules
    ]


_GROUPS = {"core": ""}


def _binding(name: str, groups: Sequence[str]) -> dict[str, Any]:
    subjects = [{"apiGroup": RBAC, "kind": "Group", "name": group} for group in groups]
    return {
        **_role("ClusterRoleBinding", name),
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
        "subjects": subjects,
    }


async def _ensure(context: Context, resource: Resource, wanted: dict[str, Any], *, overwrite: str = "") -> None:
    """Create the object, or add to an existing one what is missing; the part named by ``overwrite`` is replaced."""
    metadata = wanted["metadata"]
    name, namespace = metadata["name"], metadata.get("namespace", "")
    try:
        found = await context.get(*resource, name, namespace=namespace)
    except NotFound:
        await context.create(*resource, wanted, namespace=namespace)
        return
    has = found["metadata"]
    if has.get("annotations", {}).get(PROTECTED) == "false":
        return
    patch: dict[str, Any] = {
        "metadata": {
            part: missing
            for part in ("labels", "annotations")
            if (missing := {key: text for key, text in metadata.get(part, {}).items() if key not in has.get(part, {})})
        }
    }
    for part in ("rules", "subjects"):
        lacking = [item for item in wanted.get(part, ()) if item not in found.get(part, ())]
        if lacking:
            patch[part] = [*found.get(part, ()), *lacking]
    if overwrite:
        patch[overwrite] = wanted[overwrite]
    if patch != {"metadata": {}}:
        try:
            await context.patch(*resource, name, patch, namespace=namespace)
        except Invalid as error:
            # A change by users, such as making the object immutable, must not prevent the server from starting.
            _log.warn("{name} could not be repaired: {error}", name=name, error=str(error))
