"""Definitions as kube-apiserver reads them; the texts are those of Go's decoder."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.crd.gojson import GoTypeError
from extapi.crd.types import read_definition
from tests.differential.definitions.building import definition, field


def test_what_is_right_stays() -> None:
    written = field(
        {"type": "string", "default": None, "enum": [None, 1.5], "x-kubernetes-validations": [{"rule": "a"}]}
    )
    read, unknown = read_definition(written)
    schema = read["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["f"]
    assert schema == {"type": "string", "enum": [None, 1.5], "x-kubernetes-validations": [{"rule": "a"}]}
    assert unknown == []


def test_unknown_fields_are_named_and_dropped() -> None:
    written = field({"type": "string", "minLenght": 1})
    written["spec"]["bogus"] = written["spec"]["names"]["nothing"] = 1
    read, unknown = read_definition(written)
    assert sorted(unknown) == [
        "spec.bogus",
        "spec.names.nothing",
        "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.f.minLenght",
    ]
    assert "bogus" not in read["spec"]


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (
            {"group": 1},
            "json: cannot unmarshal number into Go struct field CustomResourceDefinitionSpec.spec.group of type string",
        ),
        ({"names": []}, "json: cannot unmarshal array into Go struct field CustomResourceDefinitionSpec.spec.names"),
        ({"preserveUnknownFields": "no"}, "json: cannot unmarshal string into Go struct field"),
    ],
)
def test_values_of_a_wrong_type_are_refused(spec: dict[str, Any], wanted: str) -> None:
    with pytest.raises(GoTypeError) as raised:
        read_definition(definition(**spec))
    assert str(raised.value).startswith(wanted)
