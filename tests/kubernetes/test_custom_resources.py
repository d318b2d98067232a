"""Custom resources on both control planes: what definitions do to each other, to namespaces, owners, rights and APIServices."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.kubernetes.control_plane import ControlPlane, Kubectl, running
from tests.waiting import until

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


def definition(group: str, plural: str = "crontabs", *, columns: bool = False, **names: Any) -> dict[str, Any]:
    singular = plural.removesuffix("s")
    replicas = {"type": "integer", "description": "How many."}
    spec = {"type": "object", "description": "What is wanted.", "properties": {"replicas": replicas}}
    schema = {"type": "object", "description": "A table of cron.", "properties": {"spec": spec}}
    version: dict[str, Any] = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    if columns:
        version["additionalPrinterColumns"] = [
            {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
            {"name": "Uid", "type": "string", "jsonPath": ".metadata.uid", "priority": 1},
        ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": singular, "kind": singular.capitalize(), **names},
            "versions": [version],
        },
    }


def custom(group: str, name: str, kind: str = "Crontab", **metadata: Any) -> str:
    obj = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": name, **metadata}, "spec": {"replicas": 2}}
    return json.dumps(obj)


@contextmanager
def defined(kubectl: Kubectl, obj: dict[str, Any], condition: str = "Established") -> Iterator[str]:
    """A definition, and its name."""
    name = obj["metadata"]["name"]
    kubectl("apply", "-f", "-", stdin=json.dumps(obj))
    try:
        kubectl("wait", f"--for=condition={condition}", "--timeout=30s", f"crd/{name}")
        yield name
    finally:
        kubectl("delete", "crd", name, "--ignore-not-found", "--timeout=40s")


def created(kubectl: Kubectl, namespace: str, body: str) -> None:
    """Create an object; a kind that has just come may not be in kubectl's cache yet."""

    def tried() -> bool:
        done = kubectl.run("-n", namespace, "create", "-f", "-", stdin=body)
        assert done.returncode == 0, done.stderr
        return True

    until(tried)


def conditions(kubectl: Kubectl, name: str) -> dict[str, list[str]]:
    found = json.loads(kubectl("get", "crd", name, "-o", "json"))["status"].get("conditions") or ()
    return {each["type"]: [each["status"], each["reason"], each["message"]] for each in found}


def test_a_definition_is_shown_explained_and_changed(kubectl: Kubectl, namespace: str) -> None:
    obj = definition("shown.example.com", columns=True, shortNames=["shownct"], categories=["shownkinds"])
    with defined(kubectl, obj) as name:
        head, row = kubectl("get", "crd", name).splitlines()
        assert (head.split(), row.split()[0]) == (["NAME", "CREATED", "AT"], name)
        created(kubectl, namespace, custom("shown.example.com", "one"))
        explained = kubectl("explain", "crontabs.spec.replicas", "--api-version=shown.example.com/v1")
        assert "How many." in explained
        recursive = kubectl("explain", "crontabs", "--recursive", "--api-version=shown.example.com/v1")
        assert "replicas\t<integer>" in recursive
        for what in ("shownct", "shownkinds", "crontab.shown.example.com"):
            rows = kubectl("-n", namespace, "get", what).splitlines()
            assert rows[0].split() == ["NAME", "REPLICAS"]
            assert rows[1].split()[-2:] == ["one", "2"] or rows[1].split() == ["crontab.shown.example.com/one", "2"]
        assert "UID" in kubectl("-n", namespace, "get", "shownct", "-o", "wide")
        patch = '{"spec":{"names":{"shortNames":["shownother"]}}}'
        for kind in ("strategic", "merge"):
            kubectl("patch", "crd", name, f"--type={kind}", "-p", patch)
        until(lambda: "one" in kubectl("-n", namespace, "get", "shownother"))
        live = json.loads(kubectl("get", "crd", name, "-o", "json"))
        live["spec"]["versions"][0]["additionalPrinterColumns"] = []
        kubectl("replace", "-f", "-", stdin=json.dumps(live))
        until(lambda: "AGE" in kubectl("-n", namespace, "get", "shownother"))
        edited = kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(obj))
        assert edited == f"customresourcedefinition.apiextensions.k8s.io/{name} serverside-applied\n"


def test_the_second_definition_that_wants_a_name_waits_for_it(kubectl: Kubectl) -> None:
    first = definition("named.example.com", shortNames=["nmd"])
    second = definition("named.example.com", "timers", shortNames=["nmd"], listKind="CrontabList")
    with defined(kubectl, first) as name, defined(kubectl, second, "NamesAccepted=False") as other:
        found = conditions(kubectl, other)
        assert found["NamesAccepted"] == ["False", "ListKindConflict", '"CrontabList" is already in use']
        assert found["Established"] == ["False", "NotAccepted", "not all names are accepted"]
        accepted = json.loads(kubectl("get", "crd", other, "-o", "jsonpath={.status.acceptedNames}"))
        assert accepted == {"plural": "timers", "singular": "timer", "kind": "Timer"}
        kubectl("delete", "crd", name)
        kubectl("wait", "--for=condition=Established", "--timeout=30s", f"crd/{other}")
        assert conditions(kubectl, other)["NamesAccepted"] == ["True", "NoConflicts", "no conflicts found"]


def test_deleting_a_definition_waits_for_its_objects(kubectl: Kubectl, namespace: str) -> None:
    with defined(kubectl, definition("held.example.com")) as name:
        created(kubectl, namespace, custom("held.example.com", "free"))
        created(kubectl, namespace, custom("held.example.com", "held", finalizers=["example.com/mine"]))
        kubectl("delete", "crd", name, "--wait=false")
        resource = "crontabs.held.example.com"
        until(lambda: kubectl("-n", namespace, "get", resource, "-o", "name") == "crontab.held.example.com/held\n")
        live = json.loads(kubectl("get", "crd", name, "-o", "json"))
        assert live["metadata"]["finalizers"] == [CLEANUP]
        assert live["metadata"]["generation"] == 1
        text = "CustomResource deletion is in progress"
        assert conditions(kubectl, name)["Terminating"] == ["True", "InstanceDeletionInProgress", text]
        refused = kubectl.run("-n", namespace, "create", "-f", "-", stdin=custom("held.example.com", "new"))
        assert "create not allowed while custom resource definition is terminating" in refused.stderr
        listed = json.loads(kubectl("get", "--raw", "/apis/held.example.com/v1"))["resources"][0]["verbs"]
        assert listed == ["delete", "deletecollection", "get", "list", "watch"]
        kubectl("-n", namespace, "patch", resource, "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        kubectl("wait", "--for=delete", "--timeout=30s", f"crd/{name}")


def test_namespaces_and_owners_take_custom_resources_along(
    kubectl: Kubectl, control_plane: ControlPlane, namespace: str
) -> None:
    with defined(kubectl, definition("owned.example.com")):
        created(kubectl, namespace, custom("owned.example.com", "owner"))
        path = f"/apis/owned.example.com/v1/namespaces/{namespace}/crontabs"
        uid = control_plane.client.get(f"{path}/owner")["metadata"]["uid"]
        owner = {"apiVersion": "owned.example.com/v1", "kind": "Crontab", "name": "owner", "uid": uid}
        created(kubectl, namespace, custom("owned.example.com", "dependent", ownerReferences=[owner]))
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "ownerReferences": [owner]}}
        created(kubectl, namespace, json.dumps(config))
        control_plane.client.delete(f"{path}/owner")
        until(lambda: kubectl("-n", namespace, "get", "crontabs.owned.example.com", "-o", "name") == "", 60)
        until(lambda: "owned" not in kubectl("-n", namespace, "get", "configmaps", "-o", "name"), 60)

        other = f"{namespace}-gone"
        kubectl("create", "namespace", other)
        created(kubectl, other, custom("owned.example.com", "one"))
        kubectl("delete", "namespace", other, "--timeout=60s")
        assert kubectl("get", "crontabs.owned.example.com", "-A", "-o", "name") == ""


def test_an_apiservice_with_a_service_wins(kubectl: Kubectl, namespace: str) -> None:
    with defined(kubectl, definition("won.example.com")) as name:
        created(kubectl, namespace, custom("won.example.com", "one"))
        service = json.loads(until(lambda: kubectl("get", "apiservice", "v1.won.example.com", "-o", "json")))
        assert service["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "true"}
        assert service["spec"] == {
            "group": "won.example.com",
            "version": "v1",
            "groupPriorityMinimum": 1000,
            "versionPriority": 100,
        }
        service["metadata"] = {"name": "v1.won.example.com", "labels": {}}
        service["spec"] |= {"service": {"namespace": namespace, "name": "nobody"}, "insecureSkipTLSVerify": True}
        del service["status"]
        kubectl("replace", "-f", "-", stdin=json.dumps(service))
        path = f"/apis/won.example.com/v1/namespaces/{namespace}/crontabs/one"
        try:
            until(lambda: "ServiceUnavailable" in kubectl.run("get", "--raw", path).stderr)
        finally:
            kubectl("delete", "apiservice", "v1.won.example.com")
        until(lambda: kubectl.run("get", "--raw", path).returncode == 0)
        assert kubectl("get", "crd", name, "-o", "name")
    until(lambda: kubectl.run("get", "apiservice", "v1.won.example.com").returncode != 0)


def test_rights_of_a_new_kind_are_those_of_roles(kubectl: Kubectl, namespace: str) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": "crontabs-of-rights",
            "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"},
        },
        "rules": [{"apiGroups": ["rights.example.com"], "resources": ["crontabs"], "verbs": ["get", "list", "watch"]}],
    }
    with defined(kubectl, definition("rights.example.com")):
        kubectl("create", "-f", "-", stdin=json.dumps(role))
        try:
            kubectl("-n", namespace, "create", "rolebinding", "viewer", "--clusterrole=view", "--user=jane")
            can = ("-n", namespace, "auth", "can-i", "--as=jane")
            until(lambda: kubectl.run(*can, "list", "crontabs.rights.example.com").stdout == "yes\n")
            assert kubectl.run(*can, "create", "crontabs.rights.example.com").stdout == "no\n"
        finally:
            kubectl("delete", "clusterrole", "crontabs-of-rights")


def test_kinds_and_objects_are_there_after_a_restart(tmp_path: Path) -> None:
    # Of the built-in control plane: the real one leaves restarts to etcd.
    with running(tmp_path, "builtin", durable=True) as plane:
        kubectl = Kubectl(plane.kubeconfig, tmp_path / "kubectl")
        kubectl("apply", "-f", "-", stdin=json.dumps(definition("kept.example.com")))
        kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd/crontabs.kept.example.com")
        created(kubectl, "default", custom("kept.example.com", "one"))
    with running(tmp_path, "builtin", durable=True) as plane:
        path = "/apis/kept.example.com/v1/namespaces/default/crontabs"
        assert [each["metadata"]["name"] for each in plane.client.get(path)["items"]] == ["one"]


@pytest.mark.parametrize("what", ["spec.foo", "spec.versions[0].schema.openAPIV3Schema.foo"])
def test_unknown_fields_of_definitions_are_told(kubectl: Kubectl, what: str) -> None:
    obj = definition("unknown.example.com")
    place = obj["spec"] if what == "spec.foo" else obj["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    place["foo"] = 1
    refused = kubectl.run("create", "-f", "-", stdin=json.dumps(obj))
    assert f'strict decoding error: unknown field "{what}"' in refused.stderr
    place["foo"], place["type"] = None, {}
    wrong = kubectl.run("create", "--validate=ignore", "-f", "-", stdin=json.dumps(obj))
    if what != "spec.foo":
        field = "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.type"
        assert f"json: cannot unmarshal object into Go struct field {field} of type string" in wrong.stderr
    kubectl("delete", "crd", "crontabs.unknown.example.com", "--ignore-not-found")
