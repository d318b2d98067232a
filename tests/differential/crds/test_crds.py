"""Manifests of custom resource definitions on kube-apiserver and here: every conversation has the same answers.

Here twice: served by an extension server from the texts, and by the built-in control plane, to which they are applied.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.differential.crds.deliberate import BUILTIN, DELIBERATE, allowed, needed
from tests.differential.crds.every import all_cases
from tests.differential.deliberate import remaining
from tests.differential.playing import Answers

pytestmark = pytest.mark.needs("crd")
CASES = all_cases()


@pytest.mark.parametrize("name", CASES)
def test_the_extension_server_answers_as_kube_apiserver(converse: Callable[[str], Answers], name: str) -> None:
    ours, _, theirs = converse(name)
    left = [remaining(*answers, allowed(name, DELIBERATE)) for answers in zip(ours, theirs, strict=True)]
    assert [answer for answer, _ in left] == [answer for _, answer in left]


@pytest.mark.parametrize("name", CASES)
def test_the_builtin_control_plane_answers_as_kube_apiserver(converse: Callable[[str], Answers], name: str) -> None:
    _, ours, theirs = converse(name)
    left = [remaining(*answers, allowed(name, DELIBERATE, BUILTIN)) for answers in zip(ours, theirs, strict=True)]
    assert [answer for answer, _ in left] == [answer for _, answer in left]


def test_every_difference_that_is_allowed_is_there(converse: Callable[[str], Answers]) -> None:
    unused = []
    for side, entries in enumerate((DELIBERATE, BUILTIN)):
        for entry in entries:
            for name in entry.cases:
                answers = converse(name)
                every = allowed(name, DELIBERATE) if side == 0 else allowed(name, DELIBERATE, BUILTIN)
                if not needed(entry, every, answers[side], answers[2]):
                    unused.append((name, entry.reason))
    assert not unused
