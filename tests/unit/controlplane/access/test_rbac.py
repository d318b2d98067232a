"""RBAC as an authorizer: reasons as kube-apiserver 1.36.3 gave them to the same questions."""

from __future__ import annotations

from extapi import User
from extapi.authorization.authorizer import Attributes, Decision, Verdict
from extapi.controlplane.access.rbac import GROUP, RBAC, RoleKey
from extapi.controlplane.access.rules import AccessRule
from extapi.errors import aggregate
from tests.unit.controlplane.access.conftest import RBAC_PATH, Cluster, person, rule

NOTHING = Decision(Verdict.NO_OPINION)
ALICE = User("alice")


def pods(verb: str = "get", namespace: str = "") -> Attributes:
    return Attributes(verb, is_resource=True, resource="pods", namespace=namespace)


def asked(cluster: Cluster, user: User, attributes: Attributes) -> Decision:
    return cluster.server.run(cluster.rbac.authorize(user, attributes))


def test_without_bindings_there_is_no_opinion(cluster: Cluster) -> None:
    cluster.role("r", [rule(["get"], [""], ["pods"])])
    assert asked(cluster, ALICE, pods()) == NOTHING


def test_a_cluster_role_binding_allows_everywhere(cluster: Cluster) -> None:
    cluster.role("rbac-writer", [rule(["get"], [""], ["pods"]), {"verbs": ["get"], "nonResourceURLs": ["/x/*"]}])
    cluster.bind("alice", "rbac-writer", person("alice"))
    because = 'RBAC: allowed by ClusterRoleBinding "alice" of ClusterRole "rbac-writer" to User "alice"'
    assert asked(cluster, ALICE, pods()) == Decision(Verdict.ALLOW, because)
    assert asked(cluster, ALICE, pods(namespace="default")) == Decision(Verdict.ALLOW, because)
    assert asked(cluster, ALICE, Attributes("get", "/x/y")) == Decision(Verdict.ALLOW, because)
    assert asked(cluster, ALICE, pods("list")) == NOTHING
    assert asked(cluster, User("bob"), pods()) == NOTHING


def test_a_role_binding_allows_in_its_namespace(cluster: Cluster) -> None:
    cluster.role("r1", [rule(["get"], [""], ["pods"])], "default")
    subjects = [
        {"kind": "ServiceAccount", "name": "s", "namespace": "default"},
        {"kind": "Group", "name": "gg", "apiGroup": GROUP},
    ]
    cluster.bind("sab", "r1", *subjects, namespace="default")
    account = User("system:serviceaccount:default:s")
    because = 'RBAC: allowed by RoleBinding "sab/default" of Role "r1" to ServiceAccount "s/default"'
    assert asked(cluster, account, pods(namespace="default")) == Decision(Verdict.ALLOW, because)
    assert asked(cluster, account, pods(namespace="other")) == NOTHING
    assert asked(cluster, account, pods()) == NOTHING
    because = 'RBAC: allowed by RoleBinding "sab/default" of Role "r1" to Group "gg"'
    assert asked(cluster, User("x", groups=("a", "gg")), pods(namespace="default")) == Decision(Verdict.ALLOW, because)
    # A group is no user.
    assert asked(cluster, User("gg"), pods(namespace="default")) == NOTHING


def test_the_first_subject_that_fits_is_named(cluster: Cluster) -> None:
    cluster.role("r", [rule(["get"], [""], ["pods"])])
    cluster.bind("b", "r", {"kind": "Group", "name": "g", "apiGroup": GROUP}, person("alice"), person("alice"))
    because = 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to Group "g"'
    assert asked(cluster, User("alice", groups=("g",)), pods()) == Decision(Verdict.ALLOW, because)


def test_the_first_subject_may_be_the_user(cluster: Cluster) -> None:
    cluster.role("r", [rule(["get"], [""], ["pods"])])
    cluster.bind("b", "r", person("alice"), {"kind": "Group", "name": "g", "apiGroup": GROUP})
    because = 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to User "alice"'
    assert asked(cluster, User("alice", groups=("g",)), pods()) == Decision(Verdict.ALLOW, because)


def test_service_accounts_of_other_namespaces(cluster: Cluster) -> None:
    cluster.role("r", [rule(["get"], [""], ["pods"])], "default")
    cluster.bind("b", "r", {"kind": "ServiceAccount", "name": "s", "namespace": "other"}, namespace="default")
    because = 'RBAC: allowed by RoleBinding "b/default" of Role "r" to ServiceAccount "s/other"'
    in_default = pods(namespace="default")
    assert asked(cluster, User("system:serviceaccount:other:s"), in_default) == Decision(Verdict.ALLOW, because)
    assert asked(cluster, User("system:serviceaccount:default:s"), in_default) == NOTHING


def test_a_role_binding_to_a_cluster_role(cluster: Cluster) -> None:
    cluster.role("r", [rule(["get"], [""], ["pods"])])
    cluster.bind("b", "r", person("alice"), namespace="default", kind="ClusterRole")
    because = 'RBAC: allowed by RoleBinding "b/default" of ClusterRole "r" to User "alice"'
    assert asked(cluster, ALICE, pods(namespace="default")) == Decision(Verdict.ALLOW, because)
    assert asked(cluster, ALICE, pods(namespace="other")) == NOTHING


def test_roles_that_are_missing_are_the_reason(cluster: Cluster) -> None:
    cluster.bind("dangling", "nope", person("dan"))
    cluster.bind("dangling", "nope", person("dan"), namespace="default")
    dan = User("dan")
    assert asked(cluster, dan, pods()) == Decision(
        Verdict.NO_OPINION, 'RBAC: clusterrole.rbac.authorization.k8s.io "nope" not found'
    )
    assert asked(cluster, dan, pods(namespace="default")) == Decision(
        Verdict.NO_OPINION,
        'RBAC: [clusterrole.rbac.authorization.k8s.io "nope" not found, '
        'role.rbac.authorization.k8s.io "nope" not found]',
    )
    cluster.role("nope", [rule(["get"], [""], ["pods"])], "default")
    assert asked(cluster, dan, pods(namespace="default")).verdict is Verdict.ALLOW


def test_changes_of_roles_and_bindings_count_at_once(cluster: Cluster) -> None:
    cluster.role("r", [rule(["get"], [""], ["pods"])])
    cluster.bind("b", "r", person("alice"), {"kind": "Group", "name": "g", "apiGroup": GROUP})
    assert asked(cluster, ALICE, pods()).verdict is Verdict.ALLOW
    path = f"{RBAC_PATH}/clusterrolebindings/b"
    binding = cluster.send("GET", path).json()
    cluster.send("PUT", path, {**binding, "subjects": [person("bob")]})
    assert asked(cluster, ALICE, pods()) == NOTHING
    assert asked(cluster, User("x", groups=("g",)), pods()) == NOTHING
    assert asked(cluster, User("bob"), pods()).verdict is Verdict.ALLOW
    role = cluster.send("GET", f"{RBAC_PATH}/clusterroles/r").json()
    cluster.send("PUT", f"{RBAC_PATH}/clusterroles/r", {**role, "rules": []})
    assert asked(cluster, User("bob"), pods()) == NOTHING
    cluster.send("DELETE", f"{RBAC_PATH}/clusterroles/r")
    assert "not found" in asked(cluster, User("bob"), pods()).reason
    cluster.send("DELETE", path)
    assert asked(cluster, User("bob"), pods()) == NOTHING


def test_one_binding_of_several_goes(cluster: Cluster) -> None:
    cluster.role("r", [rule(["get"], [""], ["pods"])])
    cluster.bind("a", "r", person("alice"))
    cluster.bind("b", "r", person("alice"))
    assert '"a"' in asked(cluster, ALICE, pods()).reason
    cluster.send("DELETE", f"{RBAC_PATH}/clusterrolebindings/a")
    assert '"b"' in asked(cluster, ALICE, pods()).reason


def test_rules_for_somebody(cluster: Cluster) -> None:
    cluster.role("everywhere", [rule(["get"], [""], ["pods"])])
    cluster.role("here", [rule(["list"], [""], ["secrets"])], "default")
    cluster.bind("b", "everywhere", person("alice"))
    cluster.bind("c", "here", person("alice"), namespace="default")
    cluster.bind("d", "gone", person("alice"), namespace="default")
    everywhere, here = AccessRule(("get",), ("",), ("pods",)), AccessRule(("list",), ("",), ("secrets",))
    assert cluster.rbac.rules_for(ALICE, "") == ([everywhere], [])
    assert cluster.rbac.rules_for(ALICE, "default") == ([everywhere, here], [RoleKey("Role", "gone")])
    assert cluster.rbac.rules_for(User("bob"), "default") == ([], [])


def test_a_second_start_follows_nothing_more(cluster: Cluster) -> None:
    cluster.server.run(cluster.rbac.start(cluster.server.server.context))
    cluster.role("r", [rule(["get"], [""], ["pods"])])
    cluster.bind("b", "r", person("alice"))
    assert len(cluster.rbac.rules_for(ALICE, "")[0]) == 1


def test_who_is_nobody() -> None:
    """Subjects that validation would refuse, such as those of a store that was written before."""
    rbac = RBAC()
    changed = rbac._everywhere.changed
    subjects = [{"kind": "Robot", "name": "alice"}, {"kind": "ServiceAccount", "name": "alice"}]
    changed("ADDED", {"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "r"}, "subjects": subjects})
    assert rbac.rules_for(ALICE, "") == ([], [])
    assert rbac.rules_for(User("system:serviceaccount::alice"), "") == ([], [])


def test_a_service_account_without_a_namespace_is_of_the_binding_s() -> None:
    """As Kubernetes reads it, though its validation wants a namespace."""
    rbac = RBAC()
    binding = {
        "metadata": {"name": "b", "namespace": "default"},
        "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "s"}],
    }
    rbac._within.changed("ADDED", binding)
    account = User("system:serviceaccount:default:s")
    assert rbac.rules_for(account, "default") == ([], [RoleKey("Role", "r")])


def test_errors_in_one_text() -> None:
    assert aggregate(["a"]) == "a"
    assert aggregate(["a", "b", "a"]) == "[a, b]"
    assert RoleKey("Foo", "r").unresolved() == 'unsupported role reference kind: "Foo"'
    assert RoleKey("Role", "r").unresolved("roles") == 'roles.rbac.authorization.k8s.io "r" not found'
