"""The short form of :mod:`tests.attack.soak`: a few watchers for some seconds, and that its judge sees what is wrong."""

from __future__ import annotations

import random
from array import array
from pathlib import Path

import pytest

from tests.attack.soak import expected_codes, soak, watcher_problems
from tests.attack.soakwatchers import Event, Part, Report, Selection, code


def test_watchers_are_told_exactly_once_and_in_order(tmp_path: Path) -> None:
    rows, violations = soak(
        tmp_path,
        seconds=8,
        watchers=60,
        rate=30,
        warm=100,  # memory is a matter of the long form
        processes=2,
        seed=random.SystemRandom().randrange(10**6),
    )
    assert not violations
    figures = dict(rows)
    assert figures["watchers"] == 60
    assert int(str(figures["events told"])) > 500


STORY = Report(
    Selection(),
    story=True,
    parts=[Part(1, 9)],
    events=[
        Event("ADDED", "a", "one", 2, 1, "3"),
        Event("ADDED", "b", "one", 3, 1, "4"),
        Event("MODIFIED", "b", "one", 5, 2, "3"),
        Event("MODIFIED", "a", "one", 6, 2, "7"),
        Event("DELETED", "b", "one", 9, 2, "3"),
    ],
)
SELECTED = [code(2, "ADDED"), code(5, "ADDED"), code(6, "DELETED"), code(9, "DELETED")]


def test_what_a_selection_shows() -> None:
    """An object that comes to match is ADDED, one that no longer does is DELETED."""
    assert list(expected_codes(STORY, Selection(batch="3"))) == SELECTED


@pytest.mark.parametrize(
    "told",
    [SELECTED[1:], SELECTED[:-1], [*SELECTED[:2], *SELECTED[1:]], [SELECTED[1], SELECTED[0], *SELECTED[2:]],
     [code(2, "MODIFIED"), *SELECTED[1:]], [*SELECTED, code(8, "ADDED")]],
    ids=["the first is missing", "the last is missing", "one twice", "out of order", "another type", "one too many"],
)  # fmt: skip
def test_what_is_wrong_is_seen(told: list[int]) -> None:
    selection = Selection(batch="3")
    codes = expected_codes(STORY, selection)
    good = Report(selection, parts=[Part(1, 9, array("Q", SELECTED))])
    assert not watcher_problems(good, codes, STORY)
    bad = Report(selection, parts=[Part(1, 9, array("Q", told))])
    assert watcher_problems(bad, codes, STORY)
