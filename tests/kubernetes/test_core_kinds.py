"""Objects of the core kinds changed by kubectl: apply, diff, the three patches, label, replace, edit; and watched."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kubernetes.core_objects import RBAC
from tests.kubernetes.pizzas import GROUP, pizza
from tests.kubernetes.shop import Running, Shop
from tests.waiting import until

KUSTOMIZATION: dict[str, dict[str, Any]] = {
    "kustomization.yaml": {
        "resources": ["service.yaml", "account.yaml", "role.yaml", "binding.yaml", "pizza.yaml"],
        "labels": [{"pairs": {"app": "pizzeria"}}],
        "configMapGenerator": [{"name": "menu", "literals": ["tomato=1"]}],
        "generatorOptions": {"disableNameSuffixHash": True},
    },
    "service.yaml": {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "pizzeria"},
        "spec": {
            "ports": [
                {"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"},
                {"name": "https", "port": 443, "targetPort": "tls", "protocol": "TCP"},
            ],
            "clusterIP": "None",
        },
    },
    "account.yaml": {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}},
    "role.yaml": {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": "cook"},
        "rules": [{"apiGroups": [GROUP], "resources": ["pizzas"], "verbs": ["get"]}],
    },
    "binding.yaml": {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "cooks"},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "cook"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot"}],
    },
    "pizza.yaml": pizza("margherita", tomato=1, mozzarella=2),
}


def save(directory: Path) -> Path:
    for name, content in KUSTOMIZATION.items():
        (directory / name).write_text(yaml.safe_dump(content))
    return directory


@pytest.mark.usefixtures("menu")
def test_a_kustomization_is_applied_changed_and_taken_away(shop: Shop, tmp_path: Path) -> None:
    where = str(save(tmp_path))
    names = {
        "serviceaccount/robot", f"role.{RBAC}/cook", f"rolebinding.{RBAC}/cooks", "configmap/menu", "service/pizzeria",
        f"pizza.{GROUP}/margherita",
    }  # fmt: skip
    assert set(shop("apply", "-k", where).splitlines()) == {f"{name} created" for name in names}
    assert set(shop("apply", "-k", where).splitlines()) == {f"{name} unchanged" for name in names}
    assert shop("diff", "-k", where) == ""
    # Ports are merged by their number: one is changed, one goes, one comes, and what somebody else set stays.
    shop("patch", "service", "pizzeria", "--type=merge", "-p", '{"spec":{"sessionAffinity":"ClientIP"}}')
    changed = yaml.safe_load((tmp_path / "service.yaml").read_text())
    changed["spec"]["ports"] = [
        {"name": "web", "port": 80, "targetPort": 8080, "protocol": "TCP"},
        {"name": "admin", "port": 8443, "protocol": "TCP"},
    ]
    (tmp_path / "service.yaml").write_text(yaml.safe_dump(changed))
    (tmp_path / "account.yaml").write_text(
        yaml.safe_dump(KUSTOMIZATION["account.yaml"] | {"automountServiceAccountToken": False})
    )
    role = yaml.safe_load((tmp_path / "role.yaml").read_text())
    role["rules"][0]["verbs"].append("list")
    (tmp_path / "role.yaml").write_text(yaml.safe_dump(role))
    done = shop("apply", "-k", where).splitlines()
    assert set(done) == {
        f"{name} configured" if name.split("/")[1] in {"pizzeria", "robot", "cook"} else f"{name} unchanged"
        for name in names
    }
    service = shop.read("service", "pizzeria")
    assert {(port["name"], port["port"]) for port in service["spec"]["ports"]} == {("web", 80), ("admin", 8443)}
    assert service["spec"]["sessionAffinity"] == "ClientIP"
    assert service["metadata"]["labels"] == {"app": "pizzeria"}
    assert shop.read("sa", "robot")["automountServiceAccountToken"] is False
    assert shop.read("role", "cook")["rules"][0]["verbs"] == ["get", "list"]
    assert shop("get", "sa,role,rolebinding,cm,svc,pz", "-l", "app=pizzeria", "-o", "name").count("\n") == 6
    shop("delete", "-k", where)
    assert shop("get", "sa,role,rolebinding,cm,svc,pz", "-l", "app=pizzeria", "-o", "name") == ""


def test_apply_takes_away_what_the_file_no_longer_says(shop: Shop) -> None:
    menu: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "menu"}}
    first = menu | {"data": {"tomato": "1", "olives": "2"}}
    assert shop("apply", "-f", "-", stdin=json.dumps(first)) == "configmap/menu created\n"
    shop("patch", "configmap", "menu", "-p", '{"data":{"salami":"3"}}')
    second = menu | {"data": {"tomato": "9"}}
    assert shop("diff", "-f", "-", stdin=json.dumps(first)) == ""
    assert shop("apply", "-f", "-", stdin=json.dumps(second)) == "configmap/menu configured\n"
    assert shop.read("configmap", "menu")["data"] == {"tomato": "9", "salami": "3"}
    assert shop("apply", "-f", "-", stdin=json.dumps(second)) == "configmap/menu unchanged\n"


PATCHES = {
    "strategic": (
        '{"metadata":{"labels":{"a":null,"c":"d"}},"data":{"x":"2"}}',
        {"b": "b", "c": "d"},
        {"x": "2", "y": "1"},
    ),
    "merge": ('{"metadata":{"labels":{"a":null}},"data":{"y":null}}', {"b": "b"}, {"x": "1"}),
    "json": (
        '[{"op":"remove","path":"/metadata/labels/a"},{"op":"add","path":"/data/z","value":"3"}]',
        {"b": "b"},
        {"x": "1", "y": "1", "z": "3"},
    ),
}


@pytest.mark.parametrize("kind", PATCHES)
def test_patches_of_core_kinds(shop: Shop, kind: str) -> None:
    shop.make(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "menu", "labels": {"a": "a", "b": "b"}},
            "data": {"x": "1", "y": "1"},
        }
    )
    patch, labels, data = PATCHES[kind]
    assert shop("patch", "cm", "menu", f"--type={kind}", "-p", patch) == "configmap/menu patched\n"
    assert shop("patch", "cm", "menu", "--type=merge", "-p", "{}") == "configmap/menu patched (no change)\n"
    menu = shop.read("cm", "menu")
    assert (menu["metadata"]["labels"], menu["data"]) == (labels, data)


def test_a_strategic_patch_of_lists(shop: Shop) -> None:
    shop.make(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "pizzeria", "finalizers": ["example.com/a"]},
            "spec": {"clusterIP": "None", "ports": [{"name": "http", "port": 80}, {"name": "https", "port": 443}]},
        },
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "Role",
            "metadata": {"name": "cook"},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
        },
    )
    shop(
        "patch", "svc", "pizzeria", "-p", '{"spec":{"ports":[{"port":80,"name":"web"},{"port":443,"$patch":"delete"}]}}'
    )
    assert [
        (port["name"], port["port"], port["protocol"]) for port in shop.read("svc", "pizzeria")["spec"]["ports"]
    ] == [("web", 80, "TCP")]
    shop("patch", "svc", "pizzeria", "-p", '{"metadata":{"finalizers":["example.com/b"]}}')
    assert set(shop.read("svc", "pizzeria")["metadata"]["finalizers"]) == {"example.com/a", "example.com/b"}
    shop("patch", "svc", "pizzeria", "-p", '{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/a"]}}')
    assert shop.read("svc", "pizzeria")["metadata"]["finalizers"] == ["example.com/b"]
    shop("patch", "svc", "pizzeria", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    # Rules have no key to be merged by: the list is replaced.
    rule = {"apiGroups": [GROUP], "resources": ["pizzas"], "verbs": ["list"]}
    shop("patch", "role", "cook", "-p", json.dumps({"rules": [rule]}))
    assert shop.read("role", "cook")["rules"] == [rule]


def test_label_annotate_and_replace(shop: Shop) -> None:
    shop("create", "configmap", "menu", "--from-literal=a=1")
    assert shop("label", "cm", "menu", "hot=yes") == "configmap/menu labeled\n"
    assert "already has a value (yes), and --overwrite is false" in shop.refused("label", "cm", "menu", "hot=no")
    assert shop("label", "cm", "menu", "hot=no", "--overwrite") == "configmap/menu labeled\n"
    assert shop("annotate", "cm", "menu", "waiter=jane") == "configmap/menu annotated\n"
    menu = shop.read("cm", "menu")
    assert (menu["metadata"]["labels"], menu["metadata"]["annotations"]) == ({"hot": "no"}, {"waiter": "jane"})
    assert shop("label", "cm", "menu", "hot-") == "configmap/menu unlabeled\n"
    assert "labels" not in shop.read("cm", "menu")["metadata"]
    stale = shop.refused("replace", "-f", "-", stdin=json.dumps(menu))
    assert 'Operation cannot be fulfilled on configmaps "menu": the object has been modified' in stale
    del menu["metadata"]["resourceVersion"]
    menu["data"] = {"b": "2"}
    assert shop("replace", "-f", "-", stdin=json.dumps(menu)) == "configmap/menu replaced\n"
    assert shop.read("cm", "menu")["data"] == {"b": "2"}
    assert "a lowercase RFC 1123 subdomain" in shop.refused("create", "configmap", "Menu")


def test_edit_of_a_core_kind(shop: Shop, tmp_path: Path) -> None:
    shop("create", "configmap", "menu", "--from-literal=tomato=1")
    assert shop.edited(tmp_path, "s/tomato/salami/", "edit", "cm", "menu") == "configmap/menu edited\n"
    assert shop.read("cm", "menu")["data"] == {"salami": "1"}


def test_what_is_wrong_is_refused_as_kube_apiserver_refuses_it(shop: Shop) -> None:
    said = shop.refused(
        "create",
        "-f",
        "-",
        stdin=json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a/b": "1"}}),
    )
    assert said.startswith(
        'The ConfigMap "m" is invalid: data[a/b]: Invalid value: "a/b": a valid config key must consist of'
    )
    unknown = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "date": {}}
    assert 'strict decoding error: unknown field "date"' in shop.refused("create", "-f", "-", stdin=json.dumps(unknown))
    shop.make(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fixed"}, "immutable": True, "data": {"a": "1"}}
    )
    assert (
        shop.refused("patch", "cm", "fixed", "-p", '{"data":{"a":"2"}}')
        == 'The ConfigMap "fixed" is invalid: data: Forbidden: field is immutable when `immutable` is set\n'
    )
    shop("create", "rolebinding", "cooks", "--clusterrole=view", "--user=jane")
    other = '{"roleRef":{"name":"edit"}}'
    assert "cannot change roleRef" in shop.refused("patch", "rolebinding", "cooks", "--type=merge", "-p", other)
    shop("create", "secret", "generic", "recipe")
    assert "type: Invalid value" in shop.refused("patch", "secret", "recipe", "-p", '{"type":"other"}')
    role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": [{"verbs": ["get"]}]}
    assert "resource rules must supply at least one" in shop.refused("create", "-f", "-", stdin=json.dumps(role))
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"type": "ExternalName"}}
    assert "spec.externalName: Required value" in shop.refused("create", "-f", "-", stdin=json.dumps(service))


def test_get_watches_core_kinds_and_wait_waits(shop: Shop, watching: list[Running]) -> None:
    shop("create", "configmap", "menu", "--from-literal=a=1")
    watching.append(Running(shop, "get", "cm", "-w", "--field-selector=metadata.name=menu"))
    assert watching[0].line() == "NAME DATA AGE"
    assert watching[0].line().startswith("menu 1 ")
    shop("patch", "cm", "menu", "-p", '{"data":{"b":"2"}}')
    assert watching[0].line().startswith("menu 2 ")
    watching.append(Running(shop, "wait", "cm/menu", "--for=jsonpath={.data.c}=3", "--timeout=20s"))
    watching.append(Running(shop, "wait", "cm/menu", "--for=delete", "--timeout=20s"))
    shop("patch", "cm", "menu", "-p", '{"data":{"c":"3"}}')
    assert watching[0].line().startswith("menu 3 ")
    assert watching[1].line() == "configmap/menu condition met"
    shop("delete", "cm", "menu", "--wait=false")
    assert watching[2].line() == "configmap/menu condition met"
    vain = shop.refused("wait", f"ns/{shop.namespace}", "--for=jsonpath={.status.phase}=Terminating", "--timeout=100ms")
    assert "timed out waiting for the condition" in vain
    assert "condition met" in shop(
        "wait", f"ns/{shop.namespace}", "--for=jsonpath={.status.phase}=Active", "--timeout=9s"
    )


@pytest.mark.usefixtures("menu")
def test_kubectl_proxy(shop: Shop, watching: list[Running]) -> None:
    shop.make(pizza("mine", tomato=1))
    until(lambda: shop.costs("mine", "1.50"))
    watching.append(Running(shop, "proxy", "--port=0"))
    address = watching[0].line().replace("Starting to serve on ", "http://")
    base = f"{address}/apis/{GROUP}/v1beta1/namespaces/{shop.namespace}/pizzas"
    with urllib.request.urlopen(base, timeout=20) as answer:  # noqa: S310 - kubectl on loopback
        listed = json.load(answer)
    assert [item["metadata"]["name"] for item in listed["items"]] == ["mine"]
    revision = listed["metadata"]["resourceVersion"]
    with urllib.request.urlopen(f"{base}?watch=1&resourceVersion={revision}", timeout=20) as stream:  # noqa: S310 - as above
        shop("label", "pz", "mine", "hot=yes")
        event = json.loads(stream.readline())
        assert (event["type"], event["object"]["metadata"]["labels"]) == ("MODIFIED", {"hot": "yes"})
        shop("delete", "pz", "mine", "--wait=false")
        assert json.loads(stream.readline())["type"] == "DELETED"
    with urllib.request.urlopen(f"{address}/api/v1/namespaces/{shop.namespace}", timeout=20) as answer:  # noqa: S310 - as above
        assert json.load(answer)["metadata"]["name"] == shop.namespace
