"""The words are those of kube-apiserver's RBAC authorizer; the flags are kubectl's."""

from __future__ import annotations

import pytest

from extapi.authentication.subject import subject_flag

WORDS = 'configmaps "x" is forbidden: User "{}" cannot get resource "configmaps" in API group "" in the namespace "kube-system"'


@pytest.mark.parametrize(
    ("user", "flag"),
    [
        ("system:serviceaccount:restaurant:pizza", "--serviceaccount=restaurant:pizza"),
        ("jane doe", '--user="jane doe"'),
        ("system:anonymous", '--user="system:anonymous"'),
    ],
)
def test_who_was_refused_is_who_is_bound(user: str, flag: str) -> None:
    assert subject_flag(WORDS.format(user)) == flag


def test_without_a_name_there_is_a_place_for_one() -> None:
    assert subject_flag("forbidden") == "--serviceaccount=YOUR_NS:YOUR_SA"
