"""Nobody grants what they do not have: answers as kube-apiserver 1.36.3 gave them to the same requests."""

from __future__ import annotations

from typing import Any

import pytest

from extapi import ApiError, Kind, NotFound, Operation, Review, User
from extapi.api.user import MASTERS
from extapi.controlplane.access.escalation import Escalation
from extapi.controlplane.access.rbac import GROUP
from extapi.controlplane.kinds import rbac as kinds
from extapi.errors import BadRequest, StorageError
from extapi.testing import ServerResponse
from tests.unit.controlplane.access.conftest import RBAC_PATH, Cluster, finished, person, rule

ALICE = User("alice", groups=('q"x', "system:authenticated"))
KINDS = ["roles", "clusterroles", "rolebindings", "clusterrolebindings"]
SELECTORS = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
ATTEMPT = 'user "alice" (groups=["q\\"x" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n'
NODES = '{APIGroups:[""], Resources:["nodes"], Verbs:["get"]}'


@pytest.fixture
def kube(cluster: Cluster) -> Cluster:
    """Alice may write all kinds of RBAC, and has some rights."""
    rules = [
        rule(["create", "update", "patch", "get"], [GROUP], KINDS),
        rule(["get", "list"], [""], ["pods", "*/log"]),
        {"verbs": ["get"], "nonResourceURLs": ["/x/*"]},
    ]
    cluster.role("rbac-writer", rules)
    cluster.bind("alice", "rbac-writer", person("alice"))
    return cluster


def refused(answer: ServerResponse, text: str, code: int = 403) -> None:
    assert (answer.status, answer.json()["message"]) == (code, text)


def put(cluster: Cluster, path: str, change: dict[str, Any], *, user: User = ALICE) -> ServerResponse:
    old = cluster.send("GET", f"{RBAC_PATH}/{path}").json()
    metadata = {**old["metadata"], **change.pop("metadata", {})}
    return cluster.send("PUT", f"{RBAC_PATH}/{path}", {**old, **change, "metadata": metadata}, user=user)


def test_own_rights_may_be_granted(kube: Cluster) -> None:
    assert kube.role("r1", [rule(["get"], [""], ["pods"])], "default", user=ALICE).status == 201
    assert kube.role("c", [{"verbs": ["get"], "nonResourceURLs": ["/x/y"]}], user=ALICE).status == 201
    assert kube.bind("b5", "r1", person("bob"), namespace="default", user=ALICE).status == 201


def test_other_rights_may_not(kube: Cluster) -> None:
    answer = kube.role("r3", [rule(["get", "watch"], [""], ["pods", "secrets"], ["a", "b"])], "default", user=ALICE)
    refused(
        answer,
        f'roles.rbac.authorization.k8s.io "r3" is forbidden: {ATTEMPT}'
        '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["watch"]}\n'
        '{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["watch"]}\n'
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get" "watch"]}\n'
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["get" "watch"]}',
    )
    assert answer.json()["details"] == {"name": "r3", "group": GROUP, "kind": "roles"}
    refused(
        kube.role("c", [rule(["get"], [""], ["nodes"])], user=ALICE),
        f'clusterroles.rbac.authorization.k8s.io "c" is forbidden: {ATTEMPT}{NODES}',
    )


def test_missing_roles_of_the_user_are_named_as_the_request_s_resource(kube: Cluster) -> None:
    kube.bind("dangling", "nope", person("alice"))
    answer = kube.role("c", [rule(["get"], [""], ["nodes"])], user=ALICE)
    what = "clusterroles.rbac.authorization.k8s.io"
    refused(
        answer,
        f'{what} "c" is forbidden: {ATTEMPT}{NODES}; resolution errors: [{what} "nope" not found]',
    )
    kube.bind("dangling", "nada", person("alice"), namespace="default")
    answer = kube.role("c", [rule(["get"], [""], ["nodes"])], "default", user=ALICE)
    what = "roles.rbac.authorization.k8s.io"
    assert answer.json()["message"].endswith(
        f'; resolution errors: [[{what} "nope" not found, {what} "nada" not found]]'
    )


def test_masters_may_do_anything(kube: Cluster) -> None:
    master = User("root", groups=(MASTERS,))
    assert kube.role("c", [rule(["*"], ["*"], ["*"])], user=master).status == 201
    assert kube.bind("b", "missing", person("bob"), user=master).status == 201


def test_escalate_on_the_role(kube: Cluster) -> None:
    kube.role("big", [])
    kube.role("escalate", [rule(["escalate"], [GROUP], ["clusterroles"], ["big"])])
    kube.bind("escalate", "escalate", person("alice"))
    assert put(kube, "clusterroles/big", {"rules": [rule(["*"], ["*"], ["*"])]}).status == 200
    # A role that is yet to be created has no name to be allowed.
    assert kube.role("big2", [rule(["*"], ["*"], ["*"])], user=ALICE).status == 403
    assert kube.role("big", [rule(["*"], ["*"], ["*"])], "default", user=ALICE).status == 403


def test_an_update_that_leaves_the_rest_as_it_is(kube: Cluster) -> None:
    kube.role("big", [rule(["*"], ["*"], ["*"])], "default")
    path = "namespaces/default/roles/big"
    assert put(kube, path, {"metadata": {"finalizers": ["a.b/c"]}}).status == 200
    refused(
        put(kube, path, {"metadata": {"labels": {"a": "c"}}}),
        f'roles.rbac.authorization.k8s.io "big" is forbidden: {ATTEMPT}'
        '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}',
    )
    more = [rule(["*"], ["*"], ["*"]), rule(["get"], ["*"], ["*"])]
    refused(
        put(kube, path, {"rules": more}),
        f'roles.rbac.authorization.k8s.io "big" is forbidden: {ATTEMPT}'
        '{APIGroups:["*"], Resources:["*"], Verbs:["*" "get"]}',
    )
    kube.bind("b", "big", person("bob"), namespace="default")
    assert put(kube, "namespaces/default/rolebindings/b", {"metadata": {"finalizers": ["a.b/c"]}}).status == 200
    assert put(kube, "namespaces/default/rolebindings/b", {"subjects": []}).status == 403


def test_aggregation_needs_all_rights(kube: Cluster) -> None:
    def create(name: str, rules: list[Any]) -> ServerResponse:
        body = {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}
        return kube.send("POST", f"{RBAC_PATH}/clusterroles", {**body, "aggregationRule": SELECTORS}, user=ALICE)

    text = "must have cluster-admin privileges to use the aggregationRule"
    refused(create("c2", []), f'clusterroles.rbac.authorization.k8s.io "c2" is forbidden: {text}')
    refused(
        create("c3", [rule(["get"], [""], ["nodes"])]),
        f'clusterroles.rbac.authorization.k8s.io "c3" is forbidden: {ATTEMPT}{NODES}',
    )
    kube.role("plain", [])
    assert (
        put(kube, "clusterroles/plain", {"aggregationRule": SELECTORS}, user=User("m", groups=(MASTERS,))).status == 200
    )
    # Taking it away is changing it.
    refused(
        put(kube, "clusterroles/plain", {"aggregationRule": None}),
        f'clusterroles.rbac.authorization.k8s.io "plain" is forbidden: {text}',
    )
    kube.role("all", [rule(["*"], ["*"], ["*"]), {"verbs": ["*"], "nonResourceURLs": ["*"]}])
    kube.bind("all", "all", person("alice"))
    assert create("c2", []).status == 201


def test_bindings_need_the_rights_of_the_role(kube: Cluster) -> None:
    kube.role("nodes", [rule(["get"], [""], ["nodes"])])
    refused(
        kube.bind("b1", "nodes", person("bob"), user=ALICE),
        f'clusterrolebindings.rbac.authorization.k8s.io "b1" is forbidden: {ATTEMPT}{NODES}',
    )
    refused(
        kube.bind("b1", "nodes", person("bob"), namespace="default", kind="ClusterRole", user=ALICE),
        f'rolebindings.rbac.authorization.k8s.io "b1" is forbidden: {ATTEMPT}{NODES}',
    )


def test_bindings_to_roles_that_are_not_there(kube: Cluster) -> None:
    answer = kube.bind("b2", "missing", person("bob"), user=ALICE)
    refused(answer, 'clusterrolebindings.rbac.authorization.k8s.io "missing" not found', 404)
    assert answer.json()["details"] == {"name": "missing", "group": GROUP, "kind": "clusterrolebindings"}
    for kind in ("Role", "ClusterRole"):
        answer = kube.bind("b3", "missing", person("bob"), namespace="default", kind=kind, user=ALICE)
        refused(answer, 'rolebindings.rbac.authorization.k8s.io "missing" not found', 404)


def test_bind_on_the_role(kube: Cluster) -> None:
    kube.role("nodes", [rule(["get"], [""], ["nodes"])])
    kube.role("nodes", [rule(["get"], [""], ["nodes"])], "default")
    kube.role("binder", [rule(["bind"], [GROUP], ["clusterroles"], ["nodes"])])
    kube.bind("binder", "binder", person("alice"), namespace="default", kind="ClusterRole")
    # Allowed in that namespace only, and for that kind of role.
    assert kube.bind("b", "nodes", person("bob"), namespace="default", kind="ClusterRole", user=ALICE).status == 201
    assert kube.bind("b", "nodes", person("bob"), user=ALICE).status == 403
    assert kube.bind("c", "nodes", person("bob"), namespace="default", user=ALICE).status == 403
    kube.bind("everywhere", "binder", person("alice"))
    assert kube.bind("b", "nodes", person("bob"), user=ALICE).status == 201


def test_a_role_too_large_to_compare_is_refused(kube: Cluster) -> None:
    """Its parts would be the product of its lists: a small body could keep the server busy for hours."""
    names = [f"n{number}" for number in range(101)]
    refused(
        kube.role("huge", [rule(names, [""], names)], user=ALICE),
        'clusterroles.rbac.authorization.k8s.io "huge" is forbidden: '
        "the rules allow more than can be compared with what the user may do",
    )
    # Unless one rule covers it as a whole.
    kube.role("all", [rule(["*"], ["*"], ["*"])])
    kube.bind("all", "all", person("alice"))
    assert kube.role("huge", [rule(names, [""], names)], user=ALICE).status == 201


def test_other_kinds_and_deletions_are_not_looked_at(kube: Cluster) -> None:
    kube.role("writer", [rule(["*"], [""], ["secrets"]), rule(["delete"], [GROUP], ["clusterroles"])])
    kube.bind("writer", "writer", person("alice"))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    assert kube.send("POST", "/api/v1/namespaces/default/secrets", secret, user=ALICE).status == 201
    kube.role("big", [rule(["*"], ["*"], ["*"])])
    assert kube.send("DELETE", f"{RBAC_PATH}/clusterroles/big", user=ALICE).status == 200


@pytest.mark.parametrize(
    ("kind", "ref", "error"),
    [
        (kinds.ROLE_BINDING, {"kind": "Foo", "name": "r"}, StorageError('unsupported role reference kind: "Foo"')),
        (kinds.CLUSTER_ROLE_BINDING, {"kind": "Role", "name": "r"}, BadRequest("Namespace parameter required.")),
        (kinds.ROLE_BINDING, {"kind": "Role"}, NotFound('rolebindings.rbac.authorization.k8s.io "" not found')),
        (kinds.ROLE_BINDING, None, StorageError('unsupported role reference kind: ""')),
    ],
)
def test_references_that_validation_would_refuse(cluster: Cluster, kind: Kind, ref: Any, error: ApiError) -> None:
    """Kubernetes looks for the role first; here this is asked last."""
    review = Review(
        operation=Operation.CREATE,
        kind=kind,
        group=GROUP,
        version="v1",
        user=ALICE,
        namespace="default" if kind is kinds.ROLE_BINDING else "",
        obj={"apiVersion": f"{GROUP}/v1", "kind": kind.name, "metadata": {"name": "b"}, "roleRef": ref},
    )
    with pytest.raises(type(error)) as refused:
        finished(Escalation(cluster.rbac).validate(review))
    assert refused.value.message == error.message


def test_leave_to_escalate_certain_roles_makes_no_new_ones(kube: Cluster) -> None:
    """The request of a create has no name, so that kube-apiserver asks about none; here as in its RequestInfo."""
    kube.role("escalator", [rule(["escalate"], [GROUP], ["clusterroles"], ["mine"])])
    kube.bind("escalator", "escalator", person("alice"))
    assert kube.role("mine", [rule(["get"], [""], ["nodes"])], user=ALICE).status == 403
    kube.role("mine", [])
    assert put(kube, "clusterroles/mine", {"rules": [rule(["get"], [""], ["nodes"])]}).status == 200
