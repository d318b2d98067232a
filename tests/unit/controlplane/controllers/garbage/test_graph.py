"""Who owns whom: every order of events, lists and tasks leads to the same result."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
from hypothesis import given, settings, strategies as st

from extapi.controlplane.controllers.garbage.graph import Collect, Graph, Orphan, Report, Task, Verify
from extapi.controlplane.controllers.garbage.objects import Claim, Observed, Owner
from tests.unit.controlplane.controllers.garbage.world import (
    KINDS,
    Collector,
    World,
    expected,
    owner,
    survivors,
    thing,
)

STEPS = 5000
"""More than any of these worlds needs: one that goes on longer does not come to rest."""


@st.composite
def objects(draw: st.DrawFn) -> dict[str, Observed]:
    """A few objects that own each other at random: in circles, from other namespaces, by wrong names, and not at all."""
    made = [
        thing(draw(st.sampled_from(sorted(KINDS))), f"o{number}", namespace=draw(st.sampled_from(["one", "two"])))
        for number in range(draw(st.integers(1, 7)))
    ]
    made_up = [thing("Map", "ghost"), thing("Base", "spirit")]
    found = {}
    for obj in made:
        references = []
        for each in draw(st.lists(st.sampled_from(made + made_up), max_size=3, unique_by=lambda one: one.uid)):
            reference = owner(each, blocks=draw(st.sampled_from([None, False, True])))
            wrong = draw(st.sampled_from([{}, {}, {}, {"name": "other"}, {"kind": "Map"}]))
            references.append(msgspec.structs.replace(reference, **wrong))
        # Of a cluster-scoped object, nobody collects anything if an owner is of a namespaced kind.
        if not obj.namespace:
            references = [each for each in references if not KINDS[each.kind].namespaced]
        found[obj.uid] = msgspec.structs.replace(obj, owners=tuple(references))
    return found


def settled(order: Random, collector: Collector, *more: Any) -> None:
    """Let everything happen, and each of ``more`` in between, in a random order; sometimes a list in place of events."""
    waiting = list(more)
    for _ in range(STEPS):
        steps = [*collector.steps(), *(("act", each) for each in waiting)]
        if not steps:
            return
        chosen = order.choice(steps)
        if chosen[0] == "act":
            waiting.remove(chosen[1])
            chosen[1]()
        else:
            collector.step(chosen, relist=order.random() < 0.1)
    raise AssertionError("it never comes to rest")


ORDERS = st.integers(0, 2**32).map(Random)
"""Hypothesis draws a seed only: a world takes many steps, and each would be a draw."""


@settings(max_examples=300, deadline=None)
@given(st.data(), objects(), ORDERS)
def test_whatever_the_order_the_same_is_left(data: st.DataObject, made: dict[str, Observed], steps: Random) -> None:
    world = World()
    order = data.draw(st.permutations(sorted(made)))
    deletions = data.draw(
        st.dictionaries(st.sampled_from(order), st.sampled_from(["Background", "Foreground"]), max_size=3)
    )
    for uid in order:
        world.put(made[uid])
    acts = [lambda uid=uid, policy=policy: world.delete(uid, policy) for uid, policy in deletions.items()]
    collector = Collector(world)
    settled(steps, collector, *acts)
    wanted = expected(made, set(deletions))
    assert survivors(world) == wanted
    assert set(world.objects) == set(wanted), "whoever waited for dependents has gone with them"
    assert len(collector.graph) == len(wanted)


@settings(max_examples=150, deadline=None)
@given(st.data(), ORDERS)
def test_orphans_stay_and_owners_go(data: st.DataObject, steps: Random) -> None:
    """Dependents that the collector knows before the owner is deleted: nobody can release others."""
    dependents = [f"d{number}" for number in range(data.draw(st.integers(0, 5)))]
    root = thing("Widget", "root")
    other = thing("Map", "other")
    world = World()
    for obj in (root, other):
        world.put(obj)
    for name in dependents:
        more = [owner(other)] if data.draw(st.booleans()) else []
        world.put(thing("Map", name, owner(root, blocks=data.draw(st.booleans())), *more))
    collector = Collector(world)
    settled(steps, collector)
    before = dict(world.objects)
    world.delete("root", "Orphan")
    settled(steps, collector)
    assert set(world.objects) == {"other", *dependents}
    for name in dependents:
        assert world.objects[name].owners == tuple(each for each in before[name].owners if each.uid != "root")


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_the_index_is_that_of_what_is_there(data: st.DataObject) -> None:
    graph, there = Graph(), {}
    names = [f"o{number}" for number in range(5)]
    for _ in range(data.draw(st.integers(0, 25))):
        name = data.draw(st.sampled_from(names))
        if data.draw(st.integers(0, 3)):
            owners = data.draw(st.lists(st.sampled_from(names), max_size=3, unique=True))
            there[name] = thing("Map", name, *(owner(thing("Map", each)) for each in owners))
            graph.observe(there[name])
        else:
            there.pop(name, None)
            graph.forget(name)
    assert len(graph) == len(there)
    for name in names:
        found = {each.uid for each in graph.dependents(name)}
        assert found == {each.uid for each in there.values() if any(one.uid == name for one in each.owners)}


def tasks_of(graph: Graph, *objs: Observed) -> list[Task]:
    """What follows from the last one."""
    found: list[Task] = []
    for each in objs:
        found = graph.observe(each)
    return found


def changed(obj: Observed, **changes: Any) -> Observed:
    return msgspec.structs.replace(obj, **changes)


A = thing("Map", "a")
OF_A = thing("Map", "b", owner(A))


def test_an_owner_that_was_observed_is_not_asked_for() -> None:
    assert tasks_of(Graph(), A, OF_A) == []


def test_an_owner_that_was_not_observed_is_asked_for_where_it_is_said_to_be() -> None:
    assert tasks_of(Graph(), OF_A) == [Verify(Claim("v1", "Map", "one", "a", "a"))]
    graph = Graph()
    assert tasks_of(graph, OF_A, A) == []
    assert tasks_of(graph, changed(OF_A, resource_version="2")) == []


def test_dependents_of_an_owner_that_is_gone_are_checked() -> None:
    graph = Graph()
    tasks_of(graph, A, OF_A, thing("Widget", "c", owner(A)))
    assert graph.forget("a") == [Verify(Claim("v1", "Map", "one", "a", "a"))], "once for both"
    assert graph.forget("a") == []
    assert {each.uid for each in graph.claimants(Claim("v1", "Map", "one", "a", "a"))} == {"b", "c"}


def test_an_owner_in_another_namespace_is_reported_whichever_comes_first() -> None:
    stranger = changed(OF_A, namespace="two")
    wanted = [Report(stranger, owner(A)), Verify(Claim("v1", "Map", "two", "a", "a"))]
    assert tasks_of(Graph(), A, stranger) == wanted
    assert tasks_of(Graph(), stranger, A) == wanted
    cluster_scoped = thing("Base", "base", owner(A))
    assert Report(cluster_scoped, owner(A)) in tasks_of(Graph(), A, cluster_scoped)


def test_an_owner_of_another_version_is_the_same() -> None:
    old = Owner("example.com/v1beta1", "Widget", "w", "w")
    assert tasks_of(Graph(), thing("Widget", "w"), thing("Map", "m", old)) == []
    other_group = Owner("example.org/v1", "Widget", "w", "w")
    assert tasks_of(Graph(), thing("Widget", "w"), thing("Map", "m", other_group)) == [
        Verify(Claim("example.org/v1", "Widget", "one", "w", "w"))
    ]


def test_a_cluster_scoped_owner_may_have_dependents_everywhere() -> None:
    base = thing("Base", "base")
    dependents = (thing("Map", "m", owner(base), namespace="two"), thing("Base", "n", owner(base)))
    assert tasks_of(Graph(), *dependents, base) == []


def test_foreground_deletion_checks_the_owner_and_its_dependents() -> None:
    graph = Graph()
    tasks_of(graph, A, OF_A)
    assert tasks_of(graph, changed(A, deleted=True, foreground=True)) == [Collect("b"), Collect("a")]
    late = thing("Widget", "late", owner(A))
    assert tasks_of(graph, late) == [Collect("late")], "it came too late for that"
    assert graph.forget("late") == [Collect("a")]


def test_an_owner_is_checked_again_once_nothing_blocks_it() -> None:
    graph = Graph()
    blocking = thing("Map", "b", owner(A, blocks=True))
    tasks_of(graph, changed(A, deleted=True, foreground=True), blocking)
    assert tasks_of(graph, changed(blocking, owners=(owner(A, blocks=False),))) == [Collect("b"), Collect("a")]
    tasks_of(graph, blocking)
    assert tasks_of(graph, changed(blocking, owners=())) == [Collect("a")]


def test_orphaning_comes_before_foreground_deletion() -> None:
    graph = Graph()
    both = changed(A, deleted=True, orphans=True, foreground=True)
    assert tasks_of(graph, both) == [Orphan("a")]
    assert tasks_of(graph, changed(both, orphans=False)) == [Collect("a")]
    assert tasks_of(graph, changed(A, orphans=True)) == [], "it is not being deleted"


def test_an_object_that_moved_is_not_taken_for_the_same_owner() -> None:
    """No API moves objects, but a server may be replaced by another one that has made up the same uid."""
    graph = Graph()
    moved = changed(A, name="other")
    assert tasks_of(graph, A, OF_A, moved) == [Verify(Claim("v1", "Map", "one", "a", "a"))]


def test_an_owner_waits_for_those_that_block() -> None:
    graph = Graph()
    tasks_of(graph, A, OF_A, thing("Map", "no", owner(A, blocks=False)), thing("Map", "else", owner(OF_A, blocks=True)))
    assert graph.blocking("a") == []
    blocking = thing("Map", "blocking", owner(A, blocks=True))
    tasks_of(graph, blocking)
    assert graph.blocking("a") == [blocking]


def test_a_circle_that_waits_for_nothing_else_ends() -> None:
    graph = Graph()
    waits: dict[str, Any] = {"deleted": True, "foreground": True}
    first = thing("Map", "first", owner(thing("Map", "second"), blocks=True))
    second = thing("Map", "second", owner(first, blocks=True))
    tasks_of(graph, changed(first, **waits), second)
    assert not graph.waits_for_itself("first"), "the second is not being deleted yet"
    tasks_of(graph, changed(second, **waits))
    assert graph.waits_for_itself("first")
    outside = thing("Map", "outside", owner(first, blocks=True))
    tasks_of(graph, outside)
    assert not graph.waits_for_itself("second"), "the first waits for something else"
    graph.forget("outside")
    above = thing("Map", "above", **waits)
    tasks_of(graph, above, changed(first, owners=(*first.owners, owner(above, blocks=True)), **waits))
    assert not graph.waits_for_itself("above"), "it is in no circle: it goes after the first"
