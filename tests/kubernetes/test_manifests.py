"""Manifests that kubectl checks by OpenAPI v2, which it reads in protobuf: lists, reviews, kinds that nobody serves."""

from __future__ import annotations

import json
from typing import Any

from tests.kubernetes.control_plane import ExtensionServer, Kubectl
from tests.kubernetes.pizzas import topping


def many(*items: Any) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def config_map(name: str, **members: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {}, **members}


def test_a_list_is_applied(kubectl: Kubectl, namespace: str, extension_server: ExtensionServer) -> None:
    both = many(config_map("one"), topping(f"of-{namespace}", "1"))
    assert kubectl("apply", "-n", namespace, "-f", "-", stdin=both) == (
        f"configmap/one created\ntopping.restaurant.programming-kubernetes.info/of-{namespace} created\n"
    )
    kubectl("delete", "topping", f"of-{namespace}")


def test_what_was_read_is_applied_again(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "configmap", "one", "-n", namespace)
    kubectl("create", "serviceaccount", "two", "-n", namespace)
    dump = kubectl("get", "configmap/one", "serviceaccount/two", "-n", namespace, "-o", "yaml")
    assert kubectl("apply", "-f", "-", stdin=dump) == "configmap/one configured\nserviceaccount/two configured\n"


def test_a_mistake_in_a_list_is_found_before_anything_is_sent(kubectl: Kubectl, namespace: str) -> None:
    wrong = many(config_map("right"), config_map("wrong", dat={}))
    failed = kubectl.run("apply", "-n", namespace, "-f", "-", stdin=wrong)
    assert failed.returncode == 1
    assert 'unknown field "dat" in io.k8s.api.core.v1.ConfigMap' in failed.stderr
    assert kubectl.run("get", "configmap", "right", "-n", namespace).returncode == 1


def test_a_review_from_a_manifest(kubectl: Kubectl) -> None:
    spec = {"user": "alice", "resourceAttributes": {"resource": "pods", "verb": "list", "namespace": "default"}}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    answer = json.loads(kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(review)))
    assert (answer["spec"], answer["status"]) == (spec, {"allowed": False})


def test_a_kind_that_nobody_serves(kubectl: Kubectl) -> None:
    nothing = {"apiVersion": "nobody.example.com/v1", "kind": "Nothing", "metadata": {"name": "x"}}
    failed = kubectl.run("apply", "-f", "-", stdin=json.dumps(nothing))
    assert failed.stderr == (
        'error: resource mapping not found for name: "x" namespace: "" from "STDIN": '
        'no matches for kind "Nothing" in version "nobody.example.com/v1"\nensure CRDs are installed first\n'
    )


def test_a_kind_is_explained_from_openapi_v2(kubectl: Kubectl, extension_server: ExtensionServer) -> None:
    for kind, fields in (
        ("configmap", ("binaryData\t<map[string]string>", "immutable\t<boolean>")),
        ("pizza", ("spec\t<",)),
    ):
        text = kubectl("explain", kind, "--output=plaintext-openapiv2")
        assert text.startswith(f"KIND:     {'ConfigMap' if kind == 'configmap' else 'Pizza'}\n")
        assert all(field in text for field in fields)
