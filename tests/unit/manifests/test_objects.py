"""The objects: what Kubernetes' documentation demands of an extension API server, and of a pod under ``restricted``."""

from __future__ import annotations

from typing import Any

import yaml

from extapi import PolicyRule
from extapi.api.definition import Api
from extapi.manifests.files import kustomization, render
from extapi.manifests.settings import make_settings
from extapi.pizza import api as pizza
from tests.unit.manifests.apis import library, reviews


def rendered(api: Api = pizza, **flags: Any) -> dict[str, Any]:
    """By file name; read back from YAML."""
    files = render(make_settings(api, "some.module:api", **flags), api)
    return {file.name.removesuffix(".yaml"): yaml.safe_load(file.text) for file in files}


def pod_of(objects: dict[str, Any]) -> Any:
    return objects["deployment"]["spec"]["template"]["spec"]


def test_nothing_has_two_names_for_one_thing() -> None:
    """Each reference leads to an object that is there."""
    objects = rendered(name="shop", namespace="mall")
    account = objects["service-account"]["metadata"]
    assert (
        (account["name"], account["namespace"])
        == ("shop", "mall")
        == ("shop", objects["namespace"]["metadata"]["name"])
    )
    for binding in ("auth-delegator", "authentication-reader", "server-role-binding"):
        assert objects[binding]["subjects"] == [{"kind": "ServiceAccount", "name": "shop", "namespace": "mall"}]
    assert objects["server-role-binding"]["roleRef"]["name"] == objects["server-role"]["metadata"]["name"]
    pod = pod_of(objects)
    assert pod["serviceAccountName"] == "shop"
    labels = objects["deployment"]["spec"]["template"]["metadata"]["labels"]
    for selector in (objects["deployment"]["spec"]["selector"]["matchLabels"], objects["service"]["spec"]["selector"]):
        assert selector.items() <= labels.items()
    (container,) = pod["containers"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)
    assert volumes["data"]["persistentVolumeClaim"]["claimName"] == objects["volume-claim"]["metadata"]["name"]
    assert objects["service"]["spec"]["ports"][0]["targetPort"] == container["ports"][0]["name"]
    for version in ("v1beta1", "v1alpha1"):
        where = objects[f"apiservice-{version}"]["spec"]["service"]
        service = objects["service"]
        assert where == {"name": "shop", "namespace": "mall", "port": service["spec"]["ports"][0]["port"]}


def test_the_rights_of_the_server() -> None:
    """As "Set up an extension API server" has them, and the namespaces for NamespaceLifecycle."""
    objects = rendered()
    assert objects["auth-delegator"]["kind"] == "ClusterRoleBinding"
    assert objects["auth-delegator"]["roleRef"]["name"] == "system:auth-delegator"
    reader = objects["authentication-reader"]
    assert (reader["kind"], reader["metadata"]["namespace"]) == ("RoleBinding", "kube-system")
    assert reader["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "Role",
        "name": "extension-apiserver-authentication-reader",
    }
    assert objects["server-role"]["rules"] == [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]}
    ]


def test_users_get_what_discovery_lists() -> None:
    objects = rendered(library)
    label = "rbac.authorization.k8s.io/aggregate-to-"
    labels = {name: objects[f"{name}-role"]["metadata"]["labels"] for name in ("view", "edit")}
    assert {key for key in labels["view"] if key.startswith(label)} == {f"{label}view"}
    assert {key for key in labels["edit"] if key.startswith(label)} == {f"{label}edit", f"{label}admin"}
    granted = {
        (name, group, resource): set(rule["verbs"])
        for name in ("view", "edit")
        for rule in objects[f"{name}-role"]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    every, write = {"get", "list", "watch"}, {"create", "delete", "deletecollection", "patch", "update"}
    books = "library.example.com"
    assert granted == {
        ("view", books, "books"): every,
        ("view", books, "readers"): every,
        ("view", books, "books/status"): {"get"},
        ("view", books, "books/loan"): {"get"},
        ("view", books, "books/place"): {"get"},
        ("view", "archive.example.com", "chests"): every,
        ("view", "archive.example.com", "chests/status"): {"get"},
        ("edit", books, "books"): write,
        ("edit", books, "readers"): write,
        ("edit", books, "books/loan"): {"update", "patch"},
        ("edit", books, "books/place"): {"update", "patch"},
        ("edit", "archive.example.com", "chests"): write,
    }


def test_what_can_only_be_created_needs_no_role_to_view() -> None:
    objects = rendered(reviews)
    assert "view-role" not in objects
    assert objects["edit-role"]["rules"][0]["verbs"] == ["create"]


def test_versions_have_priorities_in_their_order() -> None:
    """A stable version before a beta one before an alpha one: how Kubernetes orders versions."""
    objects = rendered(library)
    specs = {name: obj["spec"] for name, obj in objects.items() if name.startswith("apiservice-")}
    group = "library.example.com"
    order = sorted(
        (spec for spec in specs.values() if spec["group"] == group), key=lambda spec: -int(spec["versionPriority"])
    )
    assert [spec["version"] for spec in order] == ["v1", "v2beta1", "v1alpha1"]
    assert len({spec["versionPriority"] for spec in order}) == 3
    # Limits of kube-aggregator's validation.
    assert all(
        1 <= spec["versionPriority"] <= 1000 and 1 <= spec["groupPriorityMinimum"] <= 20000 for spec in specs.values()
    )
    assert f"apiservice-v1.{group}" in objects
    assert "apiservice-v1.archive.example.com" in objects


def test_certificates_are_always_looked_at() -> None:
    for objects in (rendered(), rendered(cert_manager=True), rendered(host_network=True)):
        for name, obj in objects.items():
            if name.startswith("apiservice-"):
                assert "insecureSkipTLSVerify" not in obj["spec"]
                assert "caBundle" not in obj["spec"]


def test_the_pod_is_restricted() -> None:
    """The controls of the level "restricted" in the Pod Security Standards."""
    objects = rendered()
    assert objects["namespace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    pod = pod_of(objects)
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] != 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert "hostNetwork" not in pod
    assert {"requests", "limits"} == set(container["resources"])


def test_a_pod_has_the_time_that_its_end_takes() -> None:
    """Requests in flight get 60 seconds (spec H12), after the delay."""
    alone, one_of_many = pod_of(rendered()), pod_of(rendered(reviews, replicas=2))
    assert not any("shutdown-delay" in arg for arg in alone["containers"][0]["args"])
    assert alone["terminationGracePeriodSeconds"] > 60
    (delay,) = (arg.partition("=")[2] for arg in one_of_many["containers"][0]["args"] if "shutdown-delay" in arg)
    assert one_of_many["terminationGracePeriodSeconds"] > int(delay.removesuffix("s")) + 60


def test_sqlite_has_a_disk_and_one_pod_at_a_time() -> None:
    objects = rendered(storage="sqlite:////data/pizza/all.sqlite")
    assert objects["deployment"]["spec"]["strategy"] == {"type": "Recreate"}
    assert objects["deployment"]["spec"]["replicas"] == 1
    mounts = {mount["name"]: mount["mountPath"] for mount in pod_of(objects)["containers"][0]["volumeMounts"]}
    assert mounts["data"] == "/data/pizza"
    assert "--storage=sqlite:////data/pizza/all.sqlite" in pod_of(objects)["containers"][0]["args"]
    assert pod_of(objects)["securityContext"]["fsGroup"] == pod_of(objects)["securityContext"]["runAsUser"]
    assert "disruption-budget" not in objects


def test_memory_has_no_disk() -> None:
    objects = rendered(storage="memory:")
    assert "volume-claim" not in objects
    # Two pods would have objects of their own, also while one takes the place of the other.
    assert objects["deployment"]["spec"]["strategy"] == {"type": "Recreate"}
    assert "strategy" not in rendered(reviews)["deployment"]["spec"]
    assert {volume["name"] for volume in pod_of(objects)["volumes"]} == {"tls", "tmp"}


def test_several_pods_go_on_while_nodes_are_drained() -> None:
    objects = rendered(reviews, replicas=3)
    assert objects["deployment"]["spec"]["replicas"] == 3
    budget = objects["disruption-budget"]["spec"]
    assert budget["maxUnavailable"] == 1
    assert budget["selector"] == objects["deployment"]["spec"]["selector"]
    assert pod_of(objects)["topologySpreadConstraints"][0]["topologyKey"] == "kubernetes.io/hostname"


def test_the_network_of_the_node() -> None:
    objects = rendered(host_network=True, port=9443)
    pod = pod_of(objects)
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert pod["containers"][0]["ports"] == [{"name": "https", "containerPort": 9443}]
    assert "--secure-port=9443" in pod["containers"][0]["args"]
    # The levels "restricted" and "baseline" refuse it.
    assert objects["namespace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    # Policies do not apply to it.
    assert "network-policy" not in objects
    several = rendered(reviews, host_network=True, replicas=2)["deployment"]["spec"]["strategy"]
    assert several["rollingUpdate"]["maxSurge"] == 0


def test_the_network_policy_is_there_for_those_who_ask() -> None:
    settings = make_settings(pizza, "some.module:api")
    files = render(settings, pizza)
    text = kustomization(settings, files, "x")
    assert "network-policy.yaml" not in yaml.safe_load(text)["resources"]
    assert rendered()["network-policy"]["spec"]["ingress"] == [{"ports": [{"protocol": "TCP", "port": 8443}]}]


def test_the_secret_is_made_of_files_that_git_ignores() -> None:
    settings = make_settings(pizza, "some.module:api")
    (generator,) = yaml.safe_load(kustomization(settings, render(settings, pizza), "x"))["secretGenerator"]
    secret = pod_of(rendered())["volumes"][0]["secret"]["secretName"]
    assert (generator["name"], generator["namespace"], generator["type"]) == (secret, "restaurant", "kubernetes.io/tls")
    assert generator["files"] == ["certs/tls.crt", "certs/tls.key"]
    # A new certificate is read by the running server; it is no reason for a new pod.
    assert generator["options"]["disableNameSuffixHash"] is True


def test_cert_manager_issues_and_injects() -> None:
    """Issuers and Certificates as cert-manager's documentation has them: a CA issuer, started by a self-signed one."""
    objects = rendered(cert_manager=True, name="shop", namespace="mall")
    authority, serving = objects["certificate-ca"]["spec"], objects["certificate-tls"]["spec"]
    assert objects["issuer-selfsigned"]["spec"] == {"selfSigned": {}}
    assert authority["isCA"] is True
    assert authority["issuerRef"]["name"] == objects["issuer-selfsigned"]["metadata"]["name"]
    # cert-manager makes a new key by default (since 1.18); then what the old one has signed is believed no more.
    assert authority["privateKey"]["rotationPolicy"] == "Never"
    assert objects["issuer-ca"]["spec"] == {"ca": {"secretName": authority["secretName"]}}
    assert serving["issuerRef"]["name"] == objects["issuer-ca"]["metadata"]["name"]
    assert "shop.mall.svc" in serving["dnsNames"]
    assert "server auth" in serving["usages"]  # by default it could only sign and encrypt
    assert authority["duration"] == "87600h"  # by default 90 days, and caBundle has to follow each time
    assert serving["secretName"] == pod_of(objects)["volumes"][0]["secret"]["secretName"]
    wanted = f"mall/{objects['certificate-tls']['metadata']['name']}"
    for version in ("v1beta1", "v1alpha1"):
        annotations = objects[f"apiservice-{version}"]["metadata"]["annotations"]
        assert annotations == {"cert-manager.io/inject-ca-from": wanted}
    settings = make_settings(pizza, "some.module:api", cert_manager=True)
    assert "secretGenerator" not in yaml.safe_load(kustomization(settings, render(settings, pizza), "x"))


def test_what_the_api_needs_is_a_part_of_the_servers_role() -> None:
    rule = PolicyRule(api_groups=[""], resources=["secrets"], verbs=["get", "create"], resource_names=["tls"])
    needing = Api(*library.groups, needs=[rule, PolicyRule.for_events()])
    files = render(make_settings(needing, "some.module:api"), needing)
    (role,) = [file for file in files if file.name == "server-role.yaml"]
    assert yaml.safe_load(role.text)["rules"] == [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["tls"], "verbs": ["get", "create"]},
        {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
    ]
    assert "Api(needs=[...])" in role.why
    without = {file.name: file.text for file in render(make_settings(library, "some.module:api"), library)}
    assert "needs" not in without["server-role.yaml"]
    for file in files:
        if file is not role:
            assert file.text == without[file.name]
