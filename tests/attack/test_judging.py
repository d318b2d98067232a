"""The judge of kills and faults sees each kind of mismatch; without that, its silence would say nothing."""

from __future__ import annotations

import pytest

from tests.attack.judging import Judge, reused
from tests.attack.watching import Event, Relist
from tests.attack.writing import Attempt, Ledger

ADDED = Event("ADDED", "a", "u1", 2, 1)
CHANGED = Event("MODIFIED", "a", "u1", 3, 2)
GONE = Event("DELETED", "a", "u1", 4, 2)
CREATE = Attempt("create", "a", 1, status=201, revision=2, uid="u1")
UPDATE = Attempt("update", "a", 2, expected=2, status=200, revision=3, uid="u1")
DELETE = Attempt("delete", "a", 3, status=200, uid="u1")


def judged(attempts: list[Attempt], told: list[Event | Relist[Event]], listed: list[Event]) -> list[str]:
    judge = Judge(Ledger(0, attempts), {})
    judge.judge(told, listed)
    return judge.violations


def test_what_fits_is_good() -> None:
    assert not judged([CREATE, UPDATE, DELETE], [ADDED, CHANGED, GONE], [])
    assert not judged([CREATE, UPDATE], [ADDED, CHANGED], [CHANGED._replace(kind="LISTED")])
    unanswered = Attempt("update", "a", 2, expected=2)
    assert not judged([CREATE, unanswered], [ADDED], [ADDED])
    assert not judged([CREATE, unanswered], [ADDED, CHANGED], [CHANGED])


@pytest.mark.parametrize(
    ("attempts", "told", "listed"),
    [
        ([CREATE, UPDATE], [ADDED], [ADDED]),
        ([CREATE, DELETE], [ADDED], [ADDED]),
        ([CREATE, UPDATE], [ADDED, CHANGED], [ADDED]),
        ([CREATE, UPDATE], [ADDED, CHANGED], []),
        ([CREATE, UPDATE], [ADDED, CHANGED, CHANGED], [CHANGED]),
        ([CREATE], [ADDED, CHANGED], [CHANGED]),
        ([CREATE, Attempt("update", "a", 2, status=409)], [ADDED, CHANGED], [CHANGED]),
        ([CREATE, Attempt("update", "a", 2, expected=1, status=200, revision=3, uid="u1")], [ADDED, CHANGED], [CHANGED]),
        ([CREATE, Attempt("update", "a", 2, status=200, revision=7, uid="u1")], [ADDED, CHANGED], [CHANGED]),
        ([CREATE, UPDATE, DELETE], [ADDED, CHANGED, GONE, GONE], []),
        ([CREATE, UPDATE], [ADDED, Relist(2, 5, [ADDED])], [ADDED]),
    ],
    ids=["a write is lost", "a delete is lost", "a list is old", "a list lacks it", "told twice", "nobody wrote it",
         "it was refused", "over another revision", "at another revision", "deleted twice", "lost while away"],
)  # fmt: skip
def test_what_does_not_fit_is_seen(
    attempts: list[Attempt], told: list[Event | Relist[Event]], listed: list[Event]
) -> None:
    assert judged(attempts, told, listed)


def test_a_write_while_the_watcher_was_away_is_in_the_list() -> None:
    assert not judged([CREATE, UPDATE], [ADDED, Relist(2, 5, [CHANGED._replace(kind="LISTED")])], [CHANGED])


def test_a_revision_is_given_out_once() -> None:
    assert not reused(Ledger(0, [CREATE, UPDATE]))
    assert reused(Ledger(0, [CREATE, Attempt("create", "b", 5, status=201, revision=2, uid="u2")]))


def test_two_watchers_are_told_one_story() -> None:
    truth: dict[int, Event] = {}
    ledger = Ledger(0, [CREATE])
    Judge(ledger, truth).judge([ADDED], [ADDED])
    other = Judge(ledger, truth)
    different = ADDED._replace(uid="u9")
    other.judge([different], [different])
    assert other.violations
