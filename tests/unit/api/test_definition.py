from __future__ import annotations

from typing import Any

import pytest

from extapi.api.column import Column
from extapi.api.connect import ConnectRequest, StreamingResponse
from extapi.api.definition import CLUSTER, Api, Group, Kind, Version
from extapi.api.markers import ListMap, Marker, Minimum
from extapi.api.protocols import RESTRequest
from extapi.api.subresource import Subresource
from extapi.api.types import Object
from extapi.api.versions import by_priority
from extapi.schema.openapi.meta import META, meta_schemas


class Hub(Object):
    size: int = 0


class Old(Object):
    size: int = 0


class Plugin:
    async def validate(self, review: Any) -> None:
        """No opinion."""


V1 = {"v1": Version(Object)}


def kind(name: str = "Probe", **given: Any) -> Kind:
    return Kind(name, **{"versions": V1, "storage": "v1", **given})


def same(obj: Any) -> Any:
    return obj


@pytest.mark.parametrize(
    ("name", "singular", "plural"),
    [("Probe", "probe", "probes"), ("Ingress", "ingress", "ingresses"), ("Policy", "policy", "policies")],
)
def test_names_are_derived_as_kubernetes_does(name: str, singular: str, plural: str) -> None:
    made = kind(name)
    assert (made.singular, made.plural, made.list_kind) == (singular, plural, f"{name}List")
    own = kind(name, singular="one", plural="many", list_kind="Many")
    assert (own.singular, own.plural, own.list_kind) == ("one", "many", "Many")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"name": "probe"}, "kind probe: the name must be in CamelCase and start with a capital letter"),
        ({"plural": "Probes"}, "kind Probe: 'Probes' is not a lower-case DNS label"),
        ({"short_names": ["a.b"]}, "kind Probe: 'a.b' is not a lower-case DNS label"),
        ({"categories": ["A"]}, "kind Probe: 'A' is not a lower-case DNS label"),
        ({"list_kind": "Probe"}, "kind Probe: kind and list kind may not be the same"),
        ({"versions": {}}, "kind Probe: has no versions\nkind Probe: storage version 'v1' is none of "),
        ({"storage": "v2"}, "kind Probe: storage version 'v2' is none of v1"),
        (
            {"versions": {"V1": Version(Object)}, "storage": "V1"},
            "kind Probe: version 'V1' is not a lower-case DNS label",
        ),
        ({"hub": Hub}, "kind Probe: version v1 needs to_hub and from_hub, since the kind has a hub type"),
        (
            {"versions": {"v1": Version(Object, to_hub=same)}},
            "kind Probe: version v1 has to_hub or from_hub, but the kind has no hub type",
        ),
        (
            {"versions": {"v1": Version(Object, served=False)}},
            "kind Probe: none of its versions is served; remove the kind from its group instead",
        ),
        (
            {"versions": {"v1": Version(Object, selectable=[".spec[0]"])}},
            "kind Probe: selectable '.spec[0]' must be a path of names such as .spec.color, outside metadata",
        ),
        ({"columns": [Column("A")]}, "kind Probe: column A: needs either json_path or cell"),
        ({"columns": [Column("A", ".a", cell=len)]}, "kind Probe: column A: needs either json_path or cell"),
        (
            {"columns": [Column("A", ".a", "date-time")]},
            "kind Probe: column A: type must be one of boolean,date,integer,number,string",
        ),
    ],
)
def test_mistakes_in_kinds_are_named(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=r"^kind") as caught:
        kind(**given)
    assert str(caught.value) == problem


def test_a_version_of_the_hub_type_needs_no_converters() -> None:
    assert kind(hub=Hub, versions={"v1": Version(Hub), "v1beta1": Version(Old, to_hub=same, from_hub=same)}).hub is Hub


def test_columns_of_a_version_the_kind_or_an_age() -> None:
    mine, ours = Column("Mine", ".a"), Column("Ours", ".b")
    versions = {"v1": Version(Object), "v2": Version(Object, columns=[mine])}
    assert kind(versions=versions, columns=[ours]).columns_of("v1") == [ours]
    assert kind(versions=versions, columns=[ours]).columns_of("v2") == [mine]
    (age,) = kind().columns_of("v1")
    assert (age.name, age.json_path, age.type) == ("Age", ".metadata.creationTimestamp", "date")
    # As 1.36.3 describes it, and creationTimestamp in the schema of metadata.
    assert age.description == meta_schemas()[f"{META}ObjectMeta"]["properties"]["creationTimestamp"]["description"]


def test_selectable_fields_of_a_version_or_the_kind() -> None:
    versions = {
        "v1": Version(Object),
        "v2": Version(Object, selectable=[".a.dash-ed"]),
        "v3": Version(Object, selectable=[]),
    }
    made = kind(versions=versions, selectable=[".b"])
    assert [list(made.selectable_of(name)) for name in versions] == [[".b"], [".a.dash-ed"], []]


def test_versions_that_are_not_served_are_of_no_group() -> None:
    made = kind(versions={"v2": Version(Object, served=False), "v1": Version(Object), "v1beta1": Version(Object)})
    assert made.served_versions() == ["v1", "v1beta1"]
    assert Group("example.com", made).versions_by_priority() == ["v1", "v1beta1"]
    with pytest.raises(ValueError, match=r"^group example\.com: preferred version 'v2' is none of v1, v1beta1$"):
        Group("example.com", made, preferred="v2")


def test_versions_are_in_kube_order_unless_one_is_preferred() -> None:
    # The example of the Kubernetes documentation on version priority.
    order = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
    assert by_priority(reversed(order)) == order
    made = kind(versions={"v1alpha1": Version(Object), "v1": Version(Object), "v2": Version(Object)})
    assert Group("example.com", made).preferred == "v2"
    assert Group("example.com", made).versions_by_priority() == ["v2", "v1", "v1alpha1"]
    assert Group("example.com", made, preferred="v1").versions_by_priority() == ["v1", "v2", "v1alpha1"]


@pytest.mark.parametrize(
    ("name", "kinds", "preferred", "problem"),
    [
        ("example", [kind()], "", "group 'example': must be a DNS subdomain with at least one dot"),
        ("Example.com", [kind()], "", "group 'Example.com': must be a DNS subdomain with at least one dot"),
        ("example.com", [], "", "group example.com: has no kinds"),
        ("example.com", [kind(), kind(plural="others")], "", "group example.com: kind Probe occurs twice"),
        (
            "example.com",
            [kind(), kind("Other", plural="probes")],
            "",
            "group example.com: resource probes occurs twice",
        ),
        ("example.com", [kind()], "v9", "group example.com: preferred version 'v9' is none of v1"),
    ],
)
def test_mistakes_in_groups_are_named(name: str, kinds: list[Kind], preferred: str, problem: str) -> None:
    with pytest.raises(ValueError, match=r"^group") as caught:
        Group(name, *kinds, preferred=preferred)
    assert str(caught.value) == problem


def test_apis_hold_groups_that_differ() -> None:
    group = Group("example.com", kind("Node", scope=CLUSTER))
    plugin = Plugin()
    api = Api(group, Group("other.example.com", kind()), admission=[plugin])
    assert [each.name for each in api.groups] == ["example.com", "other.example.com"]
    assert list(api.admission) == [plugin]
    with pytest.raises(ValueError, match=r"^group example\.com occurs twice$"):
        Api(group, group)
    assert Api().groups == ()


def test_markers_are_told_from_other_annotations() -> None:
    assert isinstance(Minimum(1), Marker)
    assert ListMap("name", "port").keys == ("name", "port")
    assert Minimum(1) == Minimum(1)
    assert Minimum(1) != Minimum(1, exclusive=True)


class Answers:
    async def create(self, request: RESTRequest, obj: object) -> object:
        return obj


async def connecter(request: ConnectRequest) -> StreamingResponse:
    del request
    return StreamingResponse()


@pytest.mark.parametrize(
    ("subresources", "problem"),
    [
        ({"Seal": Subresource(field="seal")}, "subresource 'Seal' is not a lower-case DNS label"),
        (
            {"status": Subresource(field="state")},
            "subresource status occurs twice; a kind that declares its own needs status=False",
        ),
        ({"seal": Subresource()}, "subresource seal needs either field, rest or connects"),
        (
            {"seal": Subresource(field="metadata")},
            "subresource seal cannot be for metadata, which belongs to the server",
        ),
        (
            {"seal": Subresource(field="seal", rest=Answers())},
            "subresource seal needs either field, rest or connects",
        ),
        ({"seal": Subresource(rest=Answers(), kind="Seal")}, "subresource seal needs the type of Seal"),
        (
            {"seal": Subresource(field="seal", connects=connecter)},
            "subresource seal needs either field, rest or connects",
        ),
        (
            {"seal": Subresource(connects=connecter, methods=["GET", "TRACE"])},
            "subresource seal: methods must be some of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
        ),
        (
            {"seal": Subresource(connects=connecter, methods=[])},
            "subresource seal: methods must be some of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
        ),
    ],
)
def test_mistakes_in_subresources_are_named(subresources: dict[str, Subresource], problem: str) -> None:
    with pytest.raises(ValueError, match=r"^kind Probe: ") as caught:
        kind(subresources=subresources)
    assert str(caught.value) == f"kind Probe: {problem}"


def test_subresources_without_mistakes_are_taken() -> None:
    made = kind(
        subresources={
            "seal": Subresource(field="seal"),
            "ask": Subresource(rest=Answers()),
            "log": Subresource(connects=connecter),
        }
    )
    assert list(made.subresources) == ["seal", "ask", "log"]


@pytest.mark.parametrize("path", ["spec.color", ".spec..color", ".spec.colors[0]", ".metadata.name", ""])
def test_what_is_no_path_is_not_selectable(path: str) -> None:
    with pytest.raises(ValueError, match=r"^kind Probe: selectable ") as caught:
        kind(selectable=[path])
    assert repr(path) in str(caught.value)
