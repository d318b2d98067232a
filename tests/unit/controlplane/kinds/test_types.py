"""The types are those of kube-apiserver: every field, its type, and how lists merge, as its OpenAPI v3 publishes them.

``fields.json`` has them as recorded from kube-apiserver 1.36.3: by path, in words.
"""

import json
from pathlib import Path

import pytest

from extapi import Object
from extapi.controlplane.kinds import (
    apiregistration,
    authentication,
    authorization,
    core,
    data,
    events,
    leases,
    rbac,
    services,
)
from extapi.schema.compile import compile_type
from extapi.schema.structural import Structural

RECORDED = json.loads((Path(__file__).parent / "fields.json").read_text(encoding="utf-8"))
MODULES = (apiregistration, authentication, authorization, core, data, events, leases, rbac, services)
TYPES: list[type[Object]] = [
    found
    for module in MODULES
    for found in vars(module).values()
    if isinstance(found, type)
    and issubclass(found, Object)
    and found is not Object
    and found.__module__ == module.__name__
]


def words(node: Structural) -> str:
    said = [
        (node.type or ("int-or-string" if node.int_or_string else ""), ""),
        (node.list_type, "list="),
        ("+".join(node.list_map_keys), "keys="),
        (node.map_type, "map="),
        (node.patch_strategy, "patch="),
        (node.patch_merge_key, "by="),
        (node.format if node.format in {"int32", "int64"} else "", ""),
    ]
    return " ".join(prefix + text for text, prefix in said if text)


def fields(node: Structural, path: str = "") -> dict[str, str]:
    found = {path: words(node)} if path else {}
    for name, sub in node.properties.items():
        found |= fields(sub, f"{path}.{name}" if path else name)
    if node.items is not None:
        found |= fields(node.items, f"{path}[]")
    if node.additional is not None:
        found |= fields(node.additional, f"{path}{{}}")
    return found


def test_all_types_are_compared() -> None:
    assert {found.__name__ for found in TYPES} == set(RECORDED)


@pytest.mark.parametrize("form", TYPES, ids=[found.__name__ for found in TYPES])
def test_fields_are_those_of_kube_apiserver(form: type[Object]) -> None:
    wanted = dict(RECORDED[form.__name__])
    if form is apiregistration.APIService:
        assert wanted["spec.caBundle"] == "string list=atomic"  # of a string that says nothing
        wanted["spec.caBundle"] = "string"
    assert fields(compile_type(form)) == wanted
