"""Fills the rules of aggregated ClusterRoles: those of every ClusterRole that their selectors choose.

Source: ``kubernetes/pkg/controller/clusterroleaggregation``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from extapi import Context, NotFound
from extapi.api.labelselectors import selector_of
from extapi.client.kube import ResourceName

GROUP = "rbac.authorization.k8s.io"
CLUSTER_ROLES = ResourceName(GROUP, "v1", "clusterroles")
_ALL = ""
"""What is in the queue for every aggregated role; no role is called that."""


class RoleAggregationController:
    """Whenever any ClusterRole changes, looks at each that has an aggregationRule."""

    async def run(self, context: Context) -> None:
        """Work until cancelled."""
        queue = context.queue()
        roles = context.informer(GROUP, "v1", "clusterroles", on_change=lambda _event, _role: queue.add(_ALL))

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
                    await context.client.patch(CLUSTER_ROLES, name, {"rules": rules})
                except NotFound:
                    return  # it has gone meanwhile

        await roles.wait_synced()
        await queue.each(fill)


def aggregated(role: dict[str, Any], roles: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rules of all other roles that ``role`` selects: by the order of their names, each rule once.

    Raises BadRequest for a selector that is not valid.
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
