"""What is done to an object; the cases are those of attemptToDeleteItem."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from extapi.controlplane.controllers.garbage.decisions import Delete, Keep, Standing, decide, unblocked
from extapi.controlplane.controllers.garbage.objects import Observed, Owner
from tests.unit.controlplane.controllers.garbage.world import owner, thing

SOLID, WAITING, ABSENT = Standing
FIRST, SECOND = owner(thing("Map", "first")), owner(thing("Map", "second"))
OBJ = thing("Widget", "obj", FIRST, SECOND)
DEPENDENT = thing("Map", "dependent", owner(OBJ))


def with_(obj: Observed, **changes: Any) -> Observed:
    return msgspec.structs.replace(obj, **changes)


@pytest.mark.parametrize(
    ("standings", "decision"),
    [
        ((SOLID, SOLID), None),
        ((SOLID, ABSENT), Keep((FIRST,))),
        ((WAITING, SOLID), Keep((SECOND,))),
        ((ABSENT, ABSENT), Delete("Background")),
        ((WAITING, ABSENT), Delete("Background")),
    ],
)
def test_an_object_stays_as_long_as_an_owner_does(standings: Any, decision: Any) -> None:
    assert decide(OBJ, standings, []) == decision


def test_without_owners_it_is_not_garbage() -> None:
    assert decide(thing("Map", "free"), [], []) is None


def test_foreground_deletion_goes_on_through_dependents() -> None:
    assert decide(OBJ, [WAITING, ABSENT], [DEPENDENT]) == Delete("Foreground")
    assert decide(OBJ, [ABSENT, ABSENT], [DEPENDENT]) == Delete("Background")


def test_finalizers_that_are_there_say_how() -> None:
    assert decide(with_(OBJ, orphans=True), [ABSENT, ABSENT], []) == Delete("Orphan")
    assert decide(with_(OBJ, foreground=True), [ABSENT, ABSENT], []) == Delete("Foreground")
    assert decide(with_(OBJ, orphans=True, foreground=True), [ABSENT, ABSENT], []) == Delete("Orphan")


def test_a_circle_is_unblocked() -> None:
    blocking = msgspec.structs.replace(FIRST, block_owner_deletion=True, controller=True)
    obj = with_(OBJ, owners=(blocking, SECOND))
    waiting = with_(DEPENDENT, deleted=True, foreground=True)
    free = Owner(FIRST.api_version, FIRST.kind, FIRST.name, FIRST.uid, True, False)
    assert decide(obj, [WAITING, WAITING], [waiting]) == Delete("Foreground", (free, SECOND))
    assert decide(OBJ, [WAITING, WAITING], [waiting]) == Delete("Foreground"), "nothing blocks"
    assert unblocked(with_(OBJ, owners=(free, SECOND))) == ()
