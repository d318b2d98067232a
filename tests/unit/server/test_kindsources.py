"""Sources of kinds: what clients see when several offer kinds, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from extapi import Group, Version
from extapi.api.behaviour import CUSTOM_RESOURCE
from extapi.api.declaration import DeclarationError
from extapi.api.definition import Kind
from extapi.server.kindsources import LINGER, KindSources, OfferedKind, RefusedKind, from_groups
from tests.unit.server.generations import A, B, Place, kind
from tests.unit.watch.store import caught

ALPHA, BETA = kind("Alpha"), kind("Beta")


def paths(group: str, plural: str) -> str:
    return f"/apis/{group}/v1/namespaces/default/{plural}"


class Sourced:
    """A server with sources."""

    def __init__(self, *groups: Group) -> None:
        self.place = Place(*groups)
        self.sources = KindSources(groups, self.place.server.server.replace, self.place.server.clock)

    def offer(self, source: str, *kinds: OfferedKind, preferred: dict[str, str] | None = None) -> list[str]:
        """Offer kinds; the texts of those refused."""
        refused: Sequence[RefusedKind] = self.place.server.run(self.sources.offer(source, kinds, preferred))
        return [each.text() for each in refused]

    def served(self, group: str) -> list[str]:
        """The resources of a group's first version."""
        answer = self.place.request("GET", f"/apis/{group}/v1")
        return [] if answer.status == 404 else [each["name"] for each in answer.json()["resources"]]


@pytest.fixture
def sourced() -> Iterator[Sourced]:
    made = Sourced(Group(A, ALPHA))
    yield made
    made.place.stop()


def offered(group: str, kind: Kind, origin: str = "") -> OfferedKind:
    return OfferedKind(group, kind, origin)


def test_kinds_of_several_sources_are_served_together(sourced: Sourced) -> None:
    other = kind("Gamma", 2)
    assert sourced.offer("files", offered(A, other), offered(B, kind("Delta", 3))) == []
    assert (sourced.served(A), sourced.served(B)) == (["alphas", "gammas"], ["deltas"])
    assert sourced.offer("definitions", offered(B, kind("Epsilon", 4))) == []
    assert sourced.served(B) == ["deltas", "epsilons"]
    assert sourced.offer("files", offered(A, other)) == []
    assert (sourced.served(A), sourced.served(B)) == (["alphas", "gammas"], ["epsilons"])


def test_a_watch_goes_on_while_other_kinds_come_and_go(sourced: Sourced) -> None:
    watch = sourced.place.watch(paths(A, "alphas"))
    sourced.offer("files", offered(A, kind("Gamma", 2)))
    sourced.offer("files")
    sourced.place.create(paths(A, "alphas"), "one")
    sourced.place.advance(0.1)
    assert [obj["metadata"]["name"] for _, obj in watch.events] == ["one"]


@pytest.mark.parametrize(
    ("second", "what"),
    [
        (kind("Alpha", 2), 'resource name "alphas"'),
        (kind("Gamma", 1), 'resource name "gen1"'),
        (kind("Alpha", 2, plural="others", singular="other"), 'kind "Alpha"'),
        (kind("AlphaList", 2), 'kind "AlphaList"'),
        (kind("Gamma", 2, singular="alphas"), 'resource name "alphas"'),
    ],
)
def test_of_two_kinds_with_one_name_the_first_stays(sourced: Sourced, second: Kind, what: str) -> None:
    told = sourced.offer("files", offered(A, second, "b.yaml:1"), offered(B, second))
    assert told == [f"b.yaml:1: {second.plural}.{A}: the {what} is already in use"]
    assert sourced.place.create(paths(A, "alphas"), "one").json()["spec"]["gen1"] == 1
    assert sourced.served(B) == [second.plural]


def test_the_loser_is_served_once_the_name_is_free(sourced: Sourced) -> None:
    first, second = offered(B, kind("Gamma", 2), "a.yaml:3"), offered(B, kind("Gamma", 3), "b.yaml:1")
    assert sourced.offer("files", first, second) == [
        f'b.yaml:1: gammas.{B}: the resource name "gammas" is already in use by a.yaml:3'
    ]
    assert sourced.offer("files", second) == []
    assert sourced.place.create(paths(B, "gammas"), "one").json()["spec"]["gen3"] == 3


def test_a_kind_that_cannot_be_served_keeps_nobody_else(sourced: Sourced) -> None:
    good, wrong = (
        kind("Gamma", 2),
        Kind("Delta", versions={"v1": Version({"type": "object", "properties": {"spec": {}}})}, storage="v1"),
    )
    (told,) = sourced.offer("files", offered(B, wrong, "b.yaml:1"), offered(B, good))
    assert told.startswith(f"b.yaml:1: deltas.{B}: kind Delta: version v1: ")
    assert sourced.served(B) == ["gammas"]


def test_what_was_served_of_a_kind_is_served_until_its_change_can_be(sourced: Sourced) -> None:
    """Objects are stored in v1, which the change does not have."""
    before = kind("Gamma", 2)
    sourced.offer("files", offered(B, before))
    sourced.place.create(paths(B, "gammas"), "one")
    after = kind("Gamma", 3, versions=("v2",), storage="v2")
    (told,) = sourced.offer("files", offered(B, after), offered(B, kind("Delta", 4)))
    assert told.startswith(f"gammas.{B}: ")
    assert "v1" in told
    assert sorted(sourced.served(B)) == ["deltas", "gammas"]
    assert sourced.place.specs(paths(B, "gammas"))["one"]["gen2"] == 2


def test_kinds_of_which_no_version_is_served_are_not_reachable(sourced: Sourced) -> None:
    hidden = kind("Gamma", 2)
    for version in hidden.versions.values():
        object.__setattr__(version, "served", False)
    assert sourced.offer("files", offered(B, hidden)) == []
    assert sourced.served(B) == []


def test_a_chosen_preferred_version_stays_chosen() -> None:
    older = Group(A, kind("Alpha", versions=("v1", "v2")), preferred="v1")
    sourced = Sourced(older)
    try:
        sourced.offer("files", offered(A, kind("Gamma", 2, versions=("v3",), storage="v3")))
        found = sourced.place.request("GET", f"/apis/{A}").json()
        assert found["preferredVersion"]["version"] == "v1"
        assert [each["version"] for each in found["versions"]] == ["v1", "v3", "v2"]
    finally:
        sourced.place.stop()


def test_a_preferred_version_that_nobody_serves_is_not_preferred(sourced: Sourced) -> None:
    """As after the last kind with that version has gone."""
    assert sourced.offer("files", offered(B, kind("Gamma", 2)), preferred={B: "v9"}) == []
    assert sourced.place.request("GET", f"/apis/{B}").json()["preferredVersion"]["version"] == "v1"


def test_groups_offer_their_kinds_and_their_choice() -> None:
    kinds, chosen = from_groups([Group(A, ALPHA, BETA), Group(B, kind("Gamma", versions=("v1", "v2")), preferred="v1")])
    assert [(each.group, each.resource) for each in kinds] == [
        (A, f"alphas.{A}"),
        (A, f"betas.{A}"),
        (B, f"gammas.{B}"),
    ]
    assert chosen == {B: "v1"}


def test_a_server_without_kinds_can_be_offered_some() -> None:
    sourced = Sourced()
    try:
        assert sourced.place.request("GET", "/apis").json()["groups"] == []
        assert sourced.offer("files", offered(B, kind("Gamma"))) == []
        assert sourced.served(B) == ["gammas"]
    finally:
        sourced.place.stop()


def test_an_offer_that_fails_leaves_all_as_it_was(sourced: Sourced) -> None:
    sourced.offer("files", offered(B, kind("Gamma", 2)))
    sourced.place.server.server._served.stop()
    failing = Deferred.fromCoroutine(sourced.sources.offer("files", ()))
    assert "the server stops" in str(caught(failing))
    assert sourced.served(B) == ["gammas"]


def test_the_api_is_replaced_as_a_whole_or_not_at_all(sourced: Sourced) -> None:
    """An author's plugins fit one state of the module."""
    switched: list[str] = []
    server = sourced.place.server
    wrong = Kind("Wrong", storage="v1", versions={"v1": Version({"type": "wrong"})})
    sourced.offer("files", offered(A, kind("Gamma", 2), "gammas.yaml:1"))
    replacing = sourced.sources.replace([Group(A, kind("Beta", 3), wrong)], lambda: switched.append("wrong"))
    with pytest.raises(DeclarationError):
        server.run(replacing)
    assert (sourced.served(A), switched) == (["alphas", "gammas"], [])
    replacing = sourced.sources.replace([Group(A, kind("Gamma", 4))], lambda: switched.append("right"))
    assert [each.text() for each in server.run(replacing)] == [
        f'gammas.yaml:1: gammas.{A}: the resource name "gammas" is already in use'
    ]
    assert (sourced.served(A), switched) == (["gammas"], ["right"])
    sourced.offer("files")
    assert (sourced.served(A), switched) == (["gammas"], ["right"])


class Closing:
    """A converter with something to close."""

    name = "conversion webhook"

    def __init__(self) -> None:
        self.closed = False

    async def convert(self, objects: Sequence[Any], api_version: str) -> Sequence[Any]:
        return [{**obj, "apiVersion": api_version} for obj in objects]

    def close(self) -> None:
        self.closed = True


def test_a_converter_goes_a_minute_after_its_kind(sourced: Sourced) -> None:
    """Requests that began before may still use it."""
    converter = Closing()
    behaviour = replace(CUSTOM_RESOURCE, converter=converter)
    first, second = kind("Gamma", 2, behaviour=behaviour), kind("Gamma", 3, behaviour=behaviour)
    sourced.offer("files", offered(B, first))
    sourced.offer("files", offered(B, second))
    sourced.place.advance(LINGER)
    assert not converter.closed
    sourced.offer("files")
    sourced.place.advance(LINGER - 1)
    assert not converter.closed
    sourced.place.advance(1)
    assert converter.closed


def test_a_converter_whose_kind_has_come_back_stays(sourced: Sourced) -> None:
    converter = Closing()
    behaviour = replace(CUSTOM_RESOURCE, converter=converter)
    sourced.offer("files", offered(B, kind("Gamma", 2, behaviour=behaviour)))
    sourced.offer("files")
    sourced.place.advance(LINGER - 1)
    sourced.offer("files", offered(B, kind("Gamma", 2, behaviour=behaviour)))
    sourced.place.advance(LINGER)
    assert not converter.closed
