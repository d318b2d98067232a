"""Users cannot grant rights that they do not have: checks on writes of roles and bindings.

Source: ``pkg/registry/rbac/{role,clusterrole,rolebinding,clusterrolebinding}/policybased`` of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from extapi import Context, Forbidden, NotFound, Operation, Review, User
from extapi.api.user import MASTERS
from extapi.authorization.authorizer import Attributes, Verdict
from extapi.controlplane.access.rbac import GROUP, RBAC, RoleKey
from extapi.controlplane.access.rules import FULL_AUTHORITY, AccessRule, missing, printed, quoted, rules_of
from extapi.errors import StorageError, aggregate, go_quote

_ROLES = frozenset({"roles", "clusterroles"})
_BINDINGS = frozenset({"rolebindings", "clusterrolebindings"})


class Escalation:
    """A Validator for roles and bindings. Members of system:masters may write anything."""

    def __init__(self, rbac: RBAC) -> None:
        self._rbac = rbac

    async def start(self, context: Context) -> None:
        """Start to follow roles and bindings, unless they are followed already."""
        await self._rbac.start(context)

    async def validate(self, review: Review) -> None:
        """Refuse a role, or a binding to a role, that grants rights which the user lacks.

        Raises:
            Forbidden: The write would grant more than the user may do.
        """
        if review.group != GROUP or review.subresource or MASTERS in review.user.groups:
            return
        new, old = review.as_version("v1"), review.old_as_version("v1")
        if new is None or review.resource not in _ROLES | _BINDINGS:
            return
        if review.resource in _ROLES:
            await self._role(review, new, old)
        else:
            await self._binding(review, new, old)

    async def _role(self, review: Review, new: dict[str, Any], old: dict[str, Any] | None) -> None:
        # The path of a create has no name, so permission for roles by name covers only existing roles.
        name = "" if review.operation is Operation.CREATE else review.name
        if await self._may(review.user, "escalate", review.resource, name, review.namespace):
            return
        if old is not None and _same(new, old):
            return
        self._owned(review, new, rules_of(new))
        if _aggregates(new) or (old is not None and _aggregates(old)):
            why = "must have cluster-admin privileges to use the aggregationRule"
            self._owned(review, new, FULL_AUTHORITY, why)

    async def _binding(self, review: Review, new: dict[str, Any], old: dict[str, Any] | None) -> None:
        if old is not None and _same(new, old):
            return
        of = new.get("roleRef") or {}
        ref = RoleKey(of.get("kind", ""), of.get("name", ""))
        if ref.resource not in _ROLES:
            raise StorageError(ref.unresolved())
        if await self._may(review.user, "bind", ref.resource, ref.name, review.namespace):
            return
        try:
            rules = await self._rbac.read(ref, review.namespace)
        except NotFound as error:
            # Kubernetes names the resource of the request in place of the role's.
            raise NotFound.named(review.resource, GROUP, ref.name) from error
        self._owned(review, new, rules)

    async def _may(self, user: User, verb: str, resource: str, name: str, namespace: str) -> bool:
        attributes = Attributes(verb, is_resource=True, group=GROUP, resource=resource, name=name, namespace=namespace)
        return (await self._rbac.authorize(user, attributes)).verdict is Verdict.ALLOW

    def _owned(self, review: Review, obj: dict[str, Any], rules: Sequence[AccessRule], why: str = "") -> None:
        """Refuse unless the user has all of ``rules``; ``why`` replaces the list of missing rules."""
        user, name = review.user, obj["metadata"].get("name", "")
        own, unresolved = self._rbac.rules_for(user, review.namespace)
        try:
            lacking = missing(own, rules)
        except OverflowError as error:
            raise Forbidden.on(review.resource, GROUP, name, str(error)) from error
        if not lacking:
            return
        if not why:
            why = (
                f"user {go_quote(user.name)} (groups={quoted(user.groups)}) is attempting to grant RBAC permissions "
                f"not currently held:\n{printed(lacking)}"
            )
            if unresolved:
                texts = aggregate(ref.unresolved(review.resource) for ref in unresolved)
                why += f"; resolution errors: [{texts}]"
        raise Forbidden.on(review.resource, GROUP, name, why)


def _same(new: dict[str, Any], old: dict[str, Any]) -> bool:
    """Whether only fields differ that garbage collection writes (``IsOnlyMutatingGCFields``)."""
    return _compared(new) == _compared(old)


_COLLECTED = frozenset({"ownerReferences", "finalizers", "selfLink", "managedFields", "resourceVersion"})


def _compared(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _COLLECTED and value}
    return {key: value for key, value in obj.items() if value} | {"metadata": metadata}


def _aggregates(role: dict[str, Any]) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))
