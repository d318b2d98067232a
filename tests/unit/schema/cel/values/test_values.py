from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.types import IP
from extapi.schema.cel.values.concatenation import concatenate
from extapi.schema.cel.values.values import (
    NONE,
    Duration,
    MapList,
    SetList,
    Timestamp,
    TypeValue,
    UInt,
    of_type,
    type_name,
)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (True, "bool"),
        (1, "int"),
        (UInt(1), "uint"),
        (1.0, "double"),
        ("", "string"),
        (b"", "bytes"),
        (None, "null_type"),
        (Duration(1), "google.protobuf.Duration"),
        (Timestamp(1), "google.protobuf.Timestamp"),
        ([], "list"),
        (SetList(), "list"),
        (MapList([], ("k",)), "list"),
        (concatenate([1] * 50, [2] * 50), "list"),
        ({}, "map"),
        (NONE, "optional_type"),
        (TypeValue("int"), "type"),
    ],
)
def test_types(value: Any, name: str) -> None:
    assert type_name(value) == name
    assert of_type(value) == TypeValue(name)


def test_values_of_libraries_name_their_type() -> None:
    class Address:
        cel_type = IP

    assert type_name(Address()) == "net.IP"


def test_a_number_is_not_the_same_member_as_a_bool() -> None:
    assert SetList([1, True, "a"]).members() == {(int, 1), (bool, True), (str, "a")}
    with pytest.raises(EvaluationError, match="hash of unhashable type"):
        SetList([{}]).members()


def test_keys_identify_an_element() -> None:
    by_two = MapList([], ("k", "l"))
    assert by_two.key_of({"k": "a", "l": 1, "v": 2}) == by_two.key_of({"k": "a", "l": 1, "v": 3})
    assert by_two.key_of({"k": "a", "l": 1}) != by_two.key_of({"k": "a", "l": True})
    assert by_two.key_of({"k": "a"}) != by_two.key_of({"k": "a", "l": 0})
    with pytest.raises(EvaluationError, match="unexpected data format"):
        by_two.key_of("a")
    with pytest.raises(EvaluationError, match="hash of unhashable type"):
        by_two.key_of({"k": ["a"]})
