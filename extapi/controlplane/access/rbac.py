"""The authorizer of roles and bindings, which are followed as they change.

Bindings are found by their subjects, so that an answer costs what the user's own bindings cost. Must not know who asks.
Source of rules and reasons: ``plugin/pkg/auth/authorizer/rbac`` and ``pkg/registry/rbac/validation`` of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from extapi import Context, NotFound, User
from extapi.api.types import Obj
from extapi.authorization.base import Attributes, Decision, Verdict
from extapi.controlplane.access.rules import Rule, rules_of
from extapi.errors import BadRequest, aggregate, go_quote

GROUP = "rbac.authorization.k8s.io"
ACCOUNT_PREFIX = "system:serviceaccount:"
"""Before namespace and name of a service account in the name of its user."""


class RoleRef(NamedTuple):
    """The role that a binding grants."""

    kind: str
    name: str

    @property
    def resource(self) -> str:
        """The resource of the kind; empty for what is no role."""
        return {"Role": "roles", "ClusterRole": "clusterroles"}.get(self.kind, "")

    def unresolved(self, resource: str = "") -> str:
        """What is said when there is no such role; ``resource``: what is named as missing, if not the kind itself."""
        if not self.resource:
            return f"unsupported role reference kind: {go_quote(self.kind)}"
        return f'{resource or self.kind.lower()}.{GROUP} "{self.name}" not found'


class _Grant(NamedTuple):
    """A binding, as one of its subjects sees it."""

    position: int
    """Of the subject in the binding: the first that fits is named in reasons."""
    role: RoleRef
    source: str


class _Bindings:
    """Bindings of one kind, by namespace and subject."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._grants: dict[tuple[str, str, str], dict[str, _Grant]] = {}
        self._subjects: dict[tuple[str, str], list[tuple[str, str, str]]] = {}

    def changed(self, event: str, binding: Obj) -> None:
        """Take over what the informer tells."""
        namespace, name = _place(binding)
        for key in self._subjects.pop((namespace, name), ()):
            grants = self._grants[key]
            del grants[name]
            if not grants:
                del self._grants[key]
        if event == "DELETED":
            return
        of = binding.get("roleRef") or {}
        role = RoleRef(of.get("kind", ""), of.get("name", ""))
        called = f"{name}/{namespace}" if namespace else name
        granted = f"{self._kind} {go_quote(called)} of {role.kind} {go_quote(role.name)} to"
        keys = self._subjects[namespace, name] = []
        for position, subject in enumerate(binding.get("subjects") or ()):
            found = _subject(subject, namespace)
            if found is None:
                continue
            key = (namespace, *found[0])
            grants = self._grants.setdefault(key, {})
            if name not in grants:
                grants[name] = _Grant(position, role, f"{granted} {found[1]}")
                keys.append(key)

    def of(self, user: User, namespace: str) -> list[_Grant]:
        """The bindings that apply to ``user``, in the order of their names."""
        found: dict[str, _Grant] = {}
        for key in (("User", user.name), *(("Group", group) for group in user.groups)):
            for name, grant in self._grants.get((namespace, *key), {}).items():
                found[name] = min(grant, found.get(name, grant))
        return [found[name] for name in sorted(found)]


class RBAC:
    """An Authorizer: allows, or has no opinion and says which roles were not to be found."""

    def __init__(self) -> None:
        self._context: Context | None = None
        self._roles: dict[tuple[str, str, str], tuple[Rule, ...]] = {}
        self._everywhere = _Bindings("ClusterRoleBinding")
        self._within = _Bindings("RoleBinding")

    async def start(self, context: Context) -> None:
        """Follow roles and bindings; once it returns they are known. A second call changes nothing."""
        if self._context is not None:
            return
        self._context = context
        followers = {
            "roles": self._role_changed,
            "clusterroles": self._role_changed,
            "clusterrolebindings": self._everywhere.changed,
            "rolebindings": self._within.changed,
        }
        informers = [context.informer(GROUP, "v1", each, on_change=changed) for each, changed in followers.items()]
        for informer in informers:
            await informer.wait_synced()

    def _role_changed(self, event: str, role: Obj) -> None:
        namespace, name = _place(role)
        key = ("Role" if namespace else "ClusterRole", namespace, name)
        if event == "DELETED":
            self._roles.pop(key, None)
        else:
            self._roles[key] = rules_of(role)

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        """The decision, with a reason in the words of Kubernetes."""
        unresolved: list[str] = []
        for grant, rules in self._granted(user, attributes.namespace):
            if rules is None:
                unresolved.append(grant.role.unresolved())
            elif any(rule.allows(attributes) for rule in rules):
                return Decision(Verdict.ALLOW, f"RBAC: allowed by {grant.source}")
        return Decision(Verdict.NO_OPINION, f"RBAC: {aggregate(unresolved)}" if unresolved else "")

    def rules_for(self, user: User, namespace: str) -> tuple[list[Rule], list[RoleRef]]:
        """All rules that apply to ``user`` in ``namespace`` (empty: in the cluster only), and the roles not to be found."""
        found: list[Rule] = []
        unresolved: list[RoleRef] = []
        for grant, rules in self._granted(user, namespace):
            if rules is None:
                unresolved.append(grant.role)
            else:
                found += rules
        return found, unresolved

    async def read(self, ref: RoleRef, namespace: str) -> tuple[Rule, ...]:
        """The rules of a role as they are now, which this may not have heard of yet. Raises NotFound, BadRequest."""
        if self._context is None or not ref.name:
            raise NotFound.named(ref.resource, GROUP, ref.name)
        if ref.kind == "Role" and not namespace:
            raise BadRequest("Namespace parameter required.")
        where = namespace if ref.kind == "Role" else ""
        return rules_of(await self._context.get(GROUP, "v1", ref.resource, ref.name, namespace=where))

    def _granted(self, user: User, namespace: str) -> Iterator[tuple[_Grant, tuple[Rule, ...] | None]]:
        for grant in self._everywhere.of(user, ""):
            yield grant, self._roles.get((grant.role.kind, "", grant.role.name))
        for grant in self._within.of(user, namespace) if namespace else ():
            where = namespace if grant.role.kind == "Role" else ""
            yield grant, self._roles.get((grant.role.kind, where, grant.role.name))


def _place(obj: Obj) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def _subject(subject: dict[str, Any], namespace: str) -> tuple[tuple[str, str], str] | None:
    """Under which key a subject is found, and its name in reasons; None for what is nobody."""
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if kind in {"User", "Group"}:
        return (kind, name), f"{kind} {go_quote(name)}"
    if kind == "ServiceAccount" and (of := subject.get("namespace") or namespace):
        return ("User", f"{ACCOUNT_PREFIX}{of}:{name}"), f"{kind} {go_quote(f'{name}/{of}')}"
    return None
