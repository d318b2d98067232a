"""The worst definitions and objects against a built-in control plane in its own process: right answers, and others have theirs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attack.definedkinds import control_plane, run
from tests.kubernetes.calling import Caller
from tests.kubernetes.control_plane import ControlPlane

SHORT = [
    "more than 3 MiB",
    "a schema 5,000 deep",
    "a schema as deep as a body may be",
    "10,000 columns",
    "10,000 versions",
    "10,000 short names",
    "patterns that backtrack",
    "a long text against a pattern that backtracks",
    "a pattern of large repetitions",
    "a rule of nearly the greatest cost",
    "300 properties",
    "3,000 properties",
    "a map list of 10,000",
    "deep unknown fields",
]
MEANWHILE = 10
"""Answers to somebody else while a thread does the work: one or two, if the reactor did it."""


@pytest.fixture(scope="module")
def plane() -> Iterator[tuple[ControlPlane, Caller]]:
    with control_plane() as started:
        yield started


@pytest.mark.parametrize("name", SHORT)
def test_it_is_answered_as_it_should_be(name: str, plane: tuple[ControlPlane, Caller]) -> None:
    for found in run(*plane, name):
        assert found.good, (found.step.name, found.answer.status, found.answer.body[:500], found.failure)


def test_others_are_answered_while_rules_are_compiled(plane: tuple[ControlPlane, Caller]) -> None:
    define, create, patch = run(*plane, "2,000 rules")
    assert [each.answer.status for each in (define, create, patch)] == [201, 201, 200]
    assert define.answered >= MEANWHILE
    assert create.answered >= MEANWHILE
