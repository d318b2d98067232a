from __future__ import annotations

from typing import Any

import pytest

from extapi import Api, Group, Kind, PolicyRule, Version
from extapi.api.declaration import DeclarationError


def rule(**changes: Any) -> PolicyRule:
    return PolicyRule(**{"api_groups": [""], "resources": ["secrets"], "verbs": ["get"], **changes})


def test_it_is_written_as_in_a_cluster_role() -> None:
    assert rule().to_dict() == {"apiGroups": ("",), "resources": ("secrets",), "verbs": ("get",)}
    assert rule(resource_names=["a"]).to_dict()["resourceNames"] == ("a",)
    assert list(PolicyRule.for_events().to_dict()["apiGroups"]) == ["", "events.k8s.io"]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"resources": "secrets"}, "PolicyRule: resources must be a list of strings, such as ['secrets']"),
        ({"verbs": []}, "PolicyRule: verbs is empty: the rule would allow nothing"),
        ({"resources": [""]}, "PolicyRule: resources has '', which is not a name"),
        ({"verbs": [1]}, "PolicyRule: verbs has 1, which is not a name"),
        (
            {"resources": ["Secrets"]},
            "PolicyRule: resources has 'Secrets'; names of groups, resources and verbs are in lower case",
        ),
        ({"api_groups": ["apps/v1"]}, "PolicyRule: api_groups has 'apps/v1'; write the group without a version"),
    ],
)
def test_mistakes_are_told(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        rule(**changes)
    assert str(caught.value) == problem


def test_an_api_needs_rules() -> None:
    group = Group("a.example.com", Kind("A", storage="v1", versions={"v1": Version({"type": "object"})}))
    assert Api(group, needs=[rule()]).needs == (rule(),)
    wrong: Any = {"verbs": ["get"]}
    with pytest.raises(DeclarationError, match=r"^needs\[0\] must be an extapi.PolicyRule, not \{'verbs'"):
        Api(group, needs=[wrong])
