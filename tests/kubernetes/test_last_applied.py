"""kubectl's record of what was applied last: read, edited and set; what becomes of it at server-side apply, and back.

Server-side apply by kubectl takes over what its client-side applies own, and keeps the record for those that come after
(``k8s.io/client-go/util/csaupgrade``, and ``kubectl/pkg/cmd/apply``: ``saveLastApplyAnnotationIfNecessary``).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.kubernetes import kubectls
from tests.kubernetes.pizzas import GROUP, pizza
from tests.kubernetes.shop import Shop, managed
from tests.waiting import until

pytestmark = [
    pytest.mark.usefixtures("menu"),
    kubectls.BOTH_ENDS,
    pytest.mark.parametrize("kind", ["pizza", "map"]),
]

NAMES = {"pizza": f"pizza.{GROUP}/one", "map": "configmap/one"}
_TOPPING = 'spec.toppings.k:{"name":"tomato"}'
CONTENT = {"pizza": {f"{_TOPPING}.name", f"{_TOPPING}.quantity"}, "map": {"data.tomato"}}
"""What is owned of each besides metadata."""
LABEL = "metadata.labels."
RECORD = "kubectl.kubernetes.io/last-applied-configuration"
ANNOTATION = f"metadata.annotations.{RECORD}"
CLIENT = ("kubectl-client-side-apply", "Update")
SERVER = ("kubectl", "Apply")
KEEPER = ("kubectl-last-applied", "Apply")
"""Who applies the record itself, so that it is kept."""
APPLY = ("apply", "-f", "-")
SIDE = (*APPLY, "--server-side")
SET = ("apply", "set-last-applied", "-f", "-")


def labelled(kind: str, **labels: str) -> str:
    """A pizza or a ConfigMap."""
    obj: dict[str, Any] = pizza("one", tomato=1)
    if kind == "map":
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"tomato": "1"}}
    obj["metadata"]["labels"] = labels
    return json.dumps(obj)


class Seen(NamedTuple):
    """An object: its labels, those that are recorded (``None`` without a record), and who owns what."""

    labels: dict[str, str]
    recorded: dict[str, str] | None
    managed: dict[tuple[str, str], set[str]]


def seen(shop: Shop, kind: str) -> Seen:
    metadata = shop.read(NAMES[kind], "--show-managed-fields")["metadata"]
    record = metadata.get("annotations", {}).get(RECORD)
    recorded = None if record is None else json.loads(record)["metadata"]["labels"]
    return Seen(metadata.get("labels", {}), recorded, managed(metadata))


def test_to_server_side_apply_and_back(shop: Shop, kind: str) -> None:
    content = CONTENT[kind]
    shop(*APPLY, stdin=labelled(kind, a="1", b="2"))
    owned = {CLIENT: {*content, f"{LABEL}a", f"{LABEL}b", ANNOTATION}}
    assert seen(shop, kind) == ({"a": "1", "b": "2"}, {"a": "1", "b": "2"}, owned)

    assert shop(*SIDE, stdin=labelled(kind, a="1")) == f"{NAMES[kind]} serverside-applied\n"
    owned = {SERVER: {*content, f"{LABEL}a"}, KEEPER: {ANNOTATION}}
    assert seen(shop, kind) == ({"a": "1"}, {"a": "1"}, owned), "what the client applied is taken away"

    assert shop(*APPLY, stdin=labelled(kind, a="3", c="3")) == f"{NAMES[kind]} configured\n"
    owned = {SERVER: content, CLIENT: {f"{LABEL}a", f"{LABEL}c", ANNOTATION}}
    assert seen(shop, kind) == ({"a": "3", "c": "3"}, {"a": "3", "c": "3"}, owned)

    shop(*SIDE, stdin=labelled(kind, a="4"))
    owned = {SERVER: {*content, f"{LABEL}a"}, KEEPER: {ANNOTATION}}
    assert seen(shop, kind) == ({"a": "4"}, {"a": "4"}, owned), "no conflict with what the client changed"


def test_managers_of_other_names(shop: Shop, kind: str) -> None:
    """The record goes with a manager that is not kubectl's; without it a client-side apply takes away nothing."""
    shop(*APPLY, stdin=labelled(kind, a="1", b="2", c="3"))
    shop(*SIDE, "--field-manager=baker", stdin=labelled(kind, a="1", b="2"))
    owned = {("baker", "Apply"): {*CONTENT[kind], f"{LABEL}a", f"{LABEL}b"}}
    assert seen(shop, kind) == ({"a": "1", "b": "2"}, None, owned)
    assert shop("apply", "view-last-applied", NAMES[kind]) == ""

    said = shop.warned(*APPLY, "--field-manager=waiter", stdin=labelled(kind, a="3"))
    assert f"is missing the {RECORD} annotation" in said
    owned = {
        ("baker", "Apply"): {*CONTENT[kind], f"{LABEL}b"},
        ("waiter", "Update"): {f"{LABEL}a", ANNOTATION},
    }
    assert seen(shop, kind) == ({"a": "3", "b": "2"}, {"a": "3"}, owned)


def test_the_record_is_made_and_edited(shop: Shop, tmp_path: Path, kind: str) -> None:
    """It alone says what a client-side apply takes away."""
    shop.make(json.loads(labelled(kind, a="1", b="2", c="3")))
    until(lambda: kind == "map" or shop.costs("one", "1.50"))
    said = shop.refused(*SET, stdin=labelled(kind, a="1", b="2"))
    assert "no last-applied-configuration annotation found on resource" in said
    made = shop(*SET, "--create-annotation", stdin=labelled(kind, a="1", b="2"))
    assert made == f"{NAMES[kind]} configured\n"
    viewed = json.loads(shop("apply", "view-last-applied", NAMES[kind], "-o", "json"))
    assert viewed["metadata"]["labels"] == {"a": "1", "b": "2"}

    edited = shop.edited(tmp_path, '/  a: "1"/d', "apply", "edit-last-applied", NAMES[kind])
    assert edited == f"{NAMES[kind]} edited\n"
    assert seen(shop, kind)[:2] == ({"a": "1", "b": "2", "c": "3"}, {"b": "2"})
    shop(*APPLY, stdin=labelled(kind))
    assert seen(shop, kind)[:2] == ({"a": "1", "c": "3"}, {})

    shop(*SET, stdin=labelled(kind, c="3"))
    shop(*APPLY, stdin=labelled(kind))
    assert seen(shop, kind)[:2] == ({"a": "1"}, {})
