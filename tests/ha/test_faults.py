"""The schedule of faults: repeatable, and none is left out."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from tests.ha.faults import KINDS, kinds, schedule
from tests.ha.stores import STORES


def test_a_seed_gives_the_same_faults() -> None:
    assert list(islice(schedule(7, 3, STORES["three-members"]), 40)) == list(
        islice(schedule(7, 3, STORES["three-members"]), 40)
    )
    assert list(islice(schedule(7, 3, STORES["three-members"]), 40)) != list(
        islice(schedule(8, 3, STORES["three-members"]), 40)
    )


def test_every_kind_comes_once_before_any_comes_again() -> None:
    possible = kinds(STORES["three-members"])
    met = [fault.kind for fault in islice(schedule(7, 3, STORES["three-members"]), 2 * len(possible))]
    assert sorted(met[: len(possible)]) == sorted(met[len(possible) :]) == sorted(possible)


def test_faults_last_as_long_as_asked_for() -> None:
    assert all(0 < fault.seconds <= 3 for fault in islice(schedule(7, 3, STORES["three-members"]), 100))


def test_every_kind_happens_to_some_store() -> None:
    stores = [*STORES.values(), replace(STORES["one-member"], users=True)]
    assert {kind for store in stores for kind in kinds(store)} == set(KINDS)
