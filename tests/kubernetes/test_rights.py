"""Who may do what at the control plane, asked and changed with kubectl: reviews, roles, tokens, impersonation."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.kubernetes.calling import Caller
from tests.kubernetes.control_plane import Kubectl
from tests.kubernetes.core_objects import RBAC
from tests.kubernetes.pizzas import GROUP, pizza, pizzas_path
from tests.kubernetes.shop import Shop
from tests.waiting import until

AUDIENCE = "https://kubernetes.default.svc.cluster.local"


def rules(text: str) -> set[tuple[str, ...]]:
    """The rows of ``auth can-i --list``, which come in any order."""
    return {tuple(line.split()) for line in text.splitlines()[1:]}


EVERYBODY = {
    ("selfsubjectreviews.authentication.k8s.io", "[]", "[]", "[create]"),
    ("selfsubjectaccessreviews.authorization.k8s.io", "[]", "[]", "[create]"),
    ("selfsubjectrulesreviews.authorization.k8s.io", "[]", "[]", "[create]"),
}
DISCOVERY = {
    ("[/api/*]", "[]", "[get]"), ("[/api]", "[]", "[get]"), ("[/apis/*]", "[]", "[get]"), ("[/apis]", "[]", "[get]"),
    ("[/healthz]", "[]", "[get]"), ("[/livez]", "[]", "[get]"), ("[/openapi/*]", "[]", "[get]"),
    ("[/openapi]", "[]", "[get]"), ("[/readyz]", "[]", "[get]"), ("[/version/]", "[]", "[get]"),
    ("[/version]", "[]", "[get]"),
}  # fmt: skip


def test_whoami(kubectl: Kubectl, user_kubectl: Callable[..., Kubectl]) -> None:
    me = json.loads(kubectl("auth", "whoami", "-o", "json"))
    assert me["kind"] == "SelfSubjectReview"
    assert "system:masters" in me["status"]["userInfo"]["groups"]
    assert "system:authenticated" in me["status"]["userInfo"]["groups"]
    jane = json.loads(user_kubectl("jane", "cooks")("auth", "whoami", "-o", "json"))["status"]["userInfo"]
    assert (jane["username"], jane["groups"]) == ("jane", ["cooks", "system:authenticated"])
    other = ("--as=bob", "--as-group=waiters", "--as-uid=7", "--as-user-extra=shift=late")
    bob = json.loads(kubectl("auth", "whoami", "-o", "json", *other))["status"]["userInfo"]
    assert bob == {
        "username": "bob",
        "uid": "7",
        "groups": ["waiters", "system:authenticated"],
        "extra": {"shift": ["late"]},
    }
    assert "Username bob" in [" ".join(line.split()) for line in kubectl("auth", "whoami", *other).splitlines()]


def test_what_somebody_may_is_listed(shop: Shop, extension_server: object) -> None:
    assert rules(shop("auth", "can-i", "--list", "--as=jane")) == EVERYBODY | DISCOVERY
    shop("create", "role", "cook", "--verb=get,list", "--resource=pizzas,pizzas/status")
    shop("create", "role", "owner", "--verb=*", "--resource=configmaps", "--resource-name=menu")
    shop("create", "rolebinding", "cooks", "--role=cook", "--user=jane")
    shop("create", "rolebinding", "owners", "--role=owner", "--group=owners")
    cook = {(what, "[]", "[]", "[get", "list]") for what in (f"pizzas.{GROUP}", f"pizzas.{GROUP}/status")}
    until(lambda: rules(shop("auth", "can-i", "--list", "--as=jane")) == EVERYBODY | DISCOVERY | cook)
    assert rules(shop("auth", "can-i", "--list", "--as=jane", "--as-group=owners")) == (
        EVERYBODY | DISCOVERY | cook | {("configmaps", "[]", "[menu]", "[*]")}
    )
    assert rules(shop.kubectl("-n", "default", "auth", "can-i", "--list", "--as=jane")) == EVERYBODY | DISCOVERY
    everything = rules(shop("auth", "can-i", "--list"))
    assert {("*.*", "[]", "[]", "[*]"), ("[*]", "[]", "[*]")} <= everything


ANSWERS = [
    ("get pizzas", True),
    ("get pizzas/margherita", True),
    ("get pizzas --subresource=status", False),
    ("delete pizzas", False),
    ("get pizzas -A", False),
    ("patch configmap/menu", True),
    ("patch configmap/other", False),
    ("patch configmaps", False),
    ("get /healthz", True),
    ("get /logs", False),
    ("create selfsubjectaccessreviews.authorization.k8s.io", True),
    ("* *", False),
]


def test_can_i(shop: Shop, extension_server: object) -> None:
    shop("create", "role", "cook", "--verb=get", "--resource=pizzas")
    shop("create", "role", "owner", "--verb=patch", "--resource=configmaps", "--resource-name=menu")
    shop("create", "rolebinding", "cooks", "--role=cook", "--user=jane")
    shop("create", "rolebinding", "owners", "--role=owner", "--user=jane")
    ask = ("-n", shop.namespace, "auth", "can-i", "--as=jane")
    until(lambda: shop.kubectl.run(*ask, "patch", "configmap/menu").returncode == 0)
    until(lambda: shop.kubectl.run(*ask, "get", "pizzas").returncode == 0)
    for question, allowed in ANSWERS:
        said = shop.kubectl.run(*ask, *question.split())
        assert (said.stdout, said.returncode) == (("yes\n", 0) if allowed else ("no\n", 1)), question
    assert shop("auth", "can-i", "*", "*") == "yes\n"


def test_the_reasons_are_those_of_the_real_one(admin: Caller, shop: Shop, call_as: Callable[..., Caller]) -> None:
    shop("create", "role", "cook", "--verb=get", "--resource=configmaps")
    shop("create", "rolebinding", "cooks", "--role=cook", "--user=jane")
    group = "/apis/authorization.k8s.io/v1"

    def asked(user: str, verb: str, path: str = f"{group}/subjectaccessreviews", **more: Any) -> dict[str, Any]:
        attributes = {"namespace": shop.namespace, "verb": verb, "resource": "configmaps"}
        answer = admin("POST", path, {"spec": {"user": user, "resourceAttributes": attributes, **more}})
        assert answer.status == 201, answer.body
        status: dict[str, Any] = answer.json["status"]
        return status

    reason = f'RBAC: allowed by RoleBinding "cooks/{shop.namespace}" of Role "cook" to User "jane"'
    until(lambda: asked("jane", "get") == {"allowed": True, "reason": reason})
    assert asked("jane", "list") == {"allowed": False}
    assert asked("bob", "list", groups=["system:masters"])["allowed"] is True
    local = f"{group}/namespaces/{shop.namespace}/localsubjectaccessreviews"
    assert asked("jane", "get", local) == {"allowed": True, "reason": reason}
    elsewhere = {"spec": {"user": "jane", "resourceAttributes": {"namespace": "default", "verb": "get"}}}
    refused = admin("POST", local, elsewhere)
    assert refused.status == 422
    assert (
        'spec.resourceAttributes.namespace: Invalid value: "default": must match metadata.namespace' in refused.message
    )
    wrongs: list[dict[str, Any]] = [{"spec": {}}, {"spec": {"user": "jane"}}]
    for wrong in wrongs:
        assert admin("POST", f"{group}/subjectaccessreviews", wrong).status == 422
    # Who may ask about others is a right of its own; about oneself everybody may.
    anybody = call_as("jane")
    refused = anybody("POST", f"{group}/subjectaccessreviews", elsewhere)
    assert 'User "jane" cannot create resource "subjectaccessreviews"' in refused.message
    own = anybody(
        "POST", f"{group}/selfsubjectaccessreviews", {"spec": {"nonResourceAttributes": {"path": "/x", "verb": "get"}}}
    )
    assert (own.status, own.json["status"]) == (201, {"allowed": False})


def test_impersonation_is_a_right(kubectl: Kubectl, call_as: Callable[..., Caller], namespace: str) -> None:
    path = "/api/v1/namespaces"
    jane = call_as("jane")
    alice = jane.with_headers(Impersonate_User="alice")
    refused = alice("GET", path)
    assert refused.status == 403
    assert 'User "jane" cannot impersonate' in refused.message
    name = f"actor-{namespace}"
    kubectl("create", "clusterrole", name, "--verb=impersonate", "--resource=users", "--resource-name=alice")
    kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}", "--user=jane")
    kubectl("create", "clusterrole", f"{name}-reader", "--verb=list", "--resource=namespaces")
    kubectl("create", "clusterrolebinding", f"{name}-reader", f"--clusterrole={name}-reader", "--user=alice")
    until(lambda: alice("GET", path).status == 200)
    assert 'User "jane" cannot list resource "namespaces"' in jane("GET", path).message
    assert 'User "jane" cannot impersonate' in jane.with_headers(Impersonate_User="bob")("GET", path).message
    masters = alice.with_headers(Impersonate_Group="system:masters")("GET", path)
    assert masters.status == 403
    assert 'User "jane" cannot impersonate' in masters.message
    assert 'User "alice" cannot list resource "secrets"' in alice("GET", "/api/v1/secrets").message
    assert jane.with_headers(Impersonate_Group="system:masters")("GET", path).status == 400
    kubectl("delete", "clusterrole,clusterrolebinding", name, f"{name}-reader")
    until(lambda: alice("GET", path).status == 403)


def claims(token: str) -> dict[str, Any]:
    payload = token.split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return found


def test_a_token_of_a_service_account(shop: Shop, call_as: Callable[..., Caller], extension_server: object) -> None:
    shop("create", "serviceaccount", "robot")
    token = shop("create", "token", "robot", "--duration=15m").strip()
    found = claims(token)
    uid = shop.path("robot", ".metadata.uid", "serviceaccount")
    assert found["sub"] == f"system:serviceaccount:{shop.namespace}:robot"
    assert (found["iss"], found["aud"]) == (AUDIENCE, [AUDIENCE])
    assert found["exp"] - found["iat"] == 900
    assert found["kubernetes.io"] == {
        "namespace": shop.namespace,
        "serviceaccount": {"name": "robot", "uid": uid},
    }
    robot = call_as().with_token(token)
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    me = robot("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review).json["status"]["userInfo"]
    assert (me["username"], me["uid"]) == (found["sub"], uid)
    assert me["groups"] == [
        "system:serviceaccounts", f"system:serviceaccounts:{shop.namespace}", "system:authenticated",
    ]  # fmt: skip
    maps = f"/api/v1/namespaces/{shop.namespace}/configmaps"
    assert f'User "{found["sub"]}" cannot list resource "configmaps"' in robot("GET", maps).message
    shop("create", "rolebinding", "robots", "--clusterrole=edit", f"--serviceaccount={shop.namespace}:robot")
    until(lambda: robot("GET", maps).status == 200)
    assert robot("GET", "/api/v1/namespaces/default/configmaps").status == 403
    # kubectl with the token instead of a certificate.
    said = shop.kubectl.run(
        "-n", shop.namespace, "--kubeconfig=/dev/null", f"--server={server(shop)}", f"--token={token}",
        "--insecure-skip-tls-verify", "get", "cm", "-o", "name",
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    assert robot.with_token(token[:-6] + "AAAAAA")("GET", maps).status == 401
    # The account is gone, and its tokens with it.
    shop("delete", "serviceaccount", "robot")
    until(lambda: robot("GET", maps).status == 401, 30)


def server(shop: Shop) -> str:
    return shop.kubectl("config", "view", "-o", "jsonpath={.clusters[0].cluster.server}")


def test_what_a_token_request_refuses(shop: Shop) -> None:
    shop("create", "serviceaccount", "robot")
    assert 'serviceaccounts "nobody" not found' in shop.refused("create", "token", "nobody")
    assert "may not specify a duration less than 10 minutes" in shop.refused(
        "create", "token", "robot", "--duration=5m"
    )
    with_audience = claims(shop("create", "token", "robot", "--audience=oven").strip())
    assert with_audience["aud"] == ["oven"]
    shop("create", "secret", "generic", "recipe")
    bound = claims(shop("create", "token", "robot", "--bound-object-kind=Secret", "--bound-object-name=recipe").strip())
    assert bound["kubernetes.io"]["secret"]["name"] == "recipe"
    missing = shop.refused("create", "token", "robot", "--bound-object-kind=Secret", "--bound-object-name=none")
    assert 'secrets "none" not found' in missing


def test_a_token_review_says_whose_a_token_is(shop: Shop, admin: Caller) -> None:
    shop("create", "serviceaccount", "robot")
    path = "/apis/authentication.k8s.io/v1/tokenreviews"

    def review(token: str, *audiences: str) -> dict[str, Any]:
        spec = {"token": token} | ({"audiences": list(audiences)} if audiences else {})
        answer = admin("POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec})
        assert answer.status == 201
        status: dict[str, Any] = answer.json["status"]
        return status

    good = review(shop("create", "token", "robot").strip())
    assert good["authenticated"] is True
    assert good["user"]["username"] == f"system:serviceaccount:{shop.namespace}:robot"
    assert good["audiences"] == [AUDIENCE]
    oven = shop("create", "token", "robot", "--audience=oven").strip()
    assert review(oven, "oven", "sink")["audiences"] == ["oven"]
    assert review(oven).get("authenticated", False) is False
    forged = review("a.b.c")
    assert forged.get("authenticated", False) is False
    assert "error" in forged


def may_write_roles(shop: Shop, *extra: str) -> Callable[..., Any]:
    """Jane, who may write roles and bindings in the namespace, and read ConfigMaps."""
    role = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": "chief"},
        "rules": [
            {"apiGroups": [RBAC], "resources": ["roles", "rolebindings"], "verbs": ["create", "update", "get", *extra]},
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},
        ],
    }
    shop.make(role)
    shop("create", "rolebinding", "chiefs", "--role=chief", "--user=jane")
    ask = ("-n", shop.namespace, "auth", "can-i", "create", f"roles.{RBAC}", "--as=jane")
    until(lambda: shop.kubectl.run(*ask).returncode == 0)
    return lambda *arguments: shop.kubectl.run("-n", shop.namespace, "create", *arguments, "--as=jane")


def test_nobody_gives_rights_that_they_lack(shop: Shop) -> None:
    create = may_write_roles(shop)
    refused = create("role", "thief", "--verb=get,list", "--resource=secrets").stderr
    assert (
        f'roles.{RBAC} "thief" is forbidden: user "jane" (groups=["system:authenticated"]) is attempting to grant '
        in (refused)
    )
    assert (
        'RBAC permissions not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}' in refused
    )
    assert create("role", "reader", "--verb=get", "--resource=configmaps").returncode == 0
    assert create("role", "lister", "--verb=list", "--resource=configmaps").returncode != 0
    refused = create("rolebinding", "thieves", "--clusterrole=admin", "--user=jane").stderr
    assert f'rolebindings.{RBAC} "thieves" is forbidden: user "jane"' in refused
    assert "is attempting to grant RBAC permissions not currently held" in refused
    assert create("rolebinding", "readers", "--role=reader", "--user=bob").returncode == 0
    assert create("rolebinding", "nothing", "--role=missing", "--user=bob").returncode != 0
    # A change of a role is judged like a new one.
    wider = json.dumps({"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": "reader"},
                        "rules": [{"apiGroups": [""], "resources": ["*"], "verbs": ["get"]}]})  # fmt: skip
    replaced = shop.kubectl.run("-n", shop.namespace, "replace", "-f", "-", "--as=jane", stdin=wider)
    assert "is attempting to grant RBAC permissions not currently held" in replaced.stderr


@pytest.mark.parametrize("verb", ["escalate", "bind"])
def test_who_may_escalate_or_bind_gives_what_they_like(shop: Shop, verb: str) -> None:
    create = may_write_roles(shop, verb)
    role = create("role", "any", "--verb=get", "--resource=secrets")
    assert (role.returncode == 0) is (verb == "escalate"), role.stderr
    shop("create", "role", "there", "--verb=get", "--resource=secrets")
    binding = create("rolebinding", "any", "--role=there", "--user=bob")
    assert (binding.returncode == 0) is (verb == "bind"), binding.stderr


def test_a_role_is_added_to_view_by_its_label(shop: Shop, admin: Caller, call_as: Callable[..., Caller]) -> None:
    name = f"pizza-viewer-{shop.namespace}"
    shop("create", "rolebinding", "guests", "--clusterrole=view", "--user=guest")
    shop("create", "rolebinding", "bosses", "--clusterrole=admin", "--user=boss")
    guest, boss = call_as("guest"), call_as("boss")
    until(lambda: guest("GET", f"/api/v1/namespaces/{shop.namespace}/configmaps").status == 200)
    assert guest("GET", f"/api/v1/namespaces/{shop.namespace}/secrets").status == 403
    # Of a group that nobody serves, so that the servers' memory of refusals is not what is tested.
    path = f"/apis/calzones.example.com/v1/namespaces/{shop.namespace}/calzones"
    assert (guest("GET", path).status, boss("GET", path).status) == (403, 403)
    shop("create", "clusterrole", name, "--verb=list", "--resource=configmaps")
    rule = [{"apiGroups": ["calzones.example.com"], "resources": ["calzones"], "verbs": ["list"]}]
    shop("patch", "clusterrole", name, "--type=merge", "-p", json.dumps({"rules": rule}))
    shop("label", "clusterrole", name, "rbac.authorization.k8s.io/aggregate-to-view=true")
    until(lambda: guest("GET", path).status == 404)
    # What is in view is in edit and admin, too.
    until(lambda: boss("GET", path).status == 404)
    assert rule[0] in json.loads(shop("get", "clusterrole", "view", "-o", "json"))["rules"]
    shop("delete", "clusterrole", name)
    until(lambda: guest("GET", path).status == 403)
    assert rule[0] not in json.loads(shop("get", "clusterrole", "view", "-o", "json"))["rules"]


@pytest.mark.usefixtures("menu")
def test_users_of_view_read_pizzas_once_their_role_is_added(shop: Shop, call_as: Callable[..., Caller]) -> None:
    name = f"pizza-reader-{shop.namespace}"
    shop("create", "rolebinding", "readers", "--clusterrole=view", "--user=reader")
    shop.make(pizza("mine", tomato=1))
    shop("create", "clusterrole", name, "--verb=get,list,watch", "--resource=pizzas")
    shop("label", "clusterrole", name, "rbac.authorization.k8s.io/aggregate-to-view=true")
    reader = call_as("reader")
    until(lambda: reader("GET", pizzas_path(shop.namespace) + "/mine").status == 200, 20)
    assert reader("DELETE", pizzas_path(shop.namespace) + "/mine").status == 403
    shop("delete", "clusterrole", name)


BOOTSTRAP = [
    "admin", "cluster-admin", "edit", "view", "system:auth-delegator", "system:basic-user", "system:discovery",
    "system:public-info-viewer", "system:aggregate-to-admin", "system:aggregate-to-edit", "system:aggregate-to-view",
]  # fmt: skip


@pytest.mark.parametrize("name", BOOTSTRAP)
def test_the_first_roles_are_there(kubectl: Kubectl, name: str) -> None:
    role = json.loads(kubectl("get", "clusterrole", name, "-o", "json"))
    assert role["metadata"]["labels"]["kubernetes.io/bootstrapping"] == "rbac-defaults"
    assert role["metadata"]["annotations"] == {"rbac.authorization.kubernetes.io/autoupdate": "true"}
    assert role["rules"]


def test_who_has_the_first_roles(kubectl: Kubectl, call_as: Callable[..., Caller]) -> None:
    bindings = json.loads(kubectl("get", "clusterrolebindings", "-o", "json"))["items"]
    found = {item["metadata"]["name"]: {each["name"] for each in item.get("subjects", ())} for item in bindings}
    assert found["cluster-admin"] == {"system:masters"}
    assert found["system:discovery"] == found["system:basic-user"] == {"system:authenticated"}
    assert found["system:public-info-viewer"] == {"system:authenticated", "system:unauthenticated"}
    nobody, somebody = call_as(), call_as("somebody")
    for path in ("/healthz", "/livez", "/readyz", "/version"):
        assert (nobody("GET", path).status, somebody("GET", path).status) == (200, 200), path
    for path in ("/api", "/apis", "/openapi/v2", "/openapi/v3"):
        assert (nobody("GET", path).status, somebody("GET", path).status) == (403, 200), path
    assert nobody.with_token("wrong")("GET", "/version").status == 401
