"""The cluster of an in-memory server: the kinds of the built-in control plane, with their rules and RBAC.

An author's code uses it as an account that has only the rights of ``Api(needs=[...])``, so a missing rule fails a test. Must
not know a server: :mod:`extapi.testing.memory` makes one from these parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from twisted.internet.task import Clock

from extapi.api.definition import Api, Group
from extapi.api.policyrule import PolicyRule
from extapi.api.user import User
from extapi.authorization.alwaysallow import AlwaysAllowGroups
from extapi.authorization.authorizer import Authorizer, UnionAuthorizer
from extapi.controlplane.access.rbac import RBAC
from extapi.controlplane.access.tokens import Tokens
from extapi.controlplane.api import control_plane_api
from extapi.server.context import Context

ACCOUNT = User("system:serviceaccount:extension:extension", groups=("system:serviceaccounts", "system:authenticated"))
"""The user that an author's code acts as."""

_RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True)
class ClusterParts:
    """The parts of an in-memory server that plays the cluster."""

    api: Api
    authorizer: Authorizer
    builtin: Sequence[Any]
    """The plugins that start with the server: the account's rights, then the readers of roles and service accounts."""


def cluster_parts(clock: Clock, groups: Sequence[Group], needs: Sequence[PolicyRule]) -> ClusterParts:
    """The parts of a cluster.

    Args:
        clock: The time.
        groups: Kinds besides those of the built-in control plane.
        needs: The rights of the account.
    """
    rbac = RBAC()
    authorizer = UnionAuthorizer([AlwaysAllowGroups(), rbac])
    tokens = Tokens(_key(), "https://kubernetes.default.svc", clock)
    plane = control_plane_api(authorizer=authorizer, roles=rbac, tokens=tokens, clock=clock, root_ca="")
    api = Api(*_merged([*plane.groups, *groups]), admission=plane.admission)
    return ClusterParts(api, authorizer, [_Rights(needs), rbac, tokens])


class _Rights:
    """Grants the account its rights before they are first read."""

    def __init__(self, needs: Sequence[PolicyRule]) -> None:
        self._needs = needs

    async def start(self, context: Context) -> None:
        """Create the role and its binding."""
        metadata = {"name": "extension:server"}
        role = {"kind": "ClusterRole", "metadata": metadata, "rules": [rule.to_dict() for rule in self._needs]}
        binding = {
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", **metadata},
            "subjects": [{"kind": "User", "apiGroup": _RBAC, "name": ACCOUNT.name}],
        }
        for resource, obj in (("clusterroles", role), ("clusterrolebindings", binding)):
            await context.create(_RBAC, "v1", resource, {"apiVersion": f"{_RBAC}/v1", **obj})


def _merged(groups: Sequence[Group]) -> list[Group]:
    """The groups, those with the same name merged."""
    kinds = {name: [kind for each in groups if each.name == name for kind in each.kinds] for name in _names(groups)}
    return [Group(name, *found) for name, found in kinds.items()]


def _names(groups: Sequence[Group]) -> list[str]:
    return list(dict.fromkeys(group.name for group in groups))


def _key() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
