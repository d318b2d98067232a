"""The schedule of faults: repeatable, and none is left out."""

from __future__ import annotations

from itertools import islice

from tests.ha.faults import KINDS, schedule


def test_a_seed_gives_the_same_faults() -> None:
    assert list(islice(schedule(7, 3), 40)) == list(islice(schedule(7, 3), 40))
    assert list(islice(schedule(7, 3), 40)) != list(islice(schedule(8, 3), 40))


def test_every_kind_comes_once_before_any_comes_again() -> None:
    kinds = [fault.kind for fault in islice(schedule(7, 3), 2 * len(KINDS))]
    assert sorted(kinds[: len(KINDS)]) == sorted(kinds[len(KINDS) :]) == sorted(KINDS)


def test_faults_last_as_long_as_asked_for() -> None:
    assert all(0 < fault.seconds <= 3 for fault in islice(schedule(7, 3), 100))
