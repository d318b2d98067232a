"""Tables, metadata, YAML and the rest of what Accept may ask for: behaviour G1 to G8, J44, J46."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.codec.protobufmeta import partial_bytes
from extapi.codec.strictyaml import decode as decode_yaml
from extapi.controlplane.builtin.protobuf import unwrap
from tests.unit.verbs.sample import CURSED, GROUP, WIDGETS, Shop, failure, shelf, widget

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIALS = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def accept(value: str) -> dict[str, str]:
    return {"Accept": value}


def test_a_table_of_a_list(shop_served: Shop) -> None:
    """Behaviour G4, J44."""
    created = shop_served.create(spec={"size": 5})
    shop_served.advance(300)
    answer = shop_served.request("GET", WIDGETS, headers=accept(TABLE))
    assert answer.headers["content-type"] == "application/json"
    assert answer.body.endswith(b"}\n")
    table = answer.json()
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert table["metadata"] == {"resourceVersion": created["metadata"]["resourceVersion"]}
    assert [(c["name"], c["type"]) for c in table["columnDefinitions"]] == [
        ("Name", "string"),
        ("Size", "integer"),
        ("Age", "date"),
    ]
    (row,) = table["rows"]
    assert row["cells"] == ["w", 5, "5m"]
    assert row["object"] == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": created["metadata"],
    }


def test_a_table_of_a_page(shop_served: Shop) -> None:
    for name in "abc":
        shop_served.create(name)
    table = shop_served.request("GET", WIDGETS, {"limit": "2"}, accept(TABLE)).json()
    assert table["metadata"]["remainingItemCount"] == 1
    assert table["metadata"]["continue"]


def test_a_table_of_an_empty_list(shop_served: Shop) -> None:
    table = shop_served.request("GET", WIDGETS, headers=accept(TABLE)).json()
    assert table["rows"] == []
    assert len(table["columnDefinitions"]) == 3


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_table_of_each_version(shop_served: Shop, version: str) -> None:
    shop_served.create()
    table = shop_served.request("GET", WIDGETS, headers=accept(TABLE.replace("v=v1", f"v={version}"))).json()
    assert table["apiVersion"] == f"meta.k8s.io/{version}"
    assert table["rows"][0]["object"]["apiVersion"] == f"meta.k8s.io/{version}"


@pytest.mark.parametrize(
    ("include", "kind"), [("None", None), ("Metadata", "PartialObjectMetadata"), ("Object", "Widget")]
)
def test_what_rows_carry(shop_served: Shop, include: str, kind: str | None) -> None:
    """Behaviour G4."""
    shop_served.create()
    table = shop_served.request("GET", WIDGETS, {"includeObject": include}, accept(TABLE)).json()
    carried = table["rows"][0]["object"]
    assert carried is None if kind is None else carried["kind"] == kind


def test_rows_cannot_carry_anything_else(shop_served: Shop) -> None:
    """Behaviour G4."""
    shop_served.create()
    answer = shop_served.request("GET", WIDGETS, {"includeObject": "x"}, accept(TABLE))
    assert answer.status == 400
    assert failure(answer)["message"] == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "x": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )


def test_a_write_that_asks_for_such_rows_writes_nothing(shop_served: Shop) -> None:
    """kube-apiserver finds it out when it has written; here what is refused changes nothing."""
    created = shop_served.create()
    query, headers = {"includeObject": "x"}, accept(TABLE)
    assert shop_served.request("POST", WIDGETS, query, headers, widget("other")).status == 400
    assert shop_served.request("PUT", f"{WIDGETS}/w", query, headers, {**created, "spec": {"size": 7}}).status == 400
    merge = {**headers, "Content-Type": "application/merge-patch+json"}
    assert shop_served.request("PATCH", f"{WIDGETS}/w", query, merge, {"spec": {"size": 7}}).status == 400
    assert shop_served.request("DELETE", f"{WIDGETS}/w", query, headers).status == 400
    assert shop_served.request("DELETE", WIDGETS, query, headers).status == 400
    assert shop_served.request("GET", WIDGETS).json()["items"] == [created]


def test_writes_answer_tables_too(shop_served: Shop) -> None:
    """Behaviour G4; a Status stays one."""
    created = shop_served.request("POST", WIDGETS, headers=accept(TABLE), body=widget())
    assert created.status == 201
    table = created.json()
    assert table["rows"][0]["cells"] == ["w", 1, "0s"]
    assert table["metadata"]["resourceVersion"] == shop_served.get()["metadata"]["resourceVersion"]
    dry = shop_served.request("POST", WIDGETS, {"dryRun": "All"}, accept(TABLE), widget("x")).json()
    assert "resourceVersion" not in dry["metadata"]
    assert shop_served.request("DELETE", f"{WIDGETS}/w", headers=accept(TABLE)).json()["kind"] == "Status"


def test_a_table_in_yaml(shop_served: Shop) -> None:
    shop_served.create()
    answer = shop_served.request("GET", f"{WIDGETS}/w", headers=accept(TABLE.replace("json", "yaml")))
    assert answer.headers["content-type"] == "application/yaml"
    assert decode_yaml(answer.body).value["kind"] == "Table"


def test_a_kind_without_columns_has_an_age(shop_served: Shop) -> None:
    """Behaviour J44."""
    path = f"/apis/{GROUP}/v1/shelves"
    shop_served.request("POST", path, body=shelf())
    table = shop_served.request("GET", f"{path}/s", headers=accept(TABLE)).json()
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Age"]


def test_the_metadata_of_an_object(shop_served: Shop) -> None:
    """Behaviour G6."""
    created = shop_served.create()
    assert shop_served.request("GET", f"{WIDGETS}/w", headers=accept(PARTIAL)).json() == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": created["metadata"],
    }


def test_the_metadata_of_a_list(shop_served: Shop) -> None:
    """Behaviour G6."""
    created = shop_served.create()
    listed = shop_served.request("GET", WIDGETS, headers=accept(PARTIALS)).json()
    assert listed["kind"] == "PartialObjectMetadataList"
    assert listed["apiVersion"] == "meta.k8s.io/v1"
    assert listed["metadata"] == {"resourceVersion": created["metadata"]["resourceVersion"]}
    assert [item["metadata"] for item in listed["items"]] == [created["metadata"]]


def test_the_wrong_one_of_the_two_is_406(shop_served: Shop) -> None:
    """Behaviour G6; errors under ``as`` are always indented JSON (observed on 1.36.3)."""
    shop_served.create()
    one = shop_served.request("GET", f"{WIDGETS}/w", headers=accept(PARTIALS))
    assert one.status == 406
    assert failure(one)["message"].startswith(
        "you requested PartialObjectMetadataList, but the requested object is not a list ("
    )
    many = shop_served.request("GET", WIDGETS, headers=accept(PARTIAL))
    assert many.status == 406
    assert failure(many)["message"].startswith(
        "you requested PartialObjectMetadata, but the requested object is a list ("
    )
    assert many.body.startswith(b"{\n  ")


def test_yaml(shop_served: Shop) -> None:
    created = shop_served.create()
    one = shop_served.request("GET", f"{WIDGETS}/w", headers=accept("application/yaml"))
    assert one.headers["content-type"] == "application/yaml"
    assert decode_yaml(one.body).value == created
    many = shop_served.request("GET", WIDGETS, headers=accept("application/yaml"))
    assert decode_yaml(many.body).value["items"] == [created]
    gone = shop_served.request("DELETE", f"{WIDGETS}/w", headers=accept("application/yaml"))
    assert decode_yaml(gone.body).value["status"] == "Success"


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ({"pretty": "true"}, {}),
        ({}, {"User-Agent": "curl/8"}),
        ({}, {"User-Agent": "Mozilla/5.0 (X11)"}),
        ({}, {"Accept": "application/json;pretty=1"}),
    ],
)
def test_indented_for_humans(shop_served: Shop, query: dict[str, str], headers: dict[str, str]) -> None:
    """Behaviour G7."""
    created = shop_served.create()
    for path, kind in ((WIDGETS, "WidgetList"), (f"{WIDGETS}/w", "Widget")):
        answer = shop_served.request("GET", path, query, headers)
        assert answer.body.startswith(b"{\n  ")
        assert answer.json()["kind"] == kind
    table = shop_served.request("GET", WIDGETS, {"pretty": "1"}, accept(TABLE))
    assert table.body.startswith(b"{\n  ")
    assert created == shop_served.request("GET", f"{WIDGETS}/w", query, headers).json()


def test_not_indented_where_that_is_asked_for(shop_served: Shop) -> None:
    """Behaviour G7: the parameter wins, and garbage is false."""
    shop_served.create()
    for value in ("false", "x"):
        answer = shop_served.request("GET", f"{WIDGETS}/w", {"pretty": value}, {"User-Agent": "curl/8"})
        assert answer.body.startswith(b'{"')


@pytest.mark.parametrize(
    ("value", "content_type"),
    [
        ("application/vnd.kubernetes.protobuf,application/json", "application/json"),
        ("application/vnd.kubernetes.protobuf, */*;q=0.1", "application/json"),
        ("application/yaml,application/json", "application/yaml"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
    ],
)
def test_the_first_form_that_there_is_wins(shop_served: Shop, value: str, content_type: str) -> None:
    """Behaviour G1, J46."""
    shop_served.create()
    answer = shop_served.request("GET", f"{WIDGETS}/w", headers=accept(value))
    assert answer.status == 200
    assert answer.headers["content-type"] == content_type


def test_a_transform_that_is_not_known_is_skipped(shop_served: Shop) -> None:
    """Behaviour G3."""
    shop_served.create()
    value = "application/json;as=Tabular;v=v1;g=meta.k8s.io,application/json"
    assert shop_served.request("GET", f"{WIDGETS}/w", headers=accept(value)).json()["kind"] == "Widget"


@pytest.mark.parametrize("value", ["text/html", "APPLICATION/JSON"])
@pytest.mark.parametrize("path", [WIDGETS, f"{WIDGETS}/w"])
def test_no_form_that_there_is_is_406(shop_served: Shop, path: str, value: str) -> None:
    """Behaviour G2."""
    answer = shop_served.request("GET", path, headers=accept(value))
    assert answer.status == 406
    assert answer.headers["content-type"] == "application/json"
    assert answer.body.startswith(b"{\n  ")
    assert failure(answer) == {
        "message": "only the following media types are accepted: application/json, application/yaml",
        "reason": "NotAcceptable",
    }


def test_errors_are_in_the_form_asked_for(shop_served: Shop) -> None:
    """Behaviour E8."""
    answer = shop_served.request("GET", f"{WIDGETS}/x", headers=accept("application/yaml"))
    assert answer.headers["content-type"] == "application/yaml"
    assert decode_yaml(answer.body).value["reason"] == "NotFound"
    assert shop_served.request("GET", f"{WIDGETS}/x").body.startswith(b'{"')
    assert shop_served.request("GET", f"{WIDGETS}/x", {"pretty": "true"}).body.startswith(b"{\n  ")


# An author's mistake: a converter that raises


def test_an_object_that_cannot_be_converted_is_500_for_who_asks_for_it(shop_served: Shop) -> None:
    """Only the version that it cannot be converted to is affected."""
    shop_served.create("good")
    shop_served.create("cursed", spec={"size": CURSED})
    alphas = WIDGETS.replace("v1", "v1alpha1")
    assert shop_served.get("cursed")["spec"]["size"] == CURSED
    assert len(shop_served.request("GET", WIDGETS).json()["items"]) == 2
    assert shop_served.request("GET", f"{alphas}/good").status == 200
    expected: dict[str, Any] = {
        "message": "Internal error occurred: conversion of Widget failed at shop.example.com/v1alpha1: "
        "from_hub raised RuntimeError",
        "reason": "InternalError",
    }
    for path in (f"{alphas}/cursed", alphas):
        answer = shop_served.request("GET", path)
        assert answer.status == 500
        status = failure(answer)
        assert {key: status[key] for key in expected} == expected
    assert shop_served.request("DELETE", f"{WIDGETS}/cursed").status == 200
    assert shop_served.request("GET", alphas).status == 200


def test_who_could_not_read_the_answer_writes_nothing(shop_served: Shop) -> None:
    """A deviation: kube-apiserver finds out after the write that it has no list to show (observed on 1.36.3)."""
    assert shop_served.request("POST", WIDGETS, headers=accept(PARTIALS), body=widget()).status == 406
    assert shop_served.request("GET", f"{WIDGETS}/w").status == 404


PROTOBUF = "application/vnd.kubernetes.protobuf"
META = "as={};v=v1;g=meta.k8s.io"


def test_metadata_of_every_kind_is_there_in_protobuf(shop_served: Shop) -> None:
    """Behaviour G6; the metadata client prefers it (observed on 1.36.3 for custom resources)."""
    made = shop_served.create()
    answer = shop_served.request(
        "GET", f"{WIDGETS}/w", headers=accept(f"{PROTOBUF};{META.format('PartialObjectMetadata')}")
    )
    assert (answer.status, answer.headers["content-type"]) == (200, PROTOBUF)
    assert answer.body == partial_bytes(made)
    one = f"{PROTOBUF};{META.format('PartialObjectMetadataList')},application/json"
    answer = shop_served.request("GET", WIDGETS, headers=accept(one))
    assert answer.headers["content-type"] == PROTOBUF
    assert unwrap(answer.body)[:2] == ("meta.k8s.io/v1", "PartialObjectMetadataList")
    assert partial_bytes(made).removesuffix(b'\x1a\x00"\x00')[-60:] in answer.body


def test_a_status_in_protobuf(shop_served: Shop) -> None:
    """Behaviour E8: of an error, and of a success, whatever the kind."""
    for path, code in ((f"{WIDGETS}/none", 404), ("/apis/none.example.com/v1/things", 404)):
        answer = shop_served.request("GET", path, headers=accept(f"{PROTOBUF},application/json"))
        assert (answer.status, answer.headers["content-type"]) == (code, PROTOBUF)
        assert unwrap(answer.body)[:2] == ("v1", "Status")
    shop_served.create()
    metadata = f"{PROTOBUF};{META.format('PartialObjectMetadata')}"
    answer = shop_served.request("DELETE", f"{WIDGETS}/w", headers=accept(metadata))
    assert (answer.status, unwrap(answer.body)[:2]) == (200, ("v1", "Status"))


def test_a_whole_object_in_protobuf_is_406(shop_served: Shop) -> None:
    """Behaviour G2: the refusal, which is itself in protobuf, does not name what it refuses."""
    shop_served.create()
    answer = shop_served.request("GET", f"{WIDGETS}/w", headers=accept(PROTOBUF))
    assert (answer.status, answer.headers["content-type"]) == (406, PROTOBUF)
    assert b'only the following media types are accepted: application/json, application/yaml"' in answer.body


def test_discovery_in_protobuf(shop_served: Shop) -> None:
    aggregated = f"{PROTOBUF};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    for path, value, kind in (
        ("/apis", PROTOBUF, "APIGroupList"),
        ("/apis", aggregated, "APIGroupDiscoveryList"),
        ("/apis/shop.example.com", PROTOBUF, "APIGroup"),
        ("/apis/shop.example.com/v1", PROTOBUF, "APIResourceList"),
    ):
        answer = shop_served.request("GET", path, headers=accept(value))
        assert (answer.status, answer.headers["content-type"], unwrap(answer.body)[1]) == (200, value, kind)
