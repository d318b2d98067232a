"""The judge finds nothing wrong with correct histories, and each planted fault."""

from __future__ import annotations

from functools import cache

import pytest

from tests.ha.judging import judge
from tests.ha.judging.example import correct_history
from tests.ha.judging.history import Get, History, Listed, Version, Write
from tests.ha.judging.plants import PLANTS, planted

recorded = cache(correct_history)


@pytest.mark.parametrize("seed", range(20))
def test_a_correct_history_is_correct(seed: int) -> None:
    history = correct_history(seed)
    assert {write.result for write in history.writes} == {"acknowledged", "uncertain", "refused"}
    assert judge.judge(history) == []
    assert judge.happened(history) > 0


@pytest.mark.parametrize("name", PLANTS)
@pytest.mark.parametrize("seed", range(3))
def test_a_planted_fault_is_found(name: str, seed: int) -> None:
    found = judge.judge(planted(recorded(seed), name, seed))
    assert PLANTS[name][1] in {finding.rule for finding in found}


def test_every_rule_has_its_fault() -> None:
    """FOREIGN, CONTENT, RESUMED and LOG are tested below."""
    rules = {value for name, value in vars(judge).items() if name.isupper()}
    assert rules - {rule for _, rule in PLANTS.values()} == {judge.FOREIGN, judge.CONTENT, judge.RESUMED, judge.LOG}


def history(log: list[Version], writes: list[Write]) -> History:
    return History(max((version.revision for version in log), default=1), log, writes, [], [], [])


def made(name: str, key: str, start: float, end: float, revision: int, **rest: object) -> Write:
    fields = {"result": "acknowledged", "expected": 0, "sent": {"op": name}, "revision": revision, **rest}
    return Write(id=name, verb="create", key=key, start=start, end=end, **fields)  # type: ignore[arg-type]  # a test's


def rules(tried: History) -> set[str]:
    return {finding.rule for finding in judge.judge(tried)}


def test_an_uncertain_write_may_be_in_the_log_or_not_and_much_later() -> None:
    maybe = made("maybe", "x", 0, 1, 0, result="uncertain")
    other = made("other", "y", 2, 3, 5)
    assert rules(history([Version(5, "y", {"op": "other"})], [maybe, other])) == set()
    assert rules(history([Version(4, "x", {"op": "maybe"}), Version(5, "y", {"op": "other"})], [maybe, other])) == set()
    assert rules(history([Version(5, "y", {"op": "other"}), Version(6, "x", {"op": "maybe"})], [maybe, other])) == set()
    # But not before it was sent.
    late = made("maybe", "x", 9, 10, 0, result="uncertain")
    tried = history([Version(4, "x", {"op": "maybe"}), Version(5, "y", {"op": "other"})], [late, other])
    assert rules(tried) == {judge.ORDER}


def test_order_is_over_all_objects() -> None:
    first, second = made("first", "x", 0, 1, 6), made("second", "y", 2, 3, 5)
    tried = history([Version(5, "y", {"op": "second"}), Version(6, "x", {"op": "first"})], [first, second])
    assert rules(tried) == {judge.ORDER}


def test_a_read_of_nothing_may_be_before_or_after_an_object_was_there() -> None:
    create = made("c", "x", 0, 1, 5)
    delete = Write("d", "delete", "x", 4, 5, "acknowledged", 5, {})
    tried = history([Version(5, "x", {"op": "c"}), Version(6, "x", None)], [create, delete])
    for start, end, expected in (
        (-2, -1, set()),
        (0.5, 0.6, set()),
        (4.1, 4.2, set()),
        (6, 7, set()),
        (2, 3, {judge.STALE}),  # it was there then: the delete has not been sent yet
    ):
        tried.gets = [Get("x", start, end, True, 0, None)]
        assert rules(tried) == expected, (start, end)
        tried.gets = [Get("x", start, end, False, 0, None)]
        assert rules(tried) == set()


def test_a_stale_read_of_nothing_is_blamed_alone() -> None:
    """That the object is gone again later does not let everything before look as if it came after that."""
    create, other = made("c", "x", 0, 1, 5), made("o", "y", 4, 5, 6)
    delete = Write("d", "delete", "x", 8, 9, "acknowledged", 5, {})
    log = [Version(5, "x", {"op": "c"}), Version(6, "y", {"op": "o"}), Version(7, "x", None)]
    tried = history(log, [create, other, delete])
    tried.gets = [Get("x", 2, 3, True, 0, None), Get("y", 6, 7, True, 6, {"op": "o"})]
    assert [finding.rule for finding in judge.judge(tried)] == [judge.STALE]
    # What took so long that the delete may have been meanwhile is right.
    tried.gets[0] = Get("x", 2, 8.5, True, 0, None)
    assert rules(tried) == set()


def test_any_of_two_deletes_without_an_answer_can_have_been_it() -> None:
    create = made("c", "x", 0, 1, 5)
    first = Write("d1", "delete", "x", 2, 12, "uncertain", 5, {})
    second = Write("d2", "delete", "x", 8, 11, "uncertain", 5, {})
    for both in ([first, second], [second, first]):
        tried = history([Version(5, "x", {"op": "c"}), Version(6, "x", None)], [create, *both])
        tried.gets = [Get("x", 4, 5, True, 0, None)]
        assert rules(tried) == set()


def test_what_was_once_seen_stays_seen() -> None:
    """Two reads while a write runs: once one has shown it, a later one shows it, too."""
    tried = history([Version(5, "x", {"op": "c"})], [made("c", "x", 0, 10, 5)])
    old, new = Get("x", 1, 2, True, 0, None), Get("x", 3, 4, True, 5, {"op": "c"})
    tried.gets = [old, new]
    assert rules(tried) == set()
    tried.gets = [Get("x", 1, 2, True, 5, {"op": "c"}), Get("x", 3, 4, True, 0, None)]
    assert rules(tried) == {judge.STALE}
    # A read with resourceVersion=0 shows it as well.
    tried.gets = [Get("x", 1, 2, False, 5, {"op": "c"}), Get("x", 3, 4, True, 0, None)]
    assert rules(tried) == {judge.STALE}


def test_what_nobody_wrote_and_what_became_something_else() -> None:
    assert rules(history([Version(5, "x", {"op": "?"})], [])) == {judge.FOREIGN}
    assert rules(history([Version(5, "x", {"op": "c", "more": ""})], [made("c", "x", 0, 1, 5)])) == {judge.CONTENT}
    assert rules(history([Version(5, "x", None)], [])) == {judge.FOREIGN}


def test_a_watcher_that_lists_again_unasked() -> None:
    tried = correct_history(1)
    entries = tried.watches[0].entries
    listed = entries[0]
    assert isinstance(listed, Listed)
    entries.append(listed)
    assert judge.RESUMED in rules(tried)


def test_a_log_that_is_out_of_order() -> None:
    tried = correct_history(1)
    tried.log[3:5] = tried.log[3:5][::-1]
    assert judge.LOG in rules(tried)
