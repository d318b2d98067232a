"""The mutations fit the code: a change that moves their texts has to bring them along.

Each is planted in memory; nothing runs. ``python -m tests.mutations`` runs the tests.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.mutations.mutation import Mutation, StaleMutation, load
from tests.mutations.running import ROOT

MUTATIONS = list(load())
PACKAGES = {path.parent.name for path in (ROOT / "extapi").glob("*/__init__.py")} - {"pizza", "http"}
"""Packages with rules of their own: pizza is the example, http has only data."""


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[each.name for each in MUTATIONS])
def test_a_mutation_can_be_planted(mutation: Mutation) -> None:
    source = (ROOT / mutation.module).read_text()
    assert mutation.planted(source) != source
    missing = [test for test in mutation.tests if not (ROOT / test.partition("::")[0]).is_file()]
    assert not missing
    assert mutation.why
    assert "\n" not in mutation.why


def test_names_are_unique() -> None:
    assert [name for name, count in Counter(each.name for each in MUTATIONS).items() if count > 1] == []


def test_each_package_has_mutations() -> None:
    assert PACKAGES - {each.package for each in MUTATIONS} == set()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("is not there", "x", "has the old text 0 times"),
        ("1", "3", "has the old text 2 times"),
        ("x = 1", "x = (", "is no Python"),
        ("x = 1", "x =  1", "does the same"),
    ],
)
def test_a_stale_mutation_says_why(old: str, new: str, why: str) -> None:
    mutation = Mutation("p", "n", "m.py", "w", old, new, ("test_m.py",))
    with pytest.raises(StaleMutation, match=why):
        mutation.planted("x = 1\ny = 1\n")
