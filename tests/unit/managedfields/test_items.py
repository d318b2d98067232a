"""Which item of a list is which; cases of structured-merge-diff's typed/helpers.go and merge/default_keys_test.go."""

from __future__ import annotations

import pytest

from extapi.managedfields.atom import Atom, ListType, MapType
from extapi.managedfields.items import UNKNOWN, TypedError, element_of, elements, item_element

ITEM = Atom(
    map_=MapType(
        {"port": Atom(scalar="numeric"), "protocol": Atom(scalar="string")}, None, defaults={"protocol": "TCP"}
    )
)
PORTS = ListType(ITEM, associative=True, keys=("port", "protocol"))
NAMES = ListType(Atom(scalar="string"), associative=True)


@pytest.mark.parametrize(
    ("item", "element"),
    [
        ({"port": 80}, 'k:{"port":80,"protocol":"TCP"}'),
        ({"port": 80, "protocol": "UDP"}, 'k:{"port":80,"protocol":"UDP"}'),
        ({"protocol": "UDP"}, 'k:{"protocol":"UDP"}'),
        ({"name": "a"}, 'k:{"protocol":"TCP"}'),
        ({"port": 1.5, "protocol": None}, 'k:{"port":1.5,"protocol":null}'),
        ({"port": True, "protocol": "<&>\b"}, 'k:{"port":true,"protocol":"\\u003c\\u0026\\u003e\\u0008"}'),
    ],
)
def test_keys_and_their_defaults_make_the_element(item: object, element: str) -> None:
    assert item_element(item, PORTS) == element


@pytest.mark.parametrize(
    ("item", "type_", "message"),
    [
        (None, PORTS, "associative list with keys may not have a null element"),
        (1, PORTS, "associative list with keys may not have non-map elements"),
        ({}, NAMES, "associative list without keys has an element that's a map type"),
        ([], NAMES, "not supported: associative list with lists as elements"),
        (None, NAMES, "associative list without keys has an element that's an explicit null"),
        ("a", ListType(Atom(scalar="string")), "invalid indexing of non-associative list"),
        (
            {"b": 1},
            ListType(Atom(map_=MapType({}, None)), associative=True, keys=("a",)),
            (
                'associative list with keys has an element that omits all key fields ["a"]'
                " (and doesn't have default values for any key fields)"
            ),
        ),
    ],
)
def test_items_that_cannot_be_told_apart(item: object, type_: ListType, message: str) -> None:
    with pytest.raises(ValueError, match="list") as caught:
        item_element(item, type_)
    assert str(caught.value) == message
    assert element_of(item, type_) == UNKNOWN


def test_an_error_says_which_item() -> None:
    with pytest.raises(
        TypedError, match=r"^element 1: associative list without keys has an element that's a map type$"
    ):
        elements(["a", {}], NAMES)
