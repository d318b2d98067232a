"""Announced commits are bounded in number and bytes."""

from __future__ import annotations

from extapi.watch.cachedobject import CacheSource
from extapi.watch.expected import ExpectedCommits
from tests.unit.watch.store import LAYOUT, Pizzas, pizza


def test_commits_that_never_come_are_bounded() -> None:
    expected = ExpectedCommits(CacheSource(LAYOUT, Pizzas()))
    for number in range(1000):
        expected.add(pizza(f"p{number}"), {})
    assert len(expected.commits) == 256
    for number in range(20):
        expected.add(pizza("big", labels={"x": f"{number:02}" + "y" * 1024 * 1024}), {})
    assert len(expected.commits) == 15
    assert expected.size == sum(map(len, expected.commits)) <= 16 * 1024 * 1024
    for number in range(20):
        expected.add(pizza(f"p{number}"), {"v2": (b"x" * 1024 * 1024, b"y" * 1024 * 1024)})
    assert len(expected.commits) == 7


def test_what_is_forgotten_leaves_nothing() -> None:
    expected = ExpectedCommits(CacheSource(LAYOUT, Pizzas()))
    expected.add(pizza("one"), {})
    expected.add(pizza("one"), {})
    expected.forget(pizza("two"))
    assert expected.size == len(pizza("one"))
    expected.forget(pizza("one"))
    assert (expected.commits, expected.size) == ({}, 0)
