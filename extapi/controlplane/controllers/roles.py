"""Fills in the rules of aggregated ClusterRoles, from all ClusterRoles that their selectors match.

Source: ``kubernetes/pkg/controller/clusterroleaggregation``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from extapi import Context, NotFound
from extapi.api.labelselectors import selector_of
from extapi.controlplane.controllers.resources import NamespacedResource

GROUP = "rbac.authorization.k8s.io"
CLUSTER_ROLES = NamespacedResource(GROUP, "v1", "clusterroles")
_ALL = ""
"""The queue's key for all aggregated roles; no role has an empty name."""


class RoleAggregationController:
    """Updates every ClusterRole that has an aggregationRule whenever any ClusterRole changes."""

    async def run(self, context: Context) -> None:
        """Work until cancelled."""
        queue = context.queue()
        roles = context.informer(*CLUSTER_ROLES, on_change=lambda _event, _role: queue.add(_ALL))

        async def fill(name: str) -> None:
            if name == _ALL:
                for each in roles.items():
                    if each.get("aggregationRule"):
                        queue.add(each["metadata"]["name"])
                return
            role = roles.get("", name)
            if role is None or not role.get("aggregationRule"):
                return
            rules = aggregated(role, roles.items())
            if rules != (role.get("rules") or []):
                try:
                    await context.patch(*CLUSTER_ROLES, name, {"rules": rules})
                except NotFound:
                    return  # it was deleted in the meantime

        await roles.wait_synced()
        await queue.each(fill)


def aggregated(role: dict[str, Any], roles: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rules of all other roles that ``role`` selects, ordered by the roles' names, each rule once.

    Raises:
        BadRequest: A selector is not valid.
    """
    rules: dict[bytes, dict[str, Any]] = {}
    by_name: dict[str, dict[str, Any]] = {each["metadata"]["name"]: each for each in roles}
    by_name.pop(role["metadata"]["name"], None)
    for wanted in role["aggregationRule"].get("clusterRoleSelectors") or ():
        selector = selector_of(wanted)
        for _, other in sorted(by_name.items()):
            if selector.matches(other["metadata"].get("labels") or {}):
                for rule in other.get("rules") or ():
                    rules.setdefault(msgspec.json.encode(rule, order="sorted"), rule)
    return list(rules.values())
