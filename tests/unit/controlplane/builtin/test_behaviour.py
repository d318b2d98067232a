"""How built-in kinds are stored and answered, beside custom resources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from extapi import Group, Kind, Version
from extapi.api.behaviour import CUSTOM_RESOURCE, Behaviour, StoredAs
from extapi.api.declaration import DeclarationError
from extapi.api.definition import CLUSTER, Api
from extapi.api.names import dns1123_label, path_segment
from extapi.codec.strictyaml import decode as decode_yaml
from extapi.controlplane.builtin.behaviour import built_in
from extapi.testing import InMemoryServer, serve
from tests.unit.verbs.sample import failure

GROUP = "native.example.com"
V1 = f"/apis/{GROUP}/v1"
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def kind_of(name: str, behaviour: Behaviour = CUSTOM_RESOURCE, **more: Any) -> Kind:
    return Kind(name, storage="v1", scope=CLUSTER, versions={"v1": Version(FREE)}, behaviour=behaviour, **more)


@pytest.fixture
def server() -> Iterator[InMemoryServer]:
    kinds = [
        kind_of("Loose", built_in(names=path_segment)),
        kind_of("Strict", built_in(unconditional_update=False, generation=True, names=dns1123_label)),
        kind_of("Shown", built_in(qualified_finalizers=False, returns_deleted=True)),
        kind_of("Old", built_in(registered=frozenset({f"{GROUP}/v1beta1"}))),
        kind_of("Custom"),
    ]
    with serve(Api(Group(GROUP, *kinds))) as server:
        yield server


def items(server: InMemoryServer, path: str, accept: str = "application/json") -> Any:
    """Those of a list, and its metadata."""
    found = server.request("GET", path, headers={"Accept": accept})
    listed = decode_yaml(found.body).value if accept == "application/yaml" else found.json()
    return listed["items"], listed["metadata"]


@pytest.mark.parametrize("accept", ["application/json", "application/json;pretty=1", "application/yaml"])
def test_items_of_lists_do_not_say_what_they_are(server: InMemoryServer, accept: str) -> None:
    """As in kube-apiserver, where those of custom resources do."""
    for kind in ("Loose", "Custom"):
        body = {"metadata": {"name": "a"}, "kind": kind, "apiVersion": f"{GROUP}/v1"}
        server.request("POST", f"{V1}/{kind.lower()}s", body=body)
    (item,), metadata = items(server, f"{V1}/looses", accept)
    assert (item.keys(), metadata.keys()) == ({"metadata"}, {"resourceVersion"})
    (item,), metadata = items(server, f"{V1}/customs", accept)
    assert (item.keys(), metadata.keys()) == ({"metadata", "kind", "apiVersion"}, {"resourceVersion", "continue"})


def test_a_version_that_is_read_but_not_served_is_told_apart_from_one_that_nobody_knows(server: InMemoryServer) -> None:
    """As 1.36.3 answers to a CustomResourceDefinition of v1beta1 in a request to v1."""

    def sent(version: str) -> str:
        body = {"metadata": {"name": "a"}, "kind": "Old", "apiVersion": f"{GROUP}/{version}"}
        answer = server.request("POST", f"{V1}/olds", body=body)
        assert answer.status == 400
        message: str = answer.json()["message"]
        return message

    expected = f"does not match the expected API version ({GROUP}/v1)"
    assert sent("v1beta1") == f"the API version in the data ({GROUP}/v1beta1) {expected}"
    assert "is registered for version" in sent("v1alpha1")


def test_a_write_of_a_part_may_change_metadata() -> None:
    """``namespaceStatusStrategy`` and others take over spec alone; that of APIServices, metadata as well."""

    def canonicalize(obj: dict[str, Any]) -> None:
        obj["metadata"]["labels"] = {**obj["metadata"].get("labels", {}), "always": "here"}

    kinds = [
        kind_of("Loose", built_in(canonicalize=canonicalize)),
        kind_of("Strict", built_in(subresource_metadata=False)),
        kind_of("Custom"),
    ]
    merge = {"Content-Type": "application/merge-patch+json"}
    change = {
        "metadata": {"annotations": {"a": "b"}, "labels": {"always": None}, "uid": None},
        "status": {"c": 1},
        "spec": 2,
    }
    shown = {}
    with serve(Api(Group(GROUP, *kinds))) as server:
        for kind in ("Loose", "Strict", "Custom"):
            made = make(server, kind, name="a", labels={"d": "e"}).json()
            path = f"{V1}/{kind.lower()}s/a"
            answer = server.request("PATCH", f"{path}/status", headers=merge, body=change)
            assert answer.status == 200
            found = server.request("GET", path).json()
            assert found == answer.json()
            assert (found["status"], found.get("spec")) == ({"c": 1}, None)
            assert found["metadata"]["uid"] == made["metadata"]["uid"]
            shown[kind] = {name: found["metadata"].get(name) for name in ("annotations", "labels")}
    assert shown["Loose"] == {"annotations": {"a": "b"}, "labels": {"always": "here", "d": "e"}}
    assert shown["Strict"] == shown["Custom"] == {"annotations": None, "labels": {"d": "e"}}


def test_a_kind_is_stored_as_one_that_is_stored() -> None:
    how = StoredAs(group=GROUP, kind="Nothing", write=dict, read=dict)
    with (
        pytest.raises(
            DeclarationError, match=f"kind Loose: is stored as Nothing, which group '{GROUP}' does not store"
        ),
        serve(Api(Group(GROUP, kind_of("Loose", built_in(stored_as=how))))),
    ):
        pass


def make(server: InMemoryServer, kind: str, /, **metadata: Any) -> Any:
    body = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata}
    return server.request("POST", f"{V1}/{kind.lower()}s", body=body)


def put(server: InMemoryServer, kind: str, obj: dict[str, Any], **metadata: Any) -> Any:
    body = {**obj, "metadata": {**obj["metadata"], **metadata}}
    return server.request("PUT", f"{V1}/{kind.lower()}s/{obj['metadata']['name']}", body=body)


def test_an_update_without_a_resource_version_replaces_what_is_there(server: InMemoryServer) -> None:
    made = make(server, "Loose", name="a").json()
    first = put(server, "Loose", {**made, "color": "red"}, resourceVersion="")
    assert first.status == 200
    second = put(server, "Loose", {**made, "color": "blue"}, resourceVersion="0")
    assert second.status == 200
    assert second.json()["color"] == "blue"
    assert int(second.json()["metadata"]["resourceVersion"]) > int(first.json()["metadata"]["resourceVersion"])


def test_a_resource_version_that_is_given_must_be_live(server: InMemoryServer) -> None:
    made = make(server, "Loose", name="a").json()
    put(server, "Loose", {**made, "color": "red"}, resourceVersion="")
    assert put(server, "Loose", made).status == 409


def test_the_status_may_be_replaced_unconditionally_too(server: InMemoryServer) -> None:
    made = make(server, "Loose", name="a").json()
    body = {**made, "status": {"ok": True}, "metadata": {"name": "a"}}
    assert server.request("PUT", f"{V1}/looses/a/status", body=body).json()["status"] == {"ok": True}


@pytest.mark.parametrize("name", ["Strict", "Custom"])
def test_others_must_name_the_revision(server: InMemoryServer, name: str) -> None:
    made = make(server, name, name="a").json()
    answer = put(server, name, made, resourceVersion="")
    assert answer.status == 422
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in failure(answer)["message"]


def test_nothing_is_created_by_an_update(server: InMemoryServer) -> None:
    obj = {"apiVersion": f"{GROUP}/v1", "kind": "Loose", "metadata": {"name": "none"}}
    assert put(server, "Loose", obj).status == 404


def test_generations_are_counted_only_where_the_kind_has_them(server: InMemoryServer) -> None:
    assert "generation" not in make(server, "Loose", name="none").json()["metadata"]
    # kube-apiserver keeps what a client began with, and nothing that comes later.
    loose = make(server, "Loose", name="a", generation=7).json()
    assert loose["metadata"]["generation"] == 7
    changed = put(server, "Loose", {**loose, "color": "red"}, generation=9).json()
    assert changed["metadata"]["generation"] == 7
    strict = make(server, "Strict", name="a").json()
    assert strict["metadata"]["generation"] == 1
    assert put(server, "Strict", {**strict, "color": "red"}).json()["metadata"]["generation"] == 2


def test_names_follow_the_rule_of_the_kind(server: InMemoryServer) -> None:
    # Names of RBAC objects are any segment of a path (registry/rbac: path.ValidatePathSegmentName).
    assert make(server, "Loose", name="system:Node").status == 201
    answer = make(server, "Loose", name="a%b")
    assert failure(answer)["message"] == (
        f'Loose.{GROUP} "a%b" is invalid: metadata.name: Invalid value: "a%b": may not contain \'%\''
    )
    dotted = make(server, "Strict", name="a.b")
    assert "must not contain dots" in failure(dotted)["message"]
    assert make(server, "Custom", name="a.b").status == 201
    assert make(server, "Custom", name="system:Node").status == 422


def test_the_beginning_of_a_name_follows_it_too(server: InMemoryServer) -> None:
    assert make(server, "Strict", generateName="a-").status == 201
    answer = make(server, "Strict", generateName="a.")
    causes = {cause["field"] for cause in failure(answer)["details"]["causes"]}
    assert "metadata.generateName" in causes


def test_a_name_is_checked_as_a_segment_on_update(server: InMemoryServer) -> None:
    made = make(server, "Loose", name="system:Node").json()
    assert put(server, "Loose", {**made, "color": "red"}).status == 200


def test_finalizers_have_to_be_qualified(server: InMemoryServer) -> None:
    # validateKubeFinalizerName of kubernetes/pkg/apis/core/validation; other kinds warn.
    answer = make(server, "Loose", name="a", finalizers=["a.b/c", "orphan", "x"])
    assert failure(answer)["details"]["causes"] == [
        {
            "field": "metadata.finalizers[2]",
            "message": 'Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified',
            "reason": "FieldValueInvalid",
        }
    ]
    assert make(server, "Shown", name="a", finalizers=["x"]).status == 201
    assert make(server, "Custom", name="a", finalizers=["x"]).status == 201


def test_some_kinds_answer_a_deletion_with_the_object(server: InMemoryServer) -> None:
    made = make(server, "Shown", name="a").json()
    answer = server.request("DELETE", f"{V1}/showns/a")
    assert (answer.status, answer.json()["kind"]) == (200, "Shown")
    # The revision is that of the deletion.
    assert int(answer.json()["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
    make(server, "Loose", name="a")
    assert server.request("DELETE", f"{V1}/looses/a").json()["kind"] == "Status"


def test_such_an_answer_is_published(server: InMemoryServer) -> None:
    paths = server.request("GET", f"/openapi/v3/apis/{GROUP}/v1").json()["paths"]
    answers = {
        plural: paths[f"{V1}/{plural}/{{name}}"]["delete"]["responses"]["200"]["content"]["application/json"]["schema"]
        for plural in ("showns", "looses")
    }
    assert answers["showns"]["$ref"].endswith(".Shown")
    assert answers["looses"]["$ref"].endswith(".Status")
    every = paths[f"{V1}/showns"]["delete"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert every["$ref"].endswith(".Status")


@pytest.mark.parametrize(
    ("own", "namespaced", "fields"),
    [
        ((), False, ("metadata.name", "metadata.namespace")),
        ((), True, ("metadata.name", "metadata.namespace")),
        (("status.phase",), False, ("metadata.name",)),
    ],
)
def test_fields_that_selectors_can_name(own: tuple[str, ...], namespaced: bool, fields: tuple[str, ...]) -> None:
    """A kind without fields of its own has the default conversion function, which knows both and says so."""
    selecting = built_in().selecting
    assert selecting.common(own, namespaced=namespaced) == fields
    known = '"spec.size" is not a known field selector: only "metadata.name", "metadata.namespace"'
    assert selecting.refusal("spec.size", (*fields, *own)) == ("field label not supported: spec.size" if own else known)


def test_refusals_name_no_resource() -> None:
    routing = built_in().routing
    assert str(routing.no_subresource("", "namespaces", "a")) == "the server could not find the requested resource"
    assert str(routing.no_verb("", "namespaces", "deletecollection")) == (
        "the server does not allow this method on the requested resource"
    )
    assert list(routing.discovery_order) == sorted(routing.discovery_order)


def test_metadata_that_its_go_type_cannot_hold_is_refused_when_it_is_applied(server: InMemoryServer) -> None:
    """The text is that of kube-apiserver 1.36.3 for a ConfigMap. Of a custom resource such a time is dropped."""
    config = {"apiVersion": f"{GROUP}/v1", "kind": "Loose", "metadata": {"name": "x", "creationTimestamp": "null"}}
    form = {"Content-Type": "application/apply-patch+yaml"}
    refused = server.request("PATCH", f"{V1}/looses/x", {"fieldManager": "me"}, form, config)
    of = f"{GROUP}/v1, Kind=Loose"
    why = (
        f"failed to convert new object (/x; {of}) to proper version: unable to convert unstructured object to {of}: "
        'parsing time "null" as "2006-01-02T15:04:05Z07:00": cannot parse "null" as "2006"'
    )
    assert (refused.status, failure(refused)["message"]) == (500, why)
    made = server.request("PATCH", f"{V1}/customs/x", {"fieldManager": "me"}, form, {**config, "kind": "Custom"})
    assert made.status == 201
