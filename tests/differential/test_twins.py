"""Every case, sent to both sides: the answers are the same, but for what ``deliberate`` allows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.differential.deliberate import DELIBERATE, allowed, remaining
from tests.differential.every import all_cases
from tests.differential.playing import Answers

pytestmark = pytest.mark.needs("crd")


@pytest.mark.parametrize("name", all_cases())
def test_both_sides_answer_alike(converse: Callable[[str], Answers], name: str) -> None:
    ours, theirs = converse(name)
    entries = allowed(name)
    left = [remaining(*answers, entries) for answers in zip(ours, theirs, strict=True)]
    assert [answer for answer, _ in left] == [answer for _, answer in left]
    assert ours != theirs or not entries, "this case needs no entry in DELIBERATE any more"


def test_each_difference_names_cases_that_exist_and_a_reason() -> None:
    known = set(all_cases())
    for entry in DELIBERATE:
        assert entry.reason
        assert entry.cases
        assert known.issuperset(entry.cases), set(entry.cases) - known
