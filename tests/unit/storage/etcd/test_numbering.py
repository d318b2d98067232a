"""How revisions are numbered, and what is noticed: an etcd that went back, a greater offset, a mark that is gone."""

from __future__ import annotations

import pytest

from extapi.storage.etcd.mark import Mark
from extapi.storage.etcd.numbering import Numbering, WentBack


def begun(revision: int = 10, *, compacted: int = 3, offset: int = 0) -> Numbering:
    numbers = Numbering()
    assert numbers.took(Mark(compacted, 5, offset), revision, 0) is False
    return numbers


def test_the_first_mark_is_no_new_numbering() -> None:
    numbers = begun(offset=100)
    assert (numbers.offset, numbers.oldest, numbers.highest) == (100, 103, 110)
    numbers.check()


def test_an_answer_may_be_older_than_one_that_came_meanwhile() -> None:
    """Two calls at once: what counts is what was seen before a call began."""
    numbers = begun(10)
    numbers.answered(12, 10)
    numbers.answered(11, 10)
    assert numbers.highest == 12


def test_an_etcd_that_went_back_is_refused_until_a_new_numbering_is_above_all_that_was_seen() -> None:
    numbers = begun(10)
    numbers.seen(20)  # by a tail
    with pytest.raises(WentBack, match=r"revision 8 of the store, and was at 20: .*'extapi storage bump etcd:'"):
        numbers.answered(8, 20)
    for check in (numbers.check, lambda: numbers.took(Mark(3, 5), 8, 20), lambda: numbers.took(Mark(3, 5), 30, 20)):
        with pytest.raises(WentBack):  # the last one: numbers came twice meanwhile
            check()
    with pytest.raises(WentBack):  # too little
        numbers.took(Mark(9, 9, 5), 9, 20)
    assert numbers.offset == 0
    assert numbers.took(Mark(10, 10, 100), 10, 20) is True
    numbers.check()
    assert (numbers.offset, numbers.oldest, numbers.highest) == (100, 110, 110)


def test_a_smaller_offset_of_an_older_state_forgets_all_before() -> None:
    """Restored with --bump-revision: etcd's own revisions are above all that was seen."""
    numbers = begun(10, offset=100)
    assert numbers.took(Mark(3, 5, 50), 1_000, 110) is True
    assert (numbers.oldest, numbers.highest) == (1_050, 1_050)


def test_a_compaction_by_others_is_in_numbers_of_the_store() -> None:
    numbers = begun(10, offset=100)
    assert numbers.compacted(7) == 107
    assert numbers.compacted(5) == 107
    assert numbers.took(Mark(9, 12, 100), 12, 110) is False
    assert numbers.oldest == 109


def test_a_mark_that_is_gone_is_refused_unless_there_was_none() -> None:
    Numbering().lost()
    numbers = begun()
    with pytest.raises(WentBack, match="no longer has the store's mark"):
        numbers.lost()
