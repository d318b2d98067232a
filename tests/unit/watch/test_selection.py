from __future__ import annotations

import pytest

from extapi.api.selectors import parse_field_selector
from extapi.watch.entry import Entry, Source
from extapi.watch.selection import Selection
from tests.unit.watch.store import PREFIX, Pizzas, pizza, select

NAMESPACED = Source(PREFIX, True, Pizzas())
CLUSTER = Source(b"/registry/food.example/ovens/", False, Pizzas())


def entry(name: str, namespace: str = "", **labels: str) -> Entry:
    source = NAMESPACED if namespace else CLUSTER
    value = pizza(name, namespace, labels=labels)
    return Entry(source.key(namespace, name), 1, value, source.labels(value), source)


@pytest.mark.parametrize(
    ("selection", "passes"),
    [
        (select(namespace="a"), ["a/one", "a/two"]),
        (select(labels="tier=web"), ["a/one", "aa/one"]),
        (select(namespace="a", labels="tier=web"), ["a/one"]),
        (select(fields="metadata.name=one"), ["a/one", "aa/one"]),
        (select(namespace="a", fields="metadata.name=one"), ["a/one"]),
        (select(namespace="a", fields="metadata.name=one", labels="tier=db"), []),
        (select(fields="metadata.name!=one"), ["a/two"]),
        (select(fields="metadata.namespace=aa"), ["aa/one"]),
        (select(fields="metadata.name=one,metadata.namespace=a"), ["a/one"]),
        (select(fields="metadata.name=a/one"), []),
        (select(namespace="b"), []),
    ],
)
def test_what_passes(selection: Selection, passes: list[str]) -> None:
    entries = [entry("one", "a", tier="web"), entry("two", "a", tier="db"), entry("one", "aa", tier="web")]
    test = selection.test(NAMESPACED)
    assert test is not None
    assert [f"{item.namespace}/{item.name}" for item in entries if test(item)] == passes


def test_no_test_is_needed_where_everything_passes() -> None:
    assert Selection().test(NAMESPACED) is None
    assert select(namespace="a").test(NAMESPACED, within_namespace=True) is None
    assert select(namespace="a").test(CLUSTER) is None


def test_objects_of_the_cluster_are_found_by_name() -> None:
    test = select(fields="metadata.name=one").test(CLUSTER)
    assert test is not None
    assert [test(entry("one")), test(entry("bone"))] == [True, False]


def test_equal_selections_are_one_key() -> None:
    assert {select("a", "x=y", "metadata.name=n"), select("a", "x==y", "metadata.name==n")} == {
        select("a", "x in (y)", "metadata.name=n")
    }
    assert select("a") != select("b")


def test_what_a_selection_says_of_itself() -> None:
    assert select("a").by_selector is False
    assert select(labels="x").by_selector is True
    assert select(fields="metadata.name=n").name == "n"
    assert select(fields="metadata.name!=n").name is None


def test_fields_of_the_kind_are_read_in_the_version_of_the_selection() -> None:
    one, two = entry("one", "a"), entry("two", "a")
    fields = parse_field_selector("spec.size!=13,metadata.namespace=a")
    test = Selection("a", fields=fields, version="v2").test(NAMESPACED)
    assert test is not None
    assert [test(one), test(two)] == [True, True]
    common = Selection(fields=parse_field_selector("metadata.name!=one"), version="none").test(NAMESPACED)
    assert common is not None
    assert [common(one), common(two)] == [False, True]
