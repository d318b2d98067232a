from __future__ import annotations

import pytest

from extapi.api.selectors import parse_field_selector
from extapi.storage.keys import KeyLayout
from extapi.watch.cachedobject import CachedObject, CacheSource
from extapi.watch.selection import Selection
from tests.unit.watch.store import LAYOUT, Pizzas, pizza, select

NAMESPACED = CacheSource(LAYOUT, Pizzas())
CLUSTER = CacheSource(KeyLayout("food.example", "ovens", namespaced=False), Pizzas())


def cached(name: str, namespace: str = "", **labels: str) -> CachedObject:
    source = NAMESPACED if namespace else CLUSTER
    value = pizza(name, namespace, labels=labels)
    return CachedObject(source.layout.key(namespace, name), 1, value, source.labels(value), source)


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
    entries = [cached("one", "a", tier="web"), cached("two", "a", tier="db"), cached("one", "aa", tier="web")]
    predicate = selection.predicate(NAMESPACED)
    assert predicate is not None
    assert [f"{item.namespace}/{item.name}" for item in entries if predicate(item)] == passes
    assert [f"{item.namespace}/{item.name}" for item in selection.select(entries, NAMESPACED)] == passes


def test_no_test_is_needed_where_everything_passes() -> None:
    assert Selection().predicate(NAMESPACED) is None
    assert select(namespace="a").predicate(NAMESPACED, within_namespace=True) is None
    assert select(namespace="a").predicate(CLUSTER) is None


def test_a_list_within_a_namespace_does_not_look_at_it() -> None:
    elsewhere = [cached("one", "b", tier="web"), cached("two", "b", tier="db")]
    web = select(namespace="a", labels="tier=web")
    assert [*web.select(elsewhere, NAMESPACED, within_namespace=True)] == elsewhere[:1]
    assert [*web.select(elsewhere, NAMESPACED)] == []
    assert [*Selection().select(elsewhere, NAMESPACED)] == elsewhere


def test_objects_of_the_cluster_are_found_by_name() -> None:
    predicate = select(fields="metadata.name=one").predicate(CLUSTER)
    assert predicate is not None
    assert [predicate(cached("one")), predicate(cached("bone"))] == [True, False]


def test_a_name_is_the_whole_name_in_any_namespace() -> None:
    predicate = select(fields="metadata.name=one").predicate(NAMESPACED)
    assert predicate is not None
    found = [predicate(cached(name, "a")) for name in ("one", "bone", "a.one", "one-")]
    assert found == [True, False, False, False]


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
    one, two = cached("one", "a"), cached("two", "a")
    fields = parse_field_selector("spec.size!=13,metadata.namespace=a")
    predicate = Selection("a", fields=fields, version="v2").predicate(NAMESPACED)
    assert predicate is not None
    assert [predicate(one), predicate(two)] == [True, True]
    common = Selection(fields=parse_field_selector("metadata.name!=one"), version="none").predicate(NAMESPACED)
    assert common is not None
    assert [common(one), common(two)] == [False, True]
