"""The cluster of an API that is served in memory: Kubernetes' own kinds, on a server of their own.

They are those of the built-in control plane, with their types, their rules and RBAC. An author's code reaches them as the
account of a server that has the rights of ``Api(needs=[...])`` and no others, so that a rule that is missing fails a test.
"""

from __future__ import annotations

from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi.api.definition import Api, Group
from extapi.api.policyrule import PolicyRule
from extapi.api.user import User
from extapi.authorization.groups import AlwaysAllowGroups
from extapi.authorization.union import Union
from extapi.client.base import Reply, Request
from extapi.controlplane.access.rbac import RBAC
from extapi.controlplane.access.tokens import Tokens
from extapi.controlplane.api import control_plane_api
from extapi.server.context import Context
from extapi.testing.memory import InMemoryServer

ACCOUNT = User("system:serviceaccount:extension:extension", groups=("system:serviceaccounts", "system:authenticated"))
"""As whom an author's code comes."""

_RBAC = "rbac.authorization.k8s.io"


class InMemoryCluster:
    """A server of the built-in control plane's kinds and those of ``groups``. It starts when it is first asked."""

    def __init__(self, clock: Clock, groups: Sequence[Group], needs: Sequence[PolicyRule]) -> None:
        rbac = RBAC()
        authorizer = Union([AlwaysAllowGroups(), rbac])
        tokens = Tokens(_key(), "https://kubernetes.default.svc", clock)
        plane = control_plane_api(authorizer=authorizer, roles=rbac, tokens=tokens, clock=clock, root_ca="")
        self.server = InMemoryServer(
            Api(*_merged([*plane.groups, *groups]), admission=plane.admission),
            clock=clock,
            authorizer=authorizer,
            builtin=[_Rights(needs), rbac, tokens],
            lifecycle=False,
        )
        self._starting: Deferred[None] | None = None

    async def start(self) -> None:
        """Start it, once: who comes meanwhile waits."""
        if self._starting is None:
            self._starting = Deferred.fromCoroutine(self.server.server.start())
        await self._starting

    async def stop(self) -> None:
        """Stop it, if it was started."""
        if self._starting is not None:
            await self.server.server.stop()

    async def send(self, request: Request) -> Reply:
        """Carry an author's request (:class:`extapi.client.base.Transport`)."""
        await self.start()
        return await self.server.server.transport(ACCOUNT).send(request)


class _Rights:
    """Gives the account its rights, before they are first read."""

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
    """Groups of one name as one."""
    kinds = {name: [kind for each in groups if each.name == name for kind in each.kinds] for name in _names(groups)}
    return [Group(name, *found) for name, found in kinds.items()]


def _names(groups: Sequence[Group]) -> list[str]:
    return list(dict.fromkeys(group.name for group in groups))


def _key() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
