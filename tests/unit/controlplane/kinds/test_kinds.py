"""How the kinds are named and found, and the lives they lead. Expected values are kube-apiserver 1.36.3's."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from extapi import NAMESPACED, Kind
from extapi.controlplane.kinds import authentication, authorization
from extapi.controlplane.kinds.parts import review
from extapi.testing import serve
from extapi.testing.memory import InMemoryServer, ServerResponse
from tests.unit.controlplane.kinds.served import stored_kinds

NAMESPACES = "/api/v1/namespaces"
DEFAULT = f"{NAMESPACES}/default"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
APIS = "/apis/apiregistration.k8s.io/v1/apiservices"
FEW = ["create", "delete", "get", "list", "patch", "update", "watch"]
ALL = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
PART = ["get", "patch", "update"]


@pytest.fixture
def server() -> Iterator[InMemoryServer]:
    with serve(stored_kinds(), lifecycle=False) as server:
        yield server


def made(server: InMemoryServer, path: str, **obj: Any) -> dict[str, Any]:
    answer = server.request("POST", path, body={"metadata": {"name": "c"}, **obj})
    assert answer.status == 201, answer.body
    found: dict[str, Any] = json.loads(answer.body)
    return found


def message(answer: ServerResponse) -> str:
    return str(json.loads(answer.body)["message"])


def test_discovery_is_that_of_kube_apiserver(server: InMemoryServer) -> None:
    found = {}
    for path in ("/api/v1", "/apis/coordination.k8s.io/v1", RBAC, APIS.rpartition("/")[0]):
        for each in json.loads(server.request("GET", path).body)["resources"]:
            names = (each["kind"], each.get("shortNames", []), each.get("categories", []))
            found[each["name"]] = (*names, each["namespaced"], each["verbs"])
    account, binding = "ServiceAccount", "RoleBinding"
    assert found.pop("serviceaccounts/token") == ("TokenRequest", [], [], True, ["create"])
    assert found.pop("namespaces/finalize") == ("Namespace", [], [], False, ["update"])
    assert found == {
        "namespaces": ("Namespace", ["ns"], [], False, FEW),
        "namespaces/status": ("Namespace", [], [], False, PART),
        "configmaps": ("ConfigMap", ["cm"], [], True, ALL),
        "secrets": ("Secret", [], [], True, ALL),
        "serviceaccounts": (account, ["sa"], [], True, ALL),
        "services": ("Service", ["svc"], ["all"], True, ALL),
        "services/status": ("Service", [], [], True, PART),
        "events": ("Event", ["ev"], [], True, ALL),
        "leases": ("Lease", [], [], True, ALL),
        "roles": ("Role", [], [], True, ALL),
        "clusterroles": ("ClusterRole", [], [], False, ALL),
        "rolebindings": (binding, [], [], True, ALL),
        "clusterrolebindings": (f"Cluster{binding}", [], [], False, ALL),
        "apiservices": ("APIService", [], ["api-extensions"], False, ALL),
        "apiservices/status": ("APIService", [], [], False, PART),
    }


class Answers:
    async def create(self, asked: object, obj: object) -> object:
        return obj


def test_reviews_are_only_created_and_only_one_of_them_in_a_namespace() -> None:
    answers = Answers()
    kinds: list[Kind] = [
        review(authentication.TokenReview, answers),
        review(authentication.SelfSubjectReview, answers),
        review(authorization.SubjectAccessReview, answers),
        review(authorization.LocalSubjectAccessReview, answers, scope=NAMESPACED),
        review(authorization.SelfSubjectAccessReview, answers),
        review(authorization.SelfSubjectRulesReview, answers),
    ]
    assert {kind.plural: kind.scope.value for kind in kinds} == {
        "tokenreviews": "Cluster",
        "selfsubjectreviews": "Cluster",
        "subjectaccessreviews": "Cluster",
        "localsubjectaccessreviews": "Namespaced",
        "selfsubjectaccessreviews": "Cluster",
        "selfsubjectrulesreviews": "Cluster",
    }
    assert all(kind.rest is answers and not kind.status for kind in kinds)


def test_a_namespace_stays_until_it_is_finalized(server: InMemoryServer) -> None:
    made(server, NAMESPACES)
    deleted = server.request("DELETE", f"{NAMESPACES}/c")
    assert deleted.status == 200
    found = json.loads(server.request("GET", f"{NAMESPACES}/c").body)
    assert (found["spec"], found["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Terminating"})
    assert found["metadata"]["deletionTimestamp"]
    active = server.request("PUT", f"{NAMESPACES}/c/status", body={**found, "status": {"phase": "Active"}})
    why = "status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty"
    assert message(active) == f'Namespace "c" is invalid: {why}'
    done = server.request("PUT", f"{NAMESPACES}/c/finalize", body={**found, "spec": {"finalizers": []}})
    assert done.status == 200, done.body
    assert server.request("GET", f"{NAMESPACES}/c").status == 404


def test_the_parts_of_a_namespace_are_checked(server: InMemoryServer) -> None:
    found = made(server, NAMESPACES)
    status = server.request("PUT", f"{NAMESPACES}/c/status", body={**found, "status": {"phase": "X"}})
    why = "status.Phase: Invalid value: \"X\": may only be 'Active' if `deletionTimestamp` is empty"
    assert message(status) == f'Namespace "c" is invalid: {why}'
    finalizers = {"finalizers": ["kubernetes", "foo"]}
    finalize = server.request("PUT", f"{NAMESPACES}/c/finalize", body={**found, "spec": finalizers})
    why = (
        'spec.finalizers[1]: Invalid value: "foo": name is neither a standard finalizer name nor is it fully qualified'
    )
    assert message(finalize) == f'Namespace "c" is invalid: {why}'


def test_a_namespace_with_a_generated_name_is_labelled(server: InMemoryServer) -> None:
    found = made(server, NAMESPACES, metadata={"generateName": "c-"})
    assert found["metadata"]["labels"] == {"kubernetes.io/metadata.name": found["metadata"]["name"]}


@pytest.mark.parametrize(
    ("path", "objects", "selector", "chosen"),
    [
        (NAMESPACES, [{}], "status.phase=Active", 1),
        (NAMESPACES, [{}], "status.phase=Terminating", 0),
        (f"{DEFAULT}/secrets", [{"type": "a"}, {}], "type=Opaque", 1),
        (
            f"{DEFAULT}/services",
            [{"spec": {"type": "ExternalName", "externalName": "a"}}, {"spec": {"clusterIP": "None"}}],
            "spec.type=ClusterIP,spec.clusterIP=None",
            1,
        ),
        (
            f"{DEFAULT}/events",
            [
                {"involvedObject": {"namespace": "default", "name": name, "uid": "u"}, "reason": "r", "type": "t"}
                for name in ("a", "b")
            ],
            "involvedObject.name=a,involvedObject.uid=u,reason=r,type=t,reportingComponent=",
            1,
        ),
    ],
)
def test_fields_are_selected(
    server: InMemoryServer, path: str, objects: list[dict[str, Any]], selector: str, chosen: int
) -> None:
    for number, obj in enumerate(objects):
        made(server, path, **obj, metadata={"name": f"c{number}"})
    found = json.loads(server.request("GET", path, {"fieldSelector": selector}).body)
    assert len(found["items"]) == chosen


def test_wrong_base64_is_refused(server: InMemoryServer) -> None:
    secret = {"metadata": {"name": "c"}, "data": {"a": "YWJjYQ="}}
    answer = server.request("POST", f"{DEFAULT}/secrets", body=secret)
    why = "illegal base64 data at input byte 7"
    assert (answer.status, message(answer)) == (
        400,
        f'Secret in version "v1" cannot be handled as a Secret: {why}',
    )


@pytest.mark.parametrize("text", ["[]", '{"a":' * 100_000, '{"a"'])
def test_a_docker_configuration_is_a_json_object(server: InMemoryServer, text: str) -> None:
    secret = {
        "metadata": {"name": "c"},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": text},
    }
    answer = server.request("POST", f"{DEFAULT}/secrets", body=secret)
    path = "data[.dockerconfigjson]: Invalid value"
    assert message(answer).startswith(f'Secret "c" is invalid: {path}: "<secret contents redacted>": ')


def test_secrets_of_each_type_are_accepted_with_what_it_asks_for(server: InMemoryServer) -> None:
    given: dict[str, dict[str, Any]] = {
        "kubernetes.io/basic-auth": {"stringData": {"username": ""}},
        "kubernetes.io/ssh-auth": {"stringData": {"ssh-privatekey": "x"}},
        "kubernetes.io/tls": {"stringData": {"tls.crt": "", "tls.key": ""}},
        "kubernetes.io/dockercfg": {"stringData": {".dockercfg": "{}"}},
        "kubernetes.io/service-account-token": {
            "metadata": {"name": "c4", "annotations": {"kubernetes.io/service-account.name": "x"}}
        },
    }
    for number, (kind, obj) in enumerate(given.items()):
        made(server, f"{DEFAULT}/secrets", **{"metadata": {"name": f"c{number}"}, "type": kind, **obj})


def test_keys_have_a_greatest_length(server: InMemoryServer) -> None:
    key = "x" * 254
    answer = server.request("POST", f"{DEFAULT}/configmaps", body={"metadata": {"name": "c"}, "binaryData": {key: ""}})
    why = f'binaryData[{key}]: Invalid value: "{key}": must be no more than 253 characters'
    assert message(answer) == f'ConfigMap "c" is invalid: {why}'


def test_unknown_operators_of_selectors_are_refused(server: InMemoryServer) -> None:
    chosen = [{"matchExpressions": [{"key": "a", "operator": "X"}]}]
    role = {"metadata": {"name": "c"}, "aggregationRule": {"clusterRoleSelectors": chosen}}
    path = "aggregationRule.clusterRoleSelectors[0]"
    assert message(server.request("POST", f"{RBAC}/clusterroles", body=role)) == (
        f'ClusterRole.rbac.authorization.k8s.io "c" is invalid: [{path}.matchExpressions[0].operator: '
        f'Invalid value: "X": not a valid selector operator, {path}: Invalid value: null: invalid label selector.]'
    )


@pytest.mark.parametrize(
    ("selector", "where"),
    [
        ({"matchLabels": {"a": "b,!c"}}, "matchLabels"),
        ({"matchLabels": {"a b": ""}}, "matchLabels"),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x y"]}]}, "matchExpressions[0].values[0]"),
    ],
)
def test_what_can_be_no_label_is_refused_in_selectors(
    server: InMemoryServer, selector: dict[str, Any], where: str
) -> None:
    role = {"metadata": {"name": "c"}, "aggregationRule": {"clusterRoleSelectors": [selector]}}
    answer = server.request("POST", f"{RBAC}/clusterroles", body=role)
    fields = [cause["field"] for cause in answer.json()["details"]["causes"]]
    path = "aggregationRule.clusterRoleSelectors[0]"
    assert (answer.status, fields) == (422, [f"{path}.{where}", path])


def test_conditions_of_apis_have_three_words(server: InMemoryServer) -> None:
    spec = {"group": "c.d", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    found = made(server, APIS, metadata={"name": "v1.c.d"}, spec=spec)
    status = {"conditions": [{"type": "Available", "status": "X"}]}
    answer = server.request("PUT", f"{APIS}/v1.c.d/status", body={**found, "status": status})
    # kube-aggregator/pkg/apis/apiregistration/validation ValidateAPIServiceStatus
    why = 'Unsupported value: "X": supported values: "True", "False", "Unknown"'
    name = 'APIService.apiregistration.k8s.io "v1.c.d"'
    assert message(answer) == f"{name} is invalid: status.conditions[0].status: {why}"


def test_exposed_services_have_the_policies_of_their_type(server: InMemoryServer) -> None:
    # SetDefaults_Service; what is allocated on top of that needs a network
    spec = {"type": "LoadBalancer", "ports": [{"port": 80}]}
    found = made(server, f"{DEFAULT}/services", spec=spec)["spec"]
    assert (found["externalTrafficPolicy"], found["allocateLoadBalancerNodePorts"]) == ("Cluster", True)


def test_services_without_an_address_warn_of_what_they_ignore(server: InMemoryServer) -> None:
    # GetWarningsForService of kubernetes/pkg/api/service.
    spec = {
        "clusterIP": "None",
        "ports": [{"port": 80}],
        "externalIPs": ["1.2.3.4"],
        "loadBalancerIP": "1.2.3.4",
        "sessionAffinity": "ClientIP",
    }
    answer = server.request("POST", f"{DEFAULT}/services", body={"metadata": {"name": "a"}, "spec": spec})
    assert answer.headers["warning"] == ", ".join(
        f'299 - "spec.{field} is ignored for headless services"'
        for field in ("loadBalancerIP", "externalIPs", "SessionAffinity")
    )
    quiet = server.request(
        "POST", f"{DEFAULT}/services", body={"metadata": {"name": "b"}, "spec": {**spec, "clusterIP": "10.0.0.9"}}
    )
    assert "warning" not in quiet.headers
    assert json.loads(quiet.body)["status"] == {"loadBalancer": {}}


def test_selectors_of_services_are_labels(server: InMemoryServer) -> None:
    spec = {"clusterIP": "None", "ports": [{"port": 80}], "selector": {"a b": "c d"}}
    answer = server.request("POST", f"{DEFAULT}/services", body={"metadata": {"name": "a"}, "spec": spec})
    assert [cause["field"] for cause in json.loads(answer.body)["details"]["causes"]] == ["spec.selector"] * 2


def test_leases_hold_nothing_of_coordinated_elections(server: InMemoryServer) -> None:
    # The feature is switched off by default (CoordinatedLeaderElection).
    spec = {"holderIdentity": "a", "strategy": "OldestEmulationVersion", "preferredHolder": "b"}
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    assert made(server, path, spec=spec)["spec"] == {"holderIdentity": "a"}


def test_events_may_have_any_name_that_a_path_can_hold(server: InMemoryServer) -> None:
    about = {"kind": "Pod", "namespace": "default"}
    body = {"metadata": {"name": "A_b:c"}, "involvedObject": about}
    assert server.request("POST", f"{DEFAULT}/events", body=body).status == 201
    answer = server.request("POST", f"{DEFAULT}/events", body={**body, "metadata": {"name": "a%b"}})
    assert "may not contain '%'" in message(answer)
