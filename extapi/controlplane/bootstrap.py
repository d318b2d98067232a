"""What every cluster has from its first start: namespaces, RBAC roles and bindings, and what extension servers read.

Made through the server's own client, again at every start: what is missing is created, and roles and bindings get back
the rules and subjects that they lack, as kube-apiserver does; what somebody added stays. Must not know how the server
is put together. Source: ``kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy``, for the kinds that are served
here, and ``component-helpers/auth/rbac/reconciliation``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from twisted.logger import Logger

from extapi import Context, NotFound
from extapi.client.kube import Client, ResourceName
from extapi.errors import Invalid

_log = Logger()

Obj = dict[str, Any]
Rule = tuple[str, ...]
"""Verbs, groups and resources, and perhaps names of objects; or verbs and paths. In each, words between blanks.

The core group is ``core`` where it is not the only one.
"""

RBAC = "rbac.authorization.k8s.io"
PROTECTED = "rbac.authorization.kubernetes.io/autoupdate"
"""The annotation of what is put right at each start, unless it says false."""
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
"""Cluster roles made of others: of those for themselves, and where they go in turn."""
BINDINGS: Mapping[str, Sequence[str]] = {
    "cluster-admin": ["system:masters"],
    "system:discovery": ["system:authenticated"],
    "system:public-info-viewer": ["system:authenticated", "system:unauthenticated"],
    "system:basic-user": ["system:authenticated"],
}
"""Cluster roles, and the groups to which a binding of the same name gives them."""
NAMESPACES_STEP, ACCESS_STEP, TRUST_STEP, SERVICE_STEP = STEPS = (
    "start-system-namespaces-controller",
    "rbac/bootstrap-roles",
    "start-cluster-authentication-info-controller",
    "bootstrap-controller",
)
"""What kube-apiserver calls its hooks that make these objects."""
AUTHENTICATION = "extension-apiserver-authentication"
"""The ConfigMap in kube-system that tells extension servers whom to trust."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrap:
    """Makes all of it; to be started before anybody is served."""

    client_ca: str
    """PEM: who signs clients' certificates."""
    proxy_ca: str
    """PEM: who signs the front proxy's certificate."""
    proxy_names: Sequence[str]
    """The common names that certificate may have."""
    port: int
    """Where this server listens."""
    made: set[str] = field(default_factory=set, init=False)
    """Of :data:`STEPS`, those that are done."""

    async def start(self, context: Context) -> None:
        """Make what is missing. Raises ApiError and TransportError: without these objects nothing works.

        What is there and refuses to be put right is logged and left.
        """
        client = context.client
        for name in NAMESPACES:
            await _kept(client, ResourceName("", "v1", "namespaces"), _object("v1", "Namespace", name))
        self.made.add(NAMESPACES_STEP)
        for resource, obj in _access():
            await _kept(client, resource, obj)
        self.made.add(ACCESS_STEP)
        await _kept(client, ResourceName("", "v1", "configmaps"), self._authentication(), overwrite="data")
        self.made.add(TRUST_STEP)
        await _kept(client, ResourceName("", "v1", "services"), self._service(), overwrite="spec")
        self.made.add(SERVICE_STEP)

    def unfinished(self, step: str) -> str | None:
        """A health check for one of :data:`STEPS`: None once it is done."""
        return None if step in self.made else "not finished"

    def _authentication(self) -> Obj:
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

    def _service(self) -> Obj:
        obj = _object("v1", "Service", "kubernetes", "default")
        obj["metadata"]["labels"] = {"component": "apiserver", "provider": "kubernetes"}
        return {**obj, "spec": {"ports": [{"name": "https", "port": 443, "targetPort": self.port}]}}


def _access() -> list[tuple[ResourceName, Obj]]:
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
    return [(ResourceName(RBAC, "v1", f"{obj['kind'].lower()}s"), obj) for obj in [*roles, reader, *bindings]]


def _object(api_version: str, kind: str, name: str, namespace: str = "") -> Obj:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **place}}


def _role(kind: str, name: str, namespace: str = "") -> Obj:
    """One of RBAC's objects, marked as ours."""
    obj = _object(f"{RBAC}/v1", kind, name, namespace)
    obj["metadata"]["labels"] = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    obj["metadata"]["annotations"] = {PROTECTED: "true"}
    prefix = "system:aggregate-to-"
    if name.startswith(prefix):
        obj["metadata"]["labels"] |= _aggregates(name.removeprefix(prefix))
    return obj


def _aggregates(name: str) -> dict[str, str]:
    """The label by which a role becomes part of the aggregated role ``name``."""
    return {f"{RBAC}/aggregate-to-{name}": "true"}


def _rules(rules: Sequence[Rule]) -> list[Obj]:
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


def _binding(name: str, groups: Sequence[str]) -> Obj:
    subjects = [{"apiGroup": RBAC, "kind": "Group", "name": group} for group in groups]
    return {
        **_role("ClusterRoleBinding", name),
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
        "subjects": subjects,
    }


async def _kept(client: Client, resource: ResourceName, wanted: Obj, *, overwrite: str = "") -> None:
    """Create the object, or give an existing one what it lacks; the fields of its part ``overwrite`` are set anew."""
    metadata = wanted["metadata"]
    name, namespace = metadata["name"], metadata.get("namespace", "")
    try:
        found = await client.get(resource, name, namespace=namespace)
    except NotFound:
        await client.create(resource, wanted, namespace=namespace)
        return
    has = found["metadata"]
    if has.get("annotations", {}).get(PROTECTED) == "false":
        return
    patch: Obj = {
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
            await client.patch(resource, name, patch, namespace=namespace)
        except Invalid as error:
            # What somebody made of the object, such as an immutable one, must not keep the server from starting.
            _log.warn("{name} could not be put right: {error}", name=name, error=str(error))
