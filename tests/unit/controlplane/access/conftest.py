"""A control plane's kinds, served in memory with RBAC as the authorizer."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from extapi import NAMESPACED, Api, Group, User
from extapi.authentication.loopback import APISERVER
from extapi.authorization.alwaysallow import AlwaysAllowGroups
from extapi.authorization.authorizer import UnionAuthorizer
from extapi.controlplane.access import reviews
from extapi.controlplane.access.escalation import Escalation
from extapi.controlplane.access.rbac import GROUP, RBAC
from extapi.controlplane.access.tokenreviews import TokenRequests, TokenReviews
from extapi.controlplane.access.tokens import Tokens
from extapi.controlplane.kinds import authentication, authorization, core, rbac as kinds
from extapi.controlplane.kinds.parts import review
from extapi.testing import InMemoryServer, ServerResponse, serve
from extapi.testing.memory import START

T = TypeVar("T")

ISSUER = "https://kubernetes.default.svc.cluster.local"
RBAC_PATH = f"/apis/{GROUP}/v1"


def key_pem() -> bytes:
    """A new key for tokens."""
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@dataclass
class Cluster:
    """The server and its parts; its clock shows 2023-11-14T22:13:20Z at first."""

    server: InMemoryServer
    rbac: RBAC
    tokens: Tokens
    clock: Clock

    def send(self, method: str, path: str, body: Any = None, *, user: User | None = None) -> ServerResponse:
        """A request, and time for informers to hear of it."""
        answer = self.server.request(method, path, body=body, user=user or APISERVER)
        self.server.advance(0.5)
        return answer

    def role(self, name: str, rules: Sequence[Any], namespace: str = "", *, user: User | None = None) -> ServerResponse:
        """Create a ClusterRole, or a Role in ``namespace``."""
        return self.send("POST", *_of("Role", name, namespace, {"rules": rules}), user=user)

    def bind(
        self, name: str, role: str, *subjects: Any, namespace: str = "", kind: str = "", user: User | None = None
    ) -> ServerResponse:
        """Create a ClusterRoleBinding, or a RoleBinding in ``namespace``."""
        ref = {"apiGroup": GROUP, "kind": kind or ("Role" if namespace else "ClusterRole"), "name": role}
        body = {"roleRef": ref, "subjects": list(subjects)}
        return self.send("POST", *_of("RoleBinding", name, namespace, body), user=user)


def _of(kind: str, name: str, namespace: str, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Path and whole object of one of the RBAC kinds."""
    where = f"/namespaces/{namespace}/" if namespace else "/cluster"
    kind = kind if namespace else f"Cluster{kind}"
    plural = kind.lower().removeprefix("cluster") + "s"
    head = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}}
    return f"{RBAC_PATH}{where}{plural}", {**head, **body}


def finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns that waits for nothing. Raises what it raises."""
    results: list[Any] = []
    Deferred.fromCoroutine(coroutine).addBoth(results.append)
    (result,) = results
    if isinstance(result, Failure):
        result.raiseException()
    made: T = result
    return made


def person(name: str) -> dict[str, str]:
    """A subject."""
    return {"kind": "User", "apiGroup": GROUP, "name": name}


def rule(verbs: Sequence[str], groups: Sequence[str], resources: Sequence[str], names: Sequence[str] = ()) -> Any:
    """A rule on resources."""
    made = {"verbs": list(verbs), "apiGroups": list(groups), "resources": list(resources)}
    return {**made, "resourceNames": list(names)} if names else made


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """One that has nothing in it but the parts of access control."""
    clock = Clock()
    clock.advance(START)
    rbac = RBAC()
    authorizer = UnionAuthorizer([AlwaysAllowGroups(), rbac])
    tokens = Tokens(key_pem(), ISSUER, clock)
    api = Api(
        Group("", core.SECRET, core.service_account(TokenRequests(tokens, clock))),
        Group(GROUP, kinds.ROLE, kinds.CLUSTER_ROLE, kinds.ROLE_BINDING, kinds.CLUSTER_ROLE_BINDING),
        Group(
            "authorization.k8s.io",
            review(authorization.SubjectAccessReview, reviews.SubjectAccessReviews(authorizer)),
            review(
                authorization.LocalSubjectAccessReview, reviews.LocalSubjectAccessReviews(authorizer), scope=NAMESPACED
            ),
            review(authorization.SelfSubjectAccessReview, reviews.SelfSubjectAccessReviews(authorizer)),
            review(authorization.SelfSubjectRulesReview, reviews.SelfSubjectRulesReviews(rbac)),
        ),
        Group(
            "authentication.k8s.io",
            review(authentication.TokenReview, TokenReviews(tokens)),
            review(authentication.SelfSubjectReview, reviews.SelfSubjectReviews(clock)),
        ),
        admission=[Escalation(rbac)],
    )
    with serve(api, clock=clock, authorizer=authorizer) as server:
        server.run(tokens.start(server.server.context))
        yield Cluster(server, rbac, tokens, clock)
