"""Field selectors on fields of the kind: ``selectableFields`` of custom resources, and those of Kubernetes' own kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from extapi import CLUSTER, Group, Kind, Object, Struct, Version
from extapi.api.declaration import DeclarationError
from extapi.api.definition import Api
from extapi.controlplane.builtin.behaviour import built_in
from extapi.registry.served import ServedKind
from extapi.testing import InMemoryServer, serve
from tests.unit.verbs.sample import failure

GROUP = "cars.example.com"
CARS = f"/apis/{GROUP}/v1/namespaces/default/cars"
ALPHAS = f"/apis/{GROUP}/v1alpha1/namespaces/default/cars"
MERGE = {"Content-Type": "application/merge-patch+json"}
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class Engine(Struct):
    electric: bool = False
    power: int | None = None


class CarSpec(Struct):
    color: str = ""
    engine: Engine | None = None


class Car(Object):
    spec: CarSpec = CarSpec()


class AlphaCar(Object):
    spec: CarSpec = CarSpec()


def to_car(alpha: AlphaCar) -> Car:
    return Car(spec=CarSpec(color=alpha.spec.color.removeprefix("alpha-"), engine=alpha.spec.engine))


def from_car(car: Car) -> AlphaCar:
    if car.spec.color == "broken":
        raise RuntimeError("the author's mistake")
    return AlphaCar(spec=CarSpec(color=f"alpha-{car.spec.color}", engine=car.spec.engine))


PATHS = [".spec.color", ".spec.engine.electric", ".spec.engine.power"]


@pytest.fixture
def server() -> Iterator[InMemoryServer]:
    car = Kind(
        "Car",
        storage="v1",
        hub=Car,
        versions={"v1": Version(Car), "v1alpha1": Version(AlphaCar, to_hub=to_car, from_hub=from_car)},
        selectable=PATHS,
    )
    kinds = [
        car,
        Kind("Plain", storage="v1", scope=CLUSTER, versions={"v1": Version(FREE)}),
        Kind("Own", storage="v1", scope=CLUSTER, versions={"v1": Version(FREE)}, behaviour=built_in()),
    ]
    with serve(Api(Group(GROUP, *kinds))) as server:
        for name, spec in {
            "a": {"color": "red", "engine": {"electric": True, "power": 70}},
            "b": {"color": "blue", "engine": {}},
            "c": {},
        }.items():
            make(server, name, spec)
        yield server


def make(server: InMemoryServer, name: str, spec: Any) -> None:
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Car", "metadata": {"name": name}, "spec": spec}
    assert server.request("POST", CARS, body=body).status == 201


def found(server: InMemoryServer, selector: str, path: str = CARS, **query: str) -> list[str]:
    answer = server.request("GET", path, {"fieldSelector": selector, **query})
    assert answer.status == 200, answer
    return [item["metadata"]["name"] for item in answer.json()["items"]]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("spec.color=red", ["a"]),
        ("spec.color!=red", ["b", "c"]),
        ("spec.color=", ["c"]),
        ("spec.engine.electric=true", ["a"]),
        ("spec.engine.electric=false", ["b"]),  # the default is the value
        ("spec.engine.electric=", ["c"]),  # what is missing is empty
        ("spec.engine.power=70", ["a"]),
        ("spec.color=blue,metadata.name=b", ["b"]),
        ("spec.color=blue,metadata.name=a", []),
        ("spec.color=blue,metadata.namespace=default", ["b"]),
    ],
)
def test_a_list_shows_what_matches(server: InMemoryServer, selector: str, names: list[str]) -> None:
    assert found(server, selector) == names
    assert found(server, selector, f"/apis/{GROUP}/v1/cars") == names


def test_values_are_those_of_the_version_of_the_request(server: InMemoryServer) -> None:
    assert found(server, "spec.color=alpha-red", ALPHAS) == ["a"]
    assert found(server, "spec.color=red", ALPHAS) == []


def test_a_version_may_have_fields_of_its_own() -> None:
    """``selectableFields`` of a version of a CRD: others are refused there, and known in the other version."""
    dashed = {"type": "object", "properties": {"dash-ed": {"type": "string"}, "plain": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": dashed}}
    versions = {
        "v1": Version(schema),
        "v2": Version(schema, selectable=[".spec.dash-ed"]),
        "v3": Version(schema, selectable=[]),
    }
    with serve(Api(Group(GROUP, Kind("Car", storage="v1", versions=versions, selectable=[".spec.plain"])))) as server:
        make(server, "a", {"dash-ed": "x", "plain": "y"})
        make(server, "b", {"dash-ed": "y", "plain": "x"})
        newer, newest = CARS.replace("/v1/", "/v2/"), CARS.replace("/v1/", "/v3/")
        assert found(server, "spec.plain=y") == found(server, "spec.dash-ed=x", newer) == ["a"]
        for path, selector in ((CARS, "spec.dash-ed=x"), (newer, "spec.plain=y"), (newest, "spec.plain=y")):
            refused = failure(server.request("GET", path, {"fieldSelector": selector}))
            assert refused["message"] == f"field label not supported: {selector.partition('=')[0]}"
        watch = server.watch(newer, {"watch": "true", "fieldSelector": "spec.dash-ed=y"})
        server.advance(1)
        assert [obj["metadata"]["name"] for _, obj in watch.events] == ["b"]


def test_pages_and_old_revisions_are_selected_too(server: InMemoryServer) -> None:
    before = server.request("GET", CARS).json()["metadata"]["resourceVersion"]
    server.request("PATCH", f"{CARS}/b", {}, MERGE, {"spec": {"color": "red"}})
    assert found(server, "spec.color=red") == ["a", "b"]
    assert found(server, "spec.color=red", limit="1") == ["a"]
    assert found(server, "spec.color=red", resourceVersion=before, resourceVersionMatch="Exact") == ["a"]


def test_a_watch_tells_when_an_object_begins_and_ceases_to_match(server: InMemoryServer) -> None:
    watch = server.watch(CARS, {"watch": "true", "fieldSelector": "spec.color=red"})
    other = server.watch(ALPHAS, {"watch": "true", "fieldSelector": "spec.color=alpha-red"})
    for turn, color in enumerate(("green", "red", "red", "blue")):
        patch = {"spec": {"color": color}, "metadata": {"labels": {"n": str(turn)}}}
        server.request("PATCH", f"{CARS}/c", {}, MERGE, patch)
        server.advance(1)
    server.request("DELETE", f"{CARS}/a")
    server.advance(1)
    seen = [(kind, obj["metadata"]["name"], obj["spec"]["color"]) for kind, obj in watch.events]
    assert seen == [
        ("ADDED", "a", "red"),
        ("ADDED", "c", "red"),
        ("MODIFIED", "c", "red"),
        ("DELETED", "c", "red"),
        ("DELETED", "a", "red"),
    ]
    assert [kind for kind, _ in other.events] == [kind for kind, _ in watch.events]


def test_a_collection_is_deleted_by_its_fields(server: InMemoryServer) -> None:
    assert server.request("DELETE", CARS, {"fieldSelector": "spec.color=red"}).status == 200
    assert found(server, "") == ["b", "c"]


def test_an_object_that_cannot_be_shown_is_an_error_where_its_fields_are_asked_for(server: InMemoryServer) -> None:
    make(server, "d", {"color": "broken"})
    assert server.request("GET", ALPHAS, {"fieldSelector": "spec.color=alpha-red"}).status == 500
    assert found(server, "spec.color=broken") == ["d"]


def test_other_fields_are_not_supported(server: InMemoryServer) -> None:
    for query in ({}, {"watch": "true"}):
        answer = server.request("GET", CARS, {"fieldSelector": "spec.wheels=4", **query})
        assert answer.status == 400
        assert failure(answer)["message"] == "field label not supported: spec.wheels"


def test_kinds_without_fields_of_their_own_have_the_common_ones(server: InMemoryServer) -> None:
    plain, own = (f"/apis/{GROUP}/v1/{plural}" for plural in ("plains", "owns"))

    def message(path: str, selector: str) -> str:
        text: str = failure(server.request("GET", path, {"fieldSelector": selector}))["message"]
        return text

    assert message(plain, "metadata.namespace=x") == "field label not supported: metadata.namespace"
    # 1.36.3, of clusterroles and configmaps: other words, and the namespace may be asked for in the cluster's scope too.
    assert message(own, "spec.x=1") == (
        '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"'
    )
    assert found(server, "metadata.namespace=x", own) == []


# -- mistakes of authors


@pytest.mark.parametrize(
    "path", ["spec.color", ".spec..color", ".spec.colors[0]", ".spec.color.", ".metadata.name", "."]
)
def test_a_path_that_is_none_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"kind Car: selectable '.*' must be a path of names such as \.spec\.color"):
        Kind("Car", storage="v1", versions={"v1": Version(Car)}, selectable=[path])


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (".spec.wheels", "there is no 'wheels' beside color, engine"),
        (".spec.colour", "there is no 'colour'; did you mean 'color'?"),
        (".spec.color.shade", "there is no 'shade'"),
        (".spec.engine", "its type is none of boolean, integer, string"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(path: str, why: str) -> None:
    kind = Kind("Car", storage="v1", versions={"v1": Version(Car)}, selectable=[path])
    with pytest.raises(DeclarationError) as caught:
        ServedKind(kind, GROUP)
    assert str(caught.value) == f"kind Car: version v1: selectable {path}: {why}"
