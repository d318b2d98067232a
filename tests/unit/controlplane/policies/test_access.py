"""Who may write a policy or binding about parameters; texts as in authz.go of each kind, compared with kube-apiserver elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from extapi import Api, User
from extapi.authorization.authorizer import Attributes, Decision, Verdict
from extapi.controlplane.policies.access import ParamAccess, shown
from extapi.testing import InMemoryServer, serve
from tests.unit.controlplane.kinds.served import stored_kinds

BASE = "/apis/admissionregistration.k8s.io/v1"
RULE = {"operations": ["CREATE"], "apiGroups": ["none.test"], "apiVersions": ["v1"], "resources": ["nothings"]}
JANE = User("jane", groups=("bakers", "system:authenticated"), extra={"b": ("1", "2"), "a": ("3",)})
SEEN = "&{jane  [bakers system:authenticated] map[a:[3] b:[1 2]]}"
KIND = {"apiVersion": "v1", "kind": "ConfigMap"}
REFERENCE = {"name": "a", "namespace": "b", "parameterNotFoundAction": "Deny"}


class Allowing:
    """Allows what is in a list, and keeps what it was asked."""

    def __init__(self, *allowed: tuple[str, ...]) -> None:
        self.allowed = allowed
        self.asked: list[tuple[str, ...]] = []

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        """See :class:`extapi.authorization.authorizer.Authorizer`."""
        del user
        question = (attributes.verb, attributes.group, attributes.version, attributes.resource)
        self.asked.append((*question, attributes.namespace, attributes.name))
        return Decision(Verdict.ALLOW if self.asked[-1] in self.allowed else Verdict.NO_OPINION)


def _serving(authorizer: Allowing) -> Any:
    return serve(Api(*stored_kinds().groups, admission=[ParamAccess(authorizer)]), lifecycle=False)


def _policy(**spec: Any) -> dict[str, Any]:
    whole = {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "true"}], **spec}
    return {"metadata": {"name": "p"}, "spec": whole}


def _told(server: InMemoryServer, kind: str, obj: dict[str, Any], user: User = JANE) -> tuple[int, str]:
    answer = server.request("POST", f"{BASE}/{kind}", query={"dryRun": "All"}, body=obj, user=user)
    return answer.status, answer.json().get("message", "").partition("Forbidden: ")[2]


@pytest.mark.parametrize(("kind", "resource"), [("ConfigMap", "configmaps"), ("Nothing", "*")])
def test_a_policy_needs_all_objects_of_the_kind(kind: str, resource: str) -> None:
    authorizer = Allowing()
    of = {"apiVersion": "v1", "kind": kind}
    with _serving(authorizer) as server:
        status, why = _told(server, "validatingadmissionpolicies", _policy(paramKind=of))
        assert status == 422
        needed = f'must have "get" permission on all objects of the referenced paramKind (kind={kind}, apiVersion=v1)'
        assert why == f"user {SEEN} {needed}"
        assert authorizer.asked == [("get", "", "v1", resource, "*", "*")]
        authorizer.allowed = (("get", "", "v1", resource, "*", "*"),)
        assert _told(server, "validatingadmissionpolicies", _policy(paramKind=of))[0] == 201
        assert _told(server, "validatingadmissionpolicies", _policy())[0] == 201


def test_who_may_do_everything_is_not_asked() -> None:
    authorizer = Allowing()
    with _serving(authorizer) as server:
        admin = User("root", groups=("system:masters",))
        assert _told(server, "validatingadmissionpolicies", _policy(paramKind=KIND), admin)[0] == 201
    assert authorizer.asked == []


def test_the_same_params_need_nothing_again() -> None:
    authorizer = Allowing()
    with _serving(authorizer) as server:
        path = f"{BASE}/validatingadmissionpolicies"
        assert server.request("POST", path, body=_policy(paramKind=KIND)).status == 201
        merge = {"Content-Type": "application/merge-patch+json"}
        changed: dict[str, Any] = {"spec": {"failurePolicy": "Ignore"}}
        assert server.request("PATCH", f"{path}/p", headers=merge, body=changed, user=JANE).status == 200
        assert authorizer.asked == []
        changed = {"spec": {"paramKind": {"apiVersion": "v1", "kind": "Secret"}}}
        assert server.request("PATCH", f"{path}/p", headers=merge, body=changed, user=JANE).status == 422


@pytest.mark.parametrize(
    ("reference", "question", "verb"),
    [
        (REFERENCE, ("get", "", "v1", "configmaps", "b", "a"), "get"),
        ({"selector": {}, "parameterNotFoundAction": "Deny"}, ("list", "", "v1", "configmaps", "", ""), "list"),
    ],
)
def test_a_binding_needs_the_object_or_a_list(reference: Any, question: tuple[str, ...], verb: str) -> None:
    authorizer = Allowing()
    binding = {
        "metadata": {"name": "b"},
        "spec": {"policyName": "p", "paramRef": reference, "validationActions": ["Deny"]},
    }
    with _serving(authorizer) as server:
        server.request("POST", f"{BASE}/validatingadmissionpolicies", body=_policy(paramKind=KIND))
        status, why = _told(server, "validatingadmissionpolicybindings", binding)
        assert (status, authorizer.asked) == (422, [question])
        assert why == f'user {SEEN} does not have "{verb}" permission on the object referenced by paramRef'
        mutating = {"metadata": {"name": "b"}, "spec": {"policyName": "p", "paramRef": reference}}
        assert _told(server, "mutatingadmissionpolicybindings", mutating)[1] == (
            f'unable to get policy p to determine minimum required permissions and user {SEEN} does not have "{verb}" '
            "permission for all groups, versions and resources"
        )
        authorizer.allowed = (question,)
        assert _told(server, "validatingadmissionpolicybindings", binding)[0] == 201


def test_a_user_is_shown_as_go_shows_it() -> None:
    assert shown(JANE) == SEEN
    assert shown(User("a", uid="u")) == "&{a u [] map[]}"
