"""Parts of OpenAPI v2 documents, and how they are merged (behaviour D14)."""

from __future__ import annotations

import json

import msgspec

from extapi.controlplane.aggregator.swagger import ServersSwagger, Swagger, merge, part_of
from tests.unit.controlplane.aggregator.cluster import GROUP_VERSION
from tests.unit.controlplane.aggregator.test_openapi import reference, swagger


def decoded(text: bytes) -> Swagger:
    return msgspec.json.decode(text, type=Swagger)


def test_definitions_that_differ_get_another_name_and_those_that_do_not_are_one() -> None:
    one = part_of(swagger(Widget={"a": reference("Part")}, Part={"x": 1, "y": 2}), [GROUP_VERSION])
    merged = Swagger()
    for definitions, path in (
        ({"Widget": {"a": reference("Part")}, "Part": {"y": 2, "x": 1}}, "/p"),
        ({"Widget": {"a": reference("Part")}, "Part": {"x": 3}}, "/q"),
        ({"Widget": {"a": reference("Part")}, "Part": {"x": 4}, "Part_v2": {"x": 3}}, "/r"),
    ):
        paths = {path: {"get": reference("Widget")}}
        merge(merged, decoded(json.dumps({"paths": paths, "definitions": definitions}).encode()))
    assert set(one.definitions) == {"Widget", "Part"}
    got = {name: json.loads(bytes(raw)) for name, raw in merged.definitions.items()}
    assert got["Part"] == {"y": 2, "x": 1}
    assert got["Part_v2"] == {"x": 3}
    assert got["Part_v3"] == {"x": 4}
    assert json.loads(bytes(merged.paths["/p"])) == {"get": reference("Widget")}


def test_what_differs_in_its_kinds_alone_is_the_same_definition() -> None:
    """DeleteOptions names the groups of its server (``deepEqualDefinitionsModuloGVKs`` of kube-openapi)."""
    merged = Swagger()
    for group in ("", "shop.example.com"):
        options = {"type": "object", "x-kubernetes-group-version-kind": [{"group": group, "kind": "DeleteOptions"}]}
        merge(merged, decoded(json.dumps({"paths": {}, "definitions": {"DeleteOptions": options}}).encode()))
    assert list(merged.definitions) == ["DeleteOptions"]


def test_parameters_are_merged_as_definitions_are() -> None:
    def part(name: str, text: str) -> bytes:
        paths = {f"{GROUP_VERSION}/{name}": {"parameters": [{"$ref": "#/parameters/pretty-x"}]}}
        shared = {"pretty-x": {"name": "pretty", "description": text, "in": "body", "schema": reference("Patch")}}
        more = {"unused-x": {"name": "unused", "in": "query"}}
        definitions = {"Patch": {"type": "object"}, "Other": {}}
        return json.dumps({"paths": paths, "parameters": shared | more, "definitions": definitions}).encode()

    own = part_of(part("a", "one"), [GROUP_VERSION])
    assert (set(own.parameters), set(own.definitions)) == ({"pretty-x"}, {"Patch"})
    merged = Swagger()
    for name, text in (("a", "one"), ("b", "one"), ("c", "two")):
        merge(merged, decoded(part(name, text)))
    assert set(merged.parameters) == {"pretty-x", "pretty-x_v2", "unused-x"}
    for name, used in (("a", "pretty-x"), ("b", "pretty-x"), ("c", "pretty-x_v2")):
        item = json.loads(bytes(merged.paths[f"{GROUP_VERSION}/{name}"]))
        assert item == {"parameters": [{"$ref": f"#/parameters/{used}"}]}


def test_a_definition_that_was_renamed_for_one_part_is_there_for_the_next() -> None:
    """Servers share the definitions of meta/v1, which differ from the control plane's in one release or another."""
    merged = Swagger(definitions={"Meta": msgspec.Raw(b'{"type":"string"}')})
    for path in ("/p", "/q"):
        paths = {path: {"get": reference("Meta")}}
        merge(merged, decoded(json.dumps({"paths": paths, "definitions": {"Meta": {"type": "object"}}}).encode()))
    assert list(merged.definitions) == ["Meta", "Meta_v2"]
    for path in ("/p", "/q"):
        assert json.loads(bytes(merged.paths[path])) == {"get": reference("Meta_v2")}


def test_a_part_is_of_whole_group_versions() -> None:
    paths: dict[str, object] = {
        path: {}
        for path in (
            "/apis/a/v1",
            "/apis/a/v1/x",
            "/apis/a/v1/x/{name}/y",
            "/apis/a/v11/x",
            "/apis/ab/v1/x",
            "/api/v1/x",
            "/",
        )
    }
    kept = ServersSwagger(json.dumps({"paths": paths}).encode(), "")
    assert list(kept.part({"/apis/a/v1"}).paths) == ["/apis/a/v1/x", "/apis/a/v1/x/{name}/y"]
    assert list(kept.part({"/api/v1", "/apis/ab/v1"}).paths) == ["/apis/ab/v1/x", "/api/v1/x"]
