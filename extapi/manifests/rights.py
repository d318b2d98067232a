"""Rights: of the server in the cluster, and of users on what it serves.

Source of the server's rights: "Set up an extension API server" in the Kubernetes documentation, and what this server
reads: ``extapi.server.process``. Controllers and plugins of an author go through the server itself, by loopback; where the
kinds are custom resources, through kube-apiserver, with the rights of :func:`webhooks_rules`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from random import Random
from typing import Any

from twisted.internet.task import Clock

from extapi.admission.base import Startable
from extapi.api.definition import Api
from extapi.api.policyrule import PolicyRule
from extapi.manifests.settings import ManifestSettings
from extapi.registry.feed import KindFeed
from extapi.registry.served import ServedKind
from extapi.server.installation import install
from extapi.storage.memory import MemoryBackend
from extapi.watch.cacher import Cacher

Obj = dict[str, Any]

RBAC = "rbac.authorization.k8s.io"
READ = ("get", "list", "watch")
WRITE = ("create", "delete", "deletecollection", "patch", "update")
_LABEL = f"{RBAC}/aggregate-to-"


def auth_delegator(settings: ManifestSettings) -> Obj:
    """The server asks kube-apiserver who a user is and what they may do; one with webhooks, about readers of its metrics."""
    return _binding(settings, "ClusterRoleBinding", "auth-delegator", "ClusterRole", "system:auth-delegator")


def authentication_reader(settings: ManifestSettings) -> Obj:
    """The server reads the authorities and headers with which kube-apiserver proxies to it."""
    role = "extension-apiserver-authentication-reader"
    return _binding(settings, "RoleBinding", "authentication-reader", "Role", role, namespace="kube-system")


def server_role(settings: ManifestSettings, api: Api) -> Obj:
    """What else the server reads, and what the author's code does in the cluster (``Api(needs=[...])``)."""
    namespaces = {"apiGroups": ("",), "resources": ("namespaces",), "verbs": READ}
    admission = {
        "apiGroups": ("admissionregistration.k8s.io",),
        "resources": (
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
            "mutatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "validatingwebhookconfigurations",
        ),
        "verbs": READ,
    }
    return _role(settings, "server", [namespaces, admission, *(rule.to_dict() for rule in api.needs)])


def webhooks_role(settings: ManifestSettings, api: Api) -> Obj | None:
    """What the code of ``extapi webhooks`` reads and writes; None if it needs no right."""
    rules = list(webhooks_rules(api))
    return _role(settings, "server", rules) if rules else None


def webhooks_rules(api: Api) -> Iterator[Obj]:
    """The rules for the API's own kinds, where these are custom resources, then those of ``Api(needs=[...])``.

    A plugin or controller that has an attribute ``needs``, a list of :class:`~extapi.api.policyrule.PolicyRule`, gets these. Of
    one without it only the worst case is known: a plugin that is started may read all kinds of its API, a controller may also
    write them.
    """
    verbs: dict[tuple[str, str], set[str]] = {}
    for each in own_rules(api):
        if each.resource_names:
            continue
        for group in each.api_groups:
            for resource in each.resources:
                verbs.setdefault((group, resource), set()).update(each.verbs)
    merged: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, resource), some in verbs.items():
        ordered = (*(verb for verb in (*READ, *WRITE) if verb in some), *sorted(some.difference(READ, WRITE)))
        merged.setdefault((group, ordered), []).append(resource)
    for (group, ordered), resources in merged.items():
        yield {"apiGroups": (group,), "resources": tuple(sorted(resources)), "verbs": ordered}
    yield from (each.to_dict() for each in own_rules(api) if each.resource_names)
    yield from (each.to_dict() for each in api.needs)


def own_rules(api: Api) -> Iterator[PolicyRule]:
    """What each plugin and controller does with the API's own kinds."""
    for plugin in api.admission:
        if isinstance(plugin, Startable):
            yield from _needs(plugin, api, READ)
    for controller in api.controllers:
        yield from _needs(controller, api, (*READ, *WRITE))


def _needs(code: object, api: Api, verbs: Sequence[str]) -> Iterable[PolicyRule]:
    """What a plugin or controller declares; without a declaration these verbs on every kind."""
    declared: Iterable[PolicyRule] | None = getattr(code, "needs", None)
    return _every(api, verbs) if declared is None else declared


def follows(api: Api, kinds: Collection[tuple[str, str]]) -> bool:
    """Whether a plugin that is started reads one of these kinds, by group and plural: until it has, no pod is ready."""
    rules = [rule for plugin in api.admission if isinstance(plugin, Startable) for rule in _needs(plugin, api, READ)]
    return any(group in rule.api_groups and plural in rule.resources for rule in rules for group, plural in kinds)


def _every(api: Api, verbs: Sequence[str]) -> Iterator[PolicyRule]:
    """These verbs on every kind, and what of them ``status`` and ``scale`` have."""
    for group in api.groups:
        kinds = [kind.plural for kind in group.kinds]
        yield PolicyRule(api_groups=[group.name], resources=kinds, verbs=verbs)
        inner = [
            *(f"{kind.plural}/status" for kind in group.kinds if any(map(kind.status_of, kind.versions))),
            *(f"{kind.plural}/scale" for kind in group.kinds if any(map(kind.scale_of, kind.versions))),
        ]
        if inner and set(verbs) > set(READ):
            yield PolicyRule(api_groups=[group.name], resources=inner, verbs=["get", "patch", "update"])


def elects(api: Api) -> bool:
    """Whether servers that share a store elect one of them: there is a controller that does not run in each."""
    return not all(getattr(controller, "each_process", False) for controller in api.controllers)


def lease_role(settings: ManifestSettings, api: Api) -> Obj:
    """The Lease by which one of several pods runs the controllers. RBAC cannot restrict create to a name."""
    lease = api.groups[0].name  # as extapi webhooks and extapi serve name it
    leases: Obj = {"apiGroups": ("coordination.k8s.io",), "resources": ("leases",)}
    rules = [
        {**leases, "verbs": ("create",)},
        {**leases, "resourceNames": (lease,), "verbs": ("get", "update")},
    ]
    metadata = {"name": settings.name, "namespace": settings.namespace, "labels": settings.labels}
    return {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": rules}


def lease_role_binding(settings: ManifestSettings) -> Obj:
    """The server has that role."""
    return _binding(settings, "RoleBinding", "", "Role", settings.name, namespace=settings.namespace)


def server_role_binding(settings: ManifestSettings) -> Obj:
    """The server has that role."""
    return _binding(settings, "ClusterRoleBinding", "server", "ClusterRole", f"{settings.name}:server")


def view_role(settings: ManifestSettings, api: Api) -> Obj | None:
    """Read access, aggregated to the cluster's role ``view``, and so to ``edit`` and ``admin``; None if nothing can be read."""
    rules = list(_rules(api, READ))
    return _role(settings, "view", rules, "view") if rules else None


def edit_role(settings: ManifestSettings, api: Api) -> Obj | None:
    """Write access, aggregated to ``edit`` and ``admin``; None if nothing can be written.

    Without status, which controllers write; they have their own role.
    """
    rules = list(_rules(api, WRITE, without="status"))
    return _role(settings, "edit", rules, "edit", "admin") if rules else None


def served_verbs(api: Api) -> dict[str, dict[str, frozenset[str]]]:
    """The verbs that discovery lists, of all versions together, by group and resource (``pizzas``, ``pizzas/status``).

    Raises:
        ValueError: The API cannot be served; the message says why.
    """
    clock: Any = Clock()
    cacher = Cacher(MemoryBackend(clock), clock)
    found: dict[str, dict[str, frozenset[str]]] = {}
    for group in api.groups:
        for kind in group.kinds:
            served = ServedKind(kind, group.name)
            cache = None if served.virtual else cacher.add(served.layout, served)
            random = Random(0)  # noqa: S311 - generates names only, and none here
            feed = KindFeed(served, clock, random) if served.fed else None
            for (name, _, plural, subresource), endpoint in install(served, cache, clock, random, feed).items():
                resource = f"{plural}/{subresource}" if subresource else plural
                verbs = found.setdefault(name, {})
                verbs[resource] = verbs.get(resource, frozenset()) | frozenset(endpoint.verbs)
    return found


def _rules(api: Api, wanted: Sequence[str], *, without: str = "") -> Iterator[Obj]:
    """A rule for each set of verbs within a group, those of most verbs first; without one subresource of every kind."""
    for group, resources in served_verbs(api).items():
        sets: dict[tuple[str, ...], list[str]] = {}
        for resource, served in resources.items():
            verbs = tuple(verb for verb in wanted if verb in served)
            if verbs and (not without or resource.partition("/")[2] != without):
                sets.setdefault(verbs, []).append(resource)
        for verbs in sorted(sets, key=lambda each: (-len(each), each)):
            yield {"apiGroups": (group,), "resources": tuple(sorted(sets[verbs])), "verbs": verbs}


def _role(settings: ManifestSettings, name: str, rules: Sequence[Obj], *aggregate_to: str) -> Obj:
    labels = settings.labels | {f"{_LABEL}{role}": "true" for role in aggregate_to}
    metadata = {"name": f"{settings.name}:{name}", "labels": labels}
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": list(rules)}


def _binding(
    settings: ManifestSettings, kind: str, name: str, role_kind: str, role: str, *, namespace: str = ""
) -> Obj:
    where: Collection[tuple[str, str]] = [("namespace", namespace)] if namespace else []
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind,
        "metadata": {
            "name": f"{settings.name}:{name}" if name else settings.name,
            **dict(where),
            "labels": settings.labels,
        },
        "roleRef": {"apiGroup": RBAC, "kind": role_kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": settings.name, "namespace": settings.namespace}],
    }
