"""Where the README of the example says that it differs from sample-apiserver, it does as it says.

What sample-apiserver 0.36.3 answered to the same stands beside each request.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.docs.samples import ROOT
from tests.unit.wardle.nursery import ALPHA, BETA, FISCHERS, GROUP, MERGE, Nursery, warnings

PROTOBUF = "application/vnd.kubernetes.protobuf"
BOTH = {"flunderReference": "x", "fischerReference": "y", "referenceType": "Flunder"}


def test_updates_are_validated(nursery: Nursery) -> None:
    """200, and all but ``{"flunderReference": "x", "referenceType": "Flunder"}`` was dropped; 200, and nothing was left."""
    created = nursery.create(BETA, "a", {"flunderReference": "x", "referenceType": "Flunder"})
    metadata = {"name": "a", "resourceVersion": created.json()["metadata"]["resourceVersion"]}
    assert nursery.send("PUT", f"{BETA}/a", {"metadata": metadata, "spec": BOTH}).status == 422
    assert nursery.send("PATCH", f"{BETA}/a", {"spec": {"referenceType": "Foo"}}, form=MERGE).status == 422
    assert nursery.send("GET", f"{BETA}/a").json()["spec"] == created.json()["spec"]


def test_the_old_reference_set_to_null_makes_room_for_another(nursery: Nursery) -> None:
    nursery.create(BETA, "a", {"flunderReference": "x", "referenceType": "Flunder"})
    patch = {"spec": {"flunderReference": None, "fischerReference": "y", "referenceType": "Fischer"}}
    assert nursery.send("PATCH", f"{BETA}/a", patch, form=MERGE).status == 200
    assert nursery.send("GET", f"{ALPHA}/a").json()["spec"] == {"reference": "y", "referenceType": "Fischer"}


@pytest.mark.parametrize("spec", [{"referenceType": "Foo"}, {"reference": "x", "referenceType": "Foo"}])
def test_an_unknown_type_is_refused_in_both_versions(nursery: Nursery, spec: dict[str, str]) -> None:
    """201, and nothing of the spec was stored."""
    answer = nursery.create(ALPHA, "a", spec)
    assert answer.status == 422
    assert answer.json()["message"] == (
        f'Flunder.{GROUP} "a" is invalid: spec.referenceType: Invalid value: "Foo": must be Flunder or Fischer'
    )


def test_a_value_of_a_wrong_type(nursery: Nursery) -> None:
    """400: ``json: cannot unmarshal number into Go struct field FlunderSpec.spec.reference of type string``."""
    answer = nursery.create(ALPHA, "a", {"reference": 5})
    assert answer.status == 422
    assert [cause["field"] for cause in answer.json()["details"]["causes"]] == ["spec.reference"]


def test_names_are_dns_subdomains(nursery: Nursery) -> None:
    """201."""
    assert nursery.create(ALPHA, "Bad_Name").status == 422


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"apiVersion": "", "metadata": {"name": "a"}}, 400),  # 201
        ({"kind": "", "metadata": {"name": "a"}}, 400),  # 201
        ({"kind": "Fischer", "metadata": {"name": "a"}}, 422),  # 400
    ],
)
def test_bodies_say_what_they_are(nursery: Nursery, body: dict[str, Any], status: int) -> None:
    assert nursery.send("POST", ALPHA, body).status == status


def test_forms_of_patches(nursery: Nursery) -> None:
    """200."""
    nursery.create(ALPHA, "a")
    form = "application/strategic-merge-patch+json"
    assert nursery.send("PATCH", f"{ALPHA}/a", {"metadata": {"name": "a"}}, form=form).status == 415


def test_what_objects_say_of_themselves(nursery: Nursery) -> None:
    """No generation; items of lists without apiVersion and kind."""
    assert nursery.create(ALPHA, "a").json()["metadata"]["generation"] == 1
    (item,) = nursery.send("GET", BETA).json()["items"]
    assert (item["apiVersion"], item["kind"]) == (f"{GROUP}/v1beta1", "Flunder")


def test_verbs_are_in_the_order_of_custom_resources(nursery: Nursery) -> None:
    """Sorted."""
    (flunders,) = nursery.send("GET", "/v1beta1").json()["resources"]
    assert flunders["verbs"] == ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]


def test_finalizers_without_a_domain(nursery: Nursery) -> None:
    """Only the warning that v1alpha1 is deprecated."""
    answer = nursery.send("POST", ALPHA, {"metadata": {"name": "a", "finalizers": ["x"]}})
    assert answer.status == 201
    assert [text for text in warnings(answer) if text.startswith("metadata.finalizers: ")]


def test_fischers_have_no_namespace_to_select(nursery: Nursery) -> None:
    """200, no items."""
    assert nursery.send("GET", f"{FISCHERS}?fieldSelector=metadata.namespace=x").status == 400


def test_methods_on_other_paths(nursery: Nursery) -> None:
    """405, three times, and without a warning."""
    answer = nursery.send("PUT", ALPHA, {"metadata": {"name": "a"}})
    assert (answer.status, len(warnings(answer))) == (400, 1)
    assert nursery.send("PATCH", ALPHA, {}, form=MERGE).status == 400
    assert nursery.send("POST", f"{ALPHA}/a", {"metadata": {"name": "a"}}).status == 201


def test_protobuf_is_passed_over(nursery: Nursery) -> None:
    """406."""
    nursery.create(ALPHA, "a")
    assert nursery.send("GET", f"{ALPHA}/a", accept=f"{PROTOBUF},application/json").status == 200


def test_lists_as_of_long_ago(nursery: Nursery) -> None:
    """200, no items."""
    assert nursery.send("GET", f"{ALPHA}?resourceVersion=1&resourceVersionMatch=Exact").status == 410


def test_the_type_of_the_column(nursery: Nursery) -> None:
    """``date``."""
    table = nursery.send("GET", ALPHA, accept="application/json;as=Table;v=v1;g=meta.k8s.io").json()
    assert [column["type"] for column in table["columnDefinitions"]] == ["string", "string"]


def test_the_bookmark_after_the_first_events(nursery: Nursery) -> None:
    """With ``"spec": {}, "status": {}``."""
    query = {"sendInitialEvents": "true", "allowWatchBookmarks": "true", "resourceVersionMatch": "NotOlderThan"}
    watch = nursery.server.watch(f"/apis/{GROUP}{ALPHA}", query)
    ((kind, bookmark),) = watch.events
    watch.close()
    assert (kind, set(bookmark)) == ("BOOKMARK", {"apiVersion", "kind", "metadata"})


def test_schemas_and_paths(nursery: Nursery) -> None:
    """``io.k8s.sample-apiserver.pkg.apis.wardle.v1beta1.FlunderSpec`` among others; six paths under ``watch/``."""
    document = nursery.server.request("GET", f"/openapi/v3/apis/{GROUP}/v1beta1").json()
    schemas = {name for name in document["components"]["schemas"] if "wardle" in name}
    assert schemas == {"com.example.wardle.v1beta1.Flunder", "com.example.wardle.v1beta1.FlunderList"}
    assert not [path for path in document["paths"] if "/watch/" in path]


def test_every_row_of_the_page_has_a_test() -> None:
    """A row more asks for a test more; this one counts them."""
    page = (ROOT / "examples/wardle/README.md").read_text(encoding="utf-8")
    _, *tables = re.split(r"^\|[-|]+\|\n", page.partition("## Differences\n")[2], flags=re.MULTILINE)
    assert [len(re.findall(r"^\|", table.partition("\n\n")[0], re.MULTILINE)) for table in tables] == [2, 16]
