"""The RBAC authorizer. It follows roles and bindings as they change.

Bindings are indexed by subject, so a decision costs only as much as the user has bindings. Must not know where requests
come from.

Source: ``plugin/pkg/auth/authorizer/rbac`` and ``pkg/registry/rbac/validation`` of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from extapi import BadRequest, Context, NotFound, User
from extapi.authorization.authorizer import Attributes, Decision, Verdict
from extapi.controlplane.access.rules import AccessRule, rules_of
from extapi.errors import aggregate, go_quote

GROUP = "rbac.authorization.k8s.io"
ACCOUNT_PREFIX = "system:serviceaccount:"
"""The prefix of a service account's user name; namespace and name follow."""


class RoleKey(NamedTuple):
    """The role that a binding grants."""

    kind: str
    name: str

    @property
    def resource(self) -> str:
        """The resource of the kind; empty for kinds that are not roles."""
        return {"Role": "roles", "ClusterRole": "clusterroles"}.get(self.kind, "")

    def unresolved(self, resource: str = "") -> str:
        """The message for a role that does not exist; ``resource`` is named in place of the kind."""
        if not self.resource:
            return f"unsupported role reference kind: {go_quote(self.kind)}"
        return f'{resource or self.kind.lower()}.{GROUP} "{self.name}" not found'


class _Grant(NamedTuple):
    """A binding, as one of its subjects sees it."""

    position: int
    """The subject's index in the binding: reasons name the first subject that matches."""
    role: RoleKey
    source: str


class _Bindings:
    """Bindings of one kind, by namespace and subject."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._grants: dict[tuple[str, str, str], dict[str, _Grant]] = {}
        self._subjects: dict[tuple[str, str], list[tuple[str, str, str]]] = {}

    def changed(self, event: str, binding: dict[str, Any]) -> None:
        """Apply an event of the informer."""
        namespace, name = _key(binding)
        for key in self._subjects.pop((namespace, name), ()):
            grants = self._grants[key]
            del grants[name]
            if not grants:
                del self._grants[key]
        if event == "DELETED":
            return
        of = binding.get("roleRef") or {}
        role = RoleKey(of.get("kind", ""), of.get("name", ""))
        full_name = f"{name}/{namespace}" if namespace else name
        granted = f"{self._kind} {go_quote(full_name)} of {role.kind} {go_quote(role.name)} to"
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
        """The grants that apply to ``user``, ordered by the bindings' names."""
        found: dict[str, _Grant] = {}
        for key in (("User", user.name), *(("Group", group) for group in user.groups)):
            for name, grant in self._grants.get((namespace, *key), {}).items():
                found[name] = min(grant, found.get(name, grant))
        return [found[name] for name in sorted(found)]


class RBAC:
    """An Authorizer. It allows, or has no opinion and names the roles that it did not find."""

    def __init__(self) -> None:
        self._context: Context | None = None
        self._roles: dict[tuple[str, str, str], tuple[AccessRule, ...]] = {}
        self._everywhere = _Bindings("ClusterRoleBinding")
        self._within = _Bindings("RoleBinding")

    async def start(self, context: Context) -> None:
        """Follow roles and bindings; returns once all are known. A second call changes nothing."""
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

    def _role_changed(self, event: str, role: dict[str, Any]) -> None:
        namespace, name = _key(role)
        key = ("Role" if namespace else "ClusterRole", namespace, name)
        if event == "DELETED":
            self._roles.pop(key, None)
        else:
            self._roles[key] = rules_of(role)

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        """The decision, with Kubernetes' text as the reason."""
        unresolved: list[str] = []
        for grant, rules in self._granted(user, attributes.namespace):
            if rules is None:
                unresolved.append(grant.role.unresolved())
            elif any(rule.allows(attributes) for rule in rules):
                return Decision(Verdict.ALLOW, f"RBAC: allowed by {grant.source}")
        return Decision(Verdict.NO_OPINION, f"RBAC: {aggregate(unresolved)}" if unresolved else "")

    def rules_for(self, user: User, namespace: str) -> tuple[list[AccessRule], list[RoleKey]]:
        """All rules that apply to ``user`` in ``namespace``, and the roles that were not found.

        Without a namespace, cluster-wide rules only.
        """
        found: list[AccessRule] = []
        unresolved: list[RoleKey] = []
        for grant, rules in self._granted(user, namespace):
            if rules is None:
                unresolved.append(grant.role)
            else:
                found += rules
        return found, unresolved

    async def read(self, ref: RoleKey, namespace: str) -> tuple[AccessRule, ...]:
        """The rules of a role, read live: the informers may not have seen its last change.

        Raises:
            NotFound: There is no such role.
            BadRequest: A Role is named without a namespace.
        """
        if self._context is None or not ref.name:
            raise NotFound.named(ref.resource, GROUP, ref.name)
        if ref.kind == "Role" and not namespace:
            raise BadRequest("Namespace parameter required.")
        where = namespace if ref.kind == "Role" else ""
        return rules_of(await self._context.get(GROUP, "v1", ref.resource, ref.name, namespace=where))

    def _granted(self, user: User, namespace: str) -> Iterator[tuple[_Grant, tuple[AccessRule, ...] | None]]:
        for grant in self._everywhere.of(user, ""):
            yield grant, self._roles.get((grant.role.kind, "", grant.role.name))
        for grant in self._within.of(user, namespace) if namespace else ():
            where = namespace if grant.role.kind == "Role" else ""
            yield grant, self._roles.get((grant.role.kind, where, grant.role.name))


def _key(obj: dict[str, Any]) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def _subject(subject: dict[str, Any], namespace: str) -> tuple[tuple[str, str], str] | None:
    """The index key of a subject and its name in reasons; None for subjects that match no user."""
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if kind in {"User", "Group"}:
        return (kind, name), f"{kind} {go_quote(name)}"
    if kind == "ServiceAccount" and (of := subject.get("namespace") or namespace):
        return ("User", f"{ACCOUNT_PREFIX}{of}:{name}"), f"{kind} {go_quote(f'{name}/{of}')}"
    return None
