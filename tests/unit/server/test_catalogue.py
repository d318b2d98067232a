"""The catalogue as a function of kinds. What happens when one replaces another is in test_replacement.py."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from twisted.internet.task import Clock

from extapi import Api, Group, Kind, Object, Version
from extapi.controlplane.kinds import core, events, events_v1
from extapi.registry.kinds import serve_kinds
from extapi.server.catalogue import Catalogue, build_catalogue, stored_together
from extapi.storage.memory import MemoryBackend
from extapi.watch.cacher import Cacher
from tests.unit.server.cluster import AUTHENTICATION, cluster
from tests.unit.verbs.sample import GROUP, shop


def catalogue(*groups: Group, before: Catalogue | None = None) -> Catalogue:
    """What a server would serve, without a server."""
    clock = Clock()
    cacher = Cacher(MemoryBackend(clock), clock)
    kinds = serve_kinds(Api(*groups), before.kinds if before else ())
    caches = {
        prefix: before.caches[prefix]
        if before and stored_together(before.kinds).get(prefix) == together
        else cacher.add(together[0].layout, together[0])
        for prefix, together in stored_together(kinds).items()
    }
    random = Random(0)  # noqa: S311 - generates names only, and none here
    return build_catalogue(groups, kinds, caches, clock=clock, random=random, further=("/version",), before=before)


def test_every_path_of_a_version_has_an_endpoint() -> None:
    made = catalogue(*shop().groups)
    assert sorted(made.endpoints) == [
        (GROUP, "v1", "shelves", ""),
        (GROUP, "v1", "widgets", ""),
        (GROUP, "v1", "widgets", "status"),
        (GROUP, "v1alpha1", "widgets", ""),
        (GROUP, "v1alpha1", "widgets", "status"),
        (GROUP, "v1beta1", "shelves", ""),
    ]


def test_the_index_lists_groups_and_documents() -> None:
    """Behaviour C2: sorted, with what others serve."""
    paths = json.loads(catalogue(*shop().groups).index)["paths"]
    versions = ("v1", "v1alpha1", "v1beta1")
    assert paths == [
        "/apis",
        f"/apis/{GROUP}",
        *(f"/apis/{GROUP}/{version}" for version in versions),
        "/openapi/v2",
        "/openapi/v3",
        *(f"/openapi/v3/apis/{GROUP}/{version}" for version in versions),
        "/version",
    ]


def test_only_with_a_core_group_are_there_paths_below_api() -> None:
    """Behaviour C4."""
    assert catalogue(*shop().groups).roots == ("/apis/",)
    made = catalogue(*cluster().groups)
    assert made.roots == ("/api/", "/apis/")
    assert json.loads(made.index)["paths"][:4] == ["/api", "/api/v1", "/apis", f"/apis/{AUTHENTICATION}"]


def test_kinds_of_one_storage_are_together_and_the_stored_one_comes_first() -> None:
    """In whatever order they are declared."""
    old, new = Group("", events.EVENT, core.SECRET), Group("events.k8s.io", events_v1.EVENT)
    for groups in ((old, new), (new, old)):
        together = stored_together(serve_kinds(Api(*groups)))
        assert {prefix: [kind.group for kind in kinds] for prefix, kinds in together.items()} == {
            b"/registry/core/events/": ["", "events.k8s.io"],
            b"/registry/core/secrets/": [""],
        }


def test_a_virtual_kind_is_not_stored() -> None:
    assert b"/registry/authentication.k8s.io/tokenreviews/" not in stored_together(serve_kinds(cluster()))


class Thing(Object):
    """Something."""


def things(name: str, *versions: str, **more: Any) -> Kind:
    return Kind(name, versions={version: Version(Thing) for version in versions}, storage=versions[0], **more)


def documents(made: Catalogue) -> dict[str, object]:
    """All documents, by path and format."""
    return {where: document for where, (_, document) in made.documents.items()}


ONE, TWO, THREE = things("One", "v1", "v2"), things("Two", "v1"), things("Three", "v1")
A, B = "a.example.com", "b.example.com"


def test_of_what_stays_nothing_is_made_again() -> None:
    before = catalogue(Group(A, ONE, TWO), Group(B, THREE))
    after = catalogue(Group(A, ONE, TWO), Group(B, THREE), before=before)
    assert after.kinds == before.kinds
    assert after.caches == before.caches
    assert after.endpoints == before.endpoints
    assert documents(after) == documents(before)
    assert after.index == before.index


def test_only_documents_that_say_something_else_are_made() -> None:
    """One kind of version v1 of group A is another one. Other versions of the group and other groups keep theirs."""
    before = catalogue(Group(A, ONE, TWO), Group(B, THREE))
    after = catalogue(Group(A, ONE, things("Two", "v1", short_names=["tw"])), Group(B, THREE), before=before)
    old, new = documents(before), documents(after)
    assert {key for key in new if new[key] is not old.get(key)} == {
        f"/apis/{A}/v1",
        "/apis v2",
        "/apis v2beta1",
        "/openapi/v3",
        f"/openapi/v3/apis/{A}/v1",
        f"/openapi/v3 {A}/v1/twos",
        "/openapi/v2",
        f"/openapi/v2 {A}/v1/twos",
    }


@pytest.mark.parametrize("then", [(Group(A, ONE),), (Group(A, ONE), Group(B, TWO))])
def test_nothing_is_kept_of_what_is_not_served_any_more(then: tuple[Group, ...]) -> None:
    before = catalogue(Group(A, ONE, TWO), Group(B, THREE))
    after = catalogue(*then, before=before)
    assert documents(after).keys() == documents(catalogue(*then)).keys()


def test_a_kind_that_is_stored_as_another_is_compiled_again_with_it() -> None:
    core_, v1 = Group("", events.EVENT, core.SECRET), Group("events.k8s.io", events_v1.EVENT)
    before = catalogue(core_, v1)
    secret, event, event_v1 = before.kinds[1], before.kinds[0], before.kinds[2]
    assert catalogue(core_, v1, before=before).kinds == before.kinds
    changed = replace(events.EVENT, short_names=["evt"])
    after = catalogue(Group("", changed, core.SECRET), v1, before=before)
    assert secret in after.kinds
    assert event not in after.kinds
    assert event_v1 not in after.kinds


def test_a_kind_in_another_group_is_another_kind() -> None:
    before = catalogue(Group(A, ONE))
    after = catalogue(Group(B, ONE), before=before)
    assert after.kinds != before.kinds
    assert [kind.group for kind in after.kinds] == [B]
