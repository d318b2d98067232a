"""Pizzas with the real kubectl, as the README tells it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.kubernetes.control_plane import Kubectl
from tests.kubernetes.pizzas import GROUP, PIZZA, old_pizza, pizza, topping
from tests.kubernetes.shop import Running, Shop
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("menu")

MARGHERITA = f"""
apiVersion: {GROUP}/v1beta1
kind: Pizza
metadata:
  name: margherita
spec:
  toppings:
  - name: tomato
    quantity: 1
  - name: mozzarella
    quantity: 2
"""


def test_create_get_and_delete(shop: Shop) -> None:
    assert shop("create", "-f", "-", stdin=MARGHERITA) == f"pizza.{GROUP}/margherita created\n"
    until(lambda: shop.costs("margherita", "5.50"))
    head, row = shop("get", "pizzas").splitlines()
    assert head.split() == ["NAME", "TOPPINGS", "COST", "AGE"]
    assert row.split()[:3] == ["margherita", "tomato,mozzarella", "5.50"]
    for name in ("pizzas", "pizza", "pz", PIZZA, f"pizzas.v1beta1.{GROUP}", "pz/margherita"):
        assert "margherita" in shop("get", name)
    assert shop("get", "pz", "-o", "name") == f"pizza.{GROUP}/margherita\n"
    assert shop("delete", "pz", "margherita") == (
        f'pizza.{GROUP} "margherita" deleted from {shop.namespace} namespace\n'
    )
    assert f'pizzas.{GROUP} "margherita" not found' in shop.refused("get", "pz", "margherita")


def test_toppings_are_of_the_whole_cluster(kubectl: Kubectl, menu: dict[str, str]) -> None:
    rows = [line.split()[:2] for line in kubectl("get", "toppings").splitlines()[1:]]
    assert set(menu.items()) <= {(name, cost) for name, cost in rows}
    resources = kubectl("api-resources", f"--api-group={GROUP}", "--no-headers").splitlines()
    assert [line.split() for line in resources] == [
        ["pizzas", "pz", f"{GROUP}/v1beta1", "true", "Pizza"],
        ["toppings", f"{GROUP}/v1alpha1", "false", "Topping"],
    ]
    assert {f"{GROUP}/v1alpha1", f"{GROUP}/v1beta1"} <= set(kubectl("api-versions").splitlines())


def test_an_old_pizza_is_read_in_the_new_version_and_back(shop: Shop) -> None:
    shop.make(old_pizza("hawaii", "tomato", "mozzarella", "tomato", "salami", "tomato"))
    assert json.loads(shop.path("hawaii", ".spec.toppings")) == [
        {"name": "tomato", "quantity": 3},
        {"name": "mozzarella", "quantity": 1},
        {"name": "salami", "quantity": 1},
    ]
    old = f"pizzas.v1alpha1.{GROUP}"
    assert shop.path("hawaii", ".apiVersion", old) == f"{GROUP}/v1alpha1"
    assert json.loads(shop.path("hawaii", ".spec.toppings", old)) == ["tomato"] * 3 + ["mozzarella", "salami"]
    # A change in one version is one in the other; what both share stays.
    shop("patch", old, "hawaii", "--type=merge", "-p", '{"spec":{"toppings":["olives","olives"]}}')
    assert json.loads(shop.path("hawaii", ".spec.toppings")) == [{"name": "olives", "quantity": 2}]
    shop("label", PIZZA, "hawaii", "oven=2")
    assert shop.path("hawaii", ".metadata.labels.oven", old) == "2"
    assert shop.path("hawaii", ".metadata.uid", old) == shop.path("hawaii", ".metadata.uid")
    until(lambda: shop.path("hawaii", ".status.cost", old) == "0.50")
    cells = shop("get", old, "--no-headers").split()
    assert cells[0] == "hawaii"
    assert "0.50" in cells


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha1"])
@pytest.mark.parametrize(
    "spec", [{}, {"spec": {}}, {"spec": None}, {"spec": {"toppings": []}}, {"spec": {"toppings": None}}]
)
def test_a_pizza_is_never_bare(shop: Shop, version: str, spec: dict[str, object]) -> None:
    shop.make({"apiVersion": f"{GROUP}/{version}", "kind": "Pizza", "metadata": {"name": "bare"}} | spec)
    assert json.loads(shop.path("bare", ".spec.toppings")) == [
        {"name": name, "quantity": 1} for name in ("tomato", "mozzarella", "salami")
    ]
    until(lambda: shop.costs("bare", "4.25"))


def test_an_unknown_topping_is_refused_by_name(shop: Shop) -> None:
    said = shop.refused("create", "-f", "-", stdin=json.dumps(pizza("odd", pineapple=1, tomato=1)))
    assert said.startswith("Error from server (Forbidden): ")
    assert f'pizzas.{GROUP} "odd" is forbidden: ' in said
    assert 'topping "pineapple" not known' in said
    old = json.dumps(old_pizza("odd", "tomato", "anchovies"))
    assert 'topping "anchovies" not known' in shop.refused("create", "-f", "-", stdin=old)
    shop.make(pizza("even", tomato=1))
    change = '{"spec":{"toppings":[{"name":"pineapple"}]}}'
    assert 'topping "pineapple" not known' in shop.refused("patch", "pz", "even", "--type=merge", "-p", change)
    assert shop.path("even", ".spec.toppings[*].name") == "tomato"
    # A topping that was made a moment ago is known at once.
    name = f"truffle-{shop.namespace}"
    shop.make(topping(name, "9"), pizza("rich", **{name: 1}))
    shop("delete", "toppings", name)


def test_all_that_is_wrong_is_said_at_once(shop: Shop) -> None:
    bad = pizza("bad", tomato=0, salami=101)
    bad["spec"]["toppings"] += [{"name": ""}, {"name": "tomato"}]
    said = shop.refused("create", "-f", "-", stdin=json.dumps(bad))
    assert said.startswith('The Pizza "bad" is invalid: \n* ')
    for text in (
        "spec.toppings[0].quantity: Invalid value: 0: spec.toppings[0].quantity in body should be greater than or equal to 1",
        "spec.toppings[1].quantity: Invalid value: 101: spec.toppings[1].quantity in body should be less than or equal to 100",
        'spec.toppings[2].name: Invalid value: "": spec.toppings[2].name in body should be at least 1 chars long',
        'spec.toppings[3]: Duplicate value: {"name":"tomato"}',
    ):
        assert text in said
    many = old_pizza("many", *["tomato"] * 101)
    assert "must not be more than 100 of one topping" in shop.refused("create", "-f", "-", stdin=json.dumps(many))


def test_a_wrong_type_is_the_clients_mistake(shop: Shop) -> None:
    """The author's code is asked before validation, but never shown what is of no type of its own."""
    shop.make(pizza("plain", tomato=1))
    change = '{"spec":{"toppings":[{"name":"tomato","quantity":"two"}]}}'
    assert shop.refused("patch", "pz", "plain", "--type=merge", "-p", change) == (
        'The Pizza "plain" is invalid: \n* spec.toppings[0].quantity: Invalid value: "string": '
        'spec.toppings[0].quantity in body must be of type integer: "string"\n'
        "* <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the "
        "existing errors to complete validation\n"
    )
    new = json.dumps(pizza("new") | {"spec": {"toppings": "tomato"}})
    assert "spec.toppings in body must be of type array" in shop.refused("create", "-f", "-", stdin=new)


def test_a_new_price_reaches_the_pizzas(shop: Shop) -> None:
    name = f"caviar-{shop.namespace}"
    shop.make(topping(name, "10.00"), pizza("dear", **{name: 2, "tomato": 1}))
    until(lambda: shop.costs("dear", "21.50"))
    shop("patch", "toppings", name, "--type=merge", "-p", '{"spec":{"cost":"20.25"}}')
    until(lambda: shop.costs("dear", "42.00"))
    assert "spec.cost: Invalid value" in shop.refused(
        "patch", "toppings", name, "--type=merge", "-p", '{"spec":{"cost":"-1"}}'
    )
    shop("delete", "toppings", name)


def test_apply_changes_and_takes_away(shop: Shop) -> None:
    assert shop("apply", "-f", "-", stdin=MARGHERITA).endswith("margherita created\n")
    assert shop("apply", "-f", "-", stdin=MARGHERITA).endswith("margherita unchanged\n")
    changed = MARGHERITA.replace("name: margherita", "name: margherita\n  labels: {hot: 'yes'}")
    assert shop("apply", "-f", "-", stdin=changed).endswith("margherita configured\n")
    assert shop.path("margherita", ".metadata.labels.hot") == "yes"
    shop("annotate", "pz", "margherita", "waiter=jane")
    assert shop("apply", "-f", "-", stdin=MARGHERITA).endswith("margherita configured\n")
    assert shop.path("margherita", ".metadata.labels.hot") == ""
    assert shop.path("margherita", ".metadata.annotations.waiter") == "jane"
    assert shop.path("margherita", ".metadata.generation") == "1"
    without = MARGHERITA.replace("  - name: mozzarella\n    quantity: 2\n", "")
    assert shop("apply", "-f", "-", stdin=without).endswith("margherita configured\n")
    assert json.loads(shop.path("margherita", ".spec.toppings")) == [{"name": "tomato", "quantity": 1}]
    assert shop.path("margherita", ".metadata.generation") == "2"


def test_diff_shows_what_apply_would_do_and_does_nothing(shop: Shop) -> None:
    shop("apply", "-f", "-", stdin=MARGHERITA)
    until(lambda: shop.costs("margherita", "5.50"))
    assert shop("diff", "-f", "-", stdin=MARGHERITA) == ""
    revision = shop.path("margherita", ".metadata.resourceVersion")
    result = shop.kubectl.run("-n", shop.namespace, "diff", "-f", "-", stdin=MARGHERITA.replace("2", "5"))
    assert result.returncode == 1
    assert "-    quantity: 2\n+    quantity: 5\n" in result.stdout
    assert shop("apply", "--dry-run=server", "-f", "-", stdin=MARGHERITA.replace("2", "5")).endswith(
        "margherita configured (server dry run)\n"
    )
    shop("create", "--dry-run=server", "-f", "-", stdin=MARGHERITA.replace("margherita", "never"))
    assert shop.path("margherita", ".metadata.resourceVersion") == revision
    assert "not found" in shop.refused("get", "pz", "never")
    assert 'topping "fish" not known' in shop.refused(
        "apply", "--dry-run=server", "-f", "-", stdin=MARGHERITA.replace("tomato", "fish")
    )


def test_edit(shop: Shop, tmp_path: Path) -> None:
    shop.make(pizza("plain", tomato=1))
    assert shop.edited(tmp_path, "s/tomato/salami/", "edit", "pz", "plain") == f"pizza.{GROUP}/plain edited\n"
    assert shop.path("plain", ".spec.toppings[*].name") == "salami"


def test_patches(shop: Shop) -> None:
    shop.make(pizza("plain", tomato=1))
    shop(
        "patch",
        "pz",
        "plain",
        "--type=json",
        "-p",
        '[{"op":"add","path":"/spec/toppings/-","value":{"name":"olives"}}]',
    )
    assert json.loads(shop.path("plain", ".spec.toppings")) == [
        {"name": "tomato", "quantity": 1},
        {"name": "olives", "quantity": 1},
    ]
    assert "application/strategic-merge-patch+json is not supported by" in shop.refused(
        "patch", "pz", "plain", "-p", "{}"
    )
    shop("patch", "pz", "plain", "--subresource=status", "--type=merge", "-p", '{"status":{"cost":"1"},"spec":null}')
    assert shop.path("plain", ".spec.toppings[*].name") == "tomato olives"
    until(lambda: shop.costs("plain", "1.75"))
    assert "(no change)" in shop("patch", "pz", "plain", "--type=merge", "-p", '{"status":{"cost":"9"}}')


def test_replace_needs_the_newest_revision_if_it_names_one(shop: Shop) -> None:
    shop.make(pizza("plain", tomato=1))
    until(lambda: shop.costs("plain", "1.50"))
    old = shop("get", "pz", "plain", "-o", "yaml")
    shop("label", "pz", "plain", "a=b")
    said = shop.refused("replace", "-f", "-", stdin=old)
    assert "Error from server (Conflict)" in said
    assert "the object has been modified; please apply your changes to the latest version and try again" in said
    assert shop("replace", "-f", "-", stdin=json.dumps(pizza("plain", olives=1))) == f"pizza.{GROUP}/plain replaced\n"
    assert shop.path("plain", ".metadata.labels.a") == ""


def test_unknown_fields_are_refused_by_name(shop: Shop) -> None:
    wrong = MARGHERITA.replace("spec:", "spec:\n  crust: thin")
    assert 'strict decoding error: unknown field "spec.crust"' in shop.refused("create", "-f", "-", stdin=wrong)
    assert 'unknown field "spec.crust"' in shop.refused("apply", "--validate=strict", "-f", "-", stdin=wrong)
    assert 'Warning: unknown field "spec.crust"' in shop.warned("create", "--validate=warn", "-f", "-", stdin=wrong)
    assert shop.path("margherita", ".spec.crust") == ""


def test_watch_shows_changes_made_in_the_other_version(shop: Shop, watching: list[Running]) -> None:
    shop.make(pizza("first", tomato=1))
    until(lambda: shop.costs("first", "1.50"))
    watching.append(Running(shop, "get", "pz", "-w"))
    watch = watching[0]
    assert watch.line() == "NAME TOPPINGS COST AGE"
    assert watch.line().startswith("first tomato 1.50 ")
    old = f"pizzas.v1alpha1.{GROUP}"
    shop("patch", old, "first", "--type=merge", "-p", '{"spec":{"toppings":["olives","tomato"]}}')
    assert watch.line().startswith("first olives,tomato 1.50 ")
    assert watch.line().startswith("first olives,tomato 1.75 ")
    shop("create", "-f", "-", stdin=json.dumps(old_pizza("second", "salami")))
    assert watch.line().startswith("second salami ")
    assert watch.line().startswith("second salami 0.75 ")
    shop("delete", old, "first")
    assert watch.line().startswith("first olives,tomato 1.75 ")


def test_watch_with_a_selector_and_events(shop: Shop, watching: list[Running]) -> None:
    shop.make(pizza("first", tomato=1), pizza("other", tomato=1))
    until(lambda: shop.costs("first", "1.50") and shop.costs("other", "1.50"))
    arguments = ("get", "pz", "-w", "--output-watch-events", "-o", "jsonpath={.type}:{.object.metadata.name}{'\\n'}")
    watching.append(Running(shop, *arguments, "-l", "hot"))
    shop("label", "pz", "first", "hot=yes")
    shop("label", "pz", "other", "cold=yes")
    shop("label", "pz", "first", "hot-")
    lines = [watching[0].line() for _ in range(2)]
    assert lines == ["ADDED:first", "DELETED:first"]


def test_lists(shop: Shop) -> None:
    shop.make(*(pizza(f"p{number}", tomato=number) for number in (3, 1, 2)), pizza("x", olives=1))
    shop("label", "pz", "p1", "p2", "odd=no")
    names = [f"pizza.{GROUP}/{name}" for name in ("p1", "p2", "p3", "x")]
    assert shop("get", "pz", "-o", "name").split() == names
    assert shop("get", "pz", "-o", "name", "--chunk-size=1").split() == names
    assert shop("get", "pz", "-o", "name", "-l", "odd").split() == names[:2]
    assert shop("get", "pz", "-o", "name", "-l", "odd notin (no)").split() == names[2:]
    assert shop("get", "pz", "-o", "name", "--field-selector=metadata.name!=x").split() == names[:3]
    everywhere = shop("get", "pz", "-A", "-o", "name", f"--field-selector=metadata.namespace={shop.namespace}")
    assert everywhere.split() == names
    by_name = shop("get", "pz", "--sort-by=.metadata.creationTimestamp", "-o", "name").split()
    assert sorted(by_name) == names
    assert shop("get", "pz", "--sort-by={.spec.toppings[0].quantity}", "-l", "odd", "-o", "name").split() == names[:2]
    assert [item["metadata"]["name"] for item in yaml.safe_load(shop("get", "pz", "-o", "yaml"))["items"]] == [
        "p1", "p2", "p3", "x",
    ]  # fmt: skip
    wide = shop("get", "pz", "-o", "wide", "-A").splitlines()
    assert wide[0].split() == ["NAMESPACE", "NAME", "TOPPINGS", "COST", "AGE"]
    assert "managedFields" not in shop("get", "pz", "-o", "yaml")
    assert "manager: kubectl-create" in shop("get", "pz", "--show-managed-fields", "-o", "yaml")
    assert shop("delete", "pz", "--all").count(" deleted ") == 4
    assert shop("get", "pz", "-o", "name") == ""


def test_describe_and_explain(shop: Shop) -> None:
    shop.make(pizza("plain", tomato=2))
    until(lambda: shop.costs("plain", "3.00"))
    described = [" ".join(line.split()) for line in shop("describe", "pz", "plain").splitlines()]
    for line in ("Name: plain", f"API Version: {GROUP}/v1beta1", "Kind: Pizza", "Quantity: 2", "Cost: 3.00"):
        assert line in described
    new = shop("explain", "pizzas.spec.toppings.quantity")
    assert f"GROUP:      {GROUP}\nKIND:       Pizza\nVERSION:    v1beta1\n" in new
    assert "FIELD: quantity <integer>" in new
    assert "How many portions of this topping go on the pizza." in new
    old = shop("explain", "pz.spec.toppings", f"--api-version={GROUP}/v1alpha1")
    assert "FIELD: toppings <[]string>" in old
    assert "a name that occurs twice is put on twice" in old
    assert "quantity" in shop("explain", "pizzas", "--recursive")
    assert 'field "crust" does not exist' in shop.refused("explain", "pizzas.spec.crust")
    assert "The cost of one portion" in shop("explain", "toppings.spec.cost")


def test_what_does_not_exist_is_refused(shop: Shop) -> None:
    shop.make(pizza("plain", tomato=1))
    assert "NotFound" in shop.refused("scale", "pz", "plain", "--replicas=2")
    assert "NotFound" in shop.refused("get", "--raw", f"/apis/{GROUP}/v1beta1/namespaces/{shop.namespace}/calzones")
    assert "field label not supported: spec.x" in shop.refused("get", "pz", "--field-selector=spec.x=1")
    raw = json.loads(shop("get", "--raw", f"/apis/{GROUP}/v1beta1/namespaces/{shop.namespace}/pizzas/plain"))
    assert raw["spec"] == {"toppings": [{"name": "tomato", "quantity": 1}]}
    assert shop("auth", "can-i", "create", "pz") == "yes\n"
    assert shop.kubectl.run("-n", shop.namespace, "auth", "can-i", "create", "pz", "--as=nobody").stdout == "no\n"
