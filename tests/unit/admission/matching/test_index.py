"""Which configurations are about a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from extapi.admission.matching import index as module
from extapi.admission.matching.index import Match, RuleIndex
from extapi.admission.matching.rules import RuleWithOperations, Subject


@dataclass
class Configuration:
    name: str
    rules: tuple[RuleWithOperations, ...]
    equivalent: bool = True


def about(name: str, **members: Any) -> Configuration:
    all_ = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    return Configuration(name, (RuleWithOperations({**all_, **members}),))


SUBJECT = Subject("CREATE", "a.test", "v1", "tables", "", namespaced=True, equivalents=("v1", "v2"))


def found(index: RuleIndex[Configuration], subject: Subject, kind: object = "kind") -> tuple[Match[Configuration], ...]:
    key = (subject.group, subject.version, subject.resource)
    known = index.known(key, kind)
    return index.found(key, kind, subject) if known is None else known


def test_those_that_match_in_order_and_with_their_place() -> None:
    index = RuleIndex([about("a"), about("b", resources=["chairs"]), about("c", apiVersions=["v2"])])
    matches = [("a", 0, "v1"), ("c", 2, "v2")]
    assert [(each.found.name, each.place, each.version) for each in found(index, SUBJECT)] == matches
    assert found(index, SUBJECT) is found(index, SUBJECT)
    assert index
    assert not RuleIndex([])


def test_a_kind_that_is_replaced_may_have_other_versions() -> None:
    index = RuleIndex([about("c", apiVersions=["v2"])])
    assert len(found(index, SUBJECT, before := object())) == 1
    alone = SUBJECT._replace(equivalents=("v1",))
    assert len(found(index, alone, before)) == 1  # nothing says that it has changed
    assert not found(index, alone, object())


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST", 10)
    index = RuleIndex([about("a")])
    for number in range(100):
        assert len(found(index, SUBJECT._replace(resource=f"r{number}"))) == 1
        assert len(index._known) <= 10
