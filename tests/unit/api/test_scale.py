"""The texts are those of ``ValidateCustomResourceDefinitionSubresources`` for a CRD with the same paths."""

from __future__ import annotations

from typing import Any

import pytest

from extapi import Kind, Object, Scale, Subresource, Version
from extapi.api.declaration import DeclarationError
from extapi.api.scale import path_problems

GOOD = {"spec_replicas_path": ".spec.replicas", "status_replicas_path": ".status.replicas"}
SCALE = Scale(**GOOD)


def problems(**paths: Any) -> list[str]:
    return list(path_problems(Scale(**{**GOOD, **paths})))


def test_paths_of_names_are_good() -> None:
    assert problems() == []
    assert problems(spec_replicas_path=".spec.a-b.c_d.E9", label_selector_path=".spec.selector") == []
    assert problems(label_selector_path=".status.selector") == []


@pytest.mark.parametrize(
    ("paths", "problem"),
    [
        ({"spec_replicas_path": ""}, "spec_replicas_path: Required value"),
        ({"status_replicas_path": ""}, "status_replicas_path: Required value"),
        (
            {"spec_replicas_path": "spec.replicas"},
            'spec_replicas_path: Invalid value: "spec.replicas": must be a simple json path starting with .',
        ),
        (
            {"spec_replicas_path": ".status.replicas"},
            'spec_replicas_path: Invalid value: ".status.replicas": should be a json path under .spec',
        ),
        (
            {"spec_replicas_path": ".spec"},
            'spec_replicas_path: Invalid value: ".spec": should be a json path under .spec',
        ),
        (
            {"status_replicas_path": ".spec.replicas"},
            'status_replicas_path: Invalid value: ".spec.replicas": should be a json path under .status',
        ),
        (
            {"label_selector_path": ".metadata.labels"},
            'label_selector_path: Invalid value: ".metadata.labels": should be a json path under either .spec or .status',
        ),
        (
            {"spec_replicas_path": ".spec.pools[0].replicas"},
            'spec_replicas_path: Invalid value: ".spec.pools[0].replicas": must be a json path in the dot notation',
        ),
        (
            {"spec_replicas_path": ".spec..replicas"},
            'spec_replicas_path: Invalid value: ".spec..replicas": must be a json path in the dot notation',
        ),
        ({"status_replicas_path": 3}, "status_replicas_path must be a string, not 3"),
    ],
)
def test_a_wrong_path_is_named(paths: dict[str, Any], problem: str) -> None:
    assert problems(**paths) == [problem]


class Storage:
    async def get(self, _request: Any) -> Any:
        return None


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"scale": True}, "kind Flock: scale must be an extapi.Scale, not True"),
        ({"scale": Scale}, "kind Flock: scale is the class Scale; write Scale(...)"),
        ({"versions": {"v1": Version(Object, scale=True)}}, "kind Flock: version v1: scale must be an extapi.Scale, not True"),  # type: ignore[arg-type]  # a mistake
        ({"versions": {"v1": Version(Object, status=1)}}, "kind Flock: version v1: status must be True or False, not 1"),  # type: ignore[arg-type]  # a mistake
        (
            {"scale": Scale(spec_replicas_path="", status_replicas_path=".status.n")},
            "kind Flock: scale: spec_replicas_path: Required value",
        ),
        (
            {"versions": {"v1": Version(Object, scale=Scale(spec_replicas_path=".spec.n", status_replicas_path=".n"))}},
            'kind Flock: version v1: scale: status_replicas_path: Invalid value: ".n": should be a json path under .status',
        ),
        (
            {"scale": SCALE, "subresources": {"scale": Subresource(field="spec")}},
            "kind Flock: subresource scale occurs twice; declare either scale= or your own",
        ),
        (
            {"status": False, "versions": {"v1": Version(Object, status=True)}, "subresources": {"status": Subresource(field="spec")}},
            "kind Flock: subresource status occurs twice; a kind that declares its own needs status=False",
        ),
        (
            {"scale": SCALE, "rest": Storage()},
            "kind Flock: scale is for stored objects; a kind with rest declares a subresource scale with rest=",
        ),
    ],
)  # fmt: skip
def test_a_declaration_that_cannot_be_served_is_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        Kind("Flock", **{"versions": {"v1": Version(Object)}, "storage": "v1", **given})
    assert str(refused.value) == problem


def test_a_version_has_what_its_kind_has_or_its_own() -> None:
    other = Scale(spec_replicas_path=".spec.n", status_replicas_path=".status.n")
    kind = Kind(
        "Flock",
        storage="v1",
        scale=SCALE,
        versions={
            "v1": Version(Object),
            "v1beta1": Version(Object, scale=other, status=False),
            "v1alpha1": Version(Object, scale=False, status=True),
        },
    )
    assert [kind.scale_of(name) for name in kind.versions] == [SCALE, other, None]
    assert [kind.status_of(name) for name in kind.versions] == [True, False, True]
    bare = Kind(
        "Flock", storage="v1", status=False, versions={"v1": Version(Object), "v2": Version(Object, status=True)}
    )
    assert [bare.scale_of(name) for name in bare.versions] == [None, None]
    assert [bare.status_of(name) for name in bare.versions] == [False, True]
