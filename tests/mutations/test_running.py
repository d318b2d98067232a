"""The runner on a small tree: it tells what tests see from what they miss, and from what breaks or hangs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutations.mutation import Mutation
from tests.mutations.running import CopiedTree, Outcome, copied

MODULE = """
LIMIT = 3

def fits(size):
    while size < 0:
        size += 1
    return size <= LIMIT

def unused():
    return 1
"""
TESTS = """
from module import LIMIT, fits

def test_the_limit_fits():
    assert fits(3)
    assert fits(-1)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "module.py").write_text(MODULE)
    (tree / "test_module.py").write_text(TESTS)
    return tree


def mutation(old: str, new: str) -> Mutation:
    return Mutation("p", "n", "module.py", "w", old, new, ("test_module.py",))


def test_what_becomes_of_mutations(root: Path) -> None:
    with copied(root) as tree:
        seen = tree.attempt(mutation("size <= LIMIT", "size < LIMIT"))
        missed = tree.attempt(mutation("return 1", "return 2"))
        broken = tree.attempt(mutation("LIMIT = 3", "MOST = 3"))
        stale = tree.attempt(mutation("return 3", "return 4"))
        assert tree.run(["test_module.py"]).code == 0, "each mutation is taken out again"
    assert (seen.outcome, seen.told) == (Outcome.SEEN, "test_module.py::test_the_limit_fits")
    assert (missed.outcome, missed.told) == (Outcome.MISSED, "all tests passed")
    assert broken.outcome is Outcome.BROKEN
    assert (stale.outcome, stale.told) == (Outcome.STALE, "module.py has the old text 0 times, and not once")
    assert (root / "module.py").read_text() == MODULE


def test_tests_that_do_not_end(root: Path) -> None:
    tree = CopiedTree(root, longest=3)
    assert tree.attempt(mutation("size += 1", "size -= 1")).outcome is Outcome.HUNG
