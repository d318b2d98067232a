"""Whether values fit, as in structured-merge-diff's own tests."""

from __future__ import annotations

import pytest

from extapi.managedfields.atom import DEDUCED, Atom, ListType, MapType
from extapi.managedfields.items import TypedError
from extapi.managedfields.validation import check
from tests.unit.managedfields.smdcases import cases

STRING = Atom(scalar="string")
ITEM = Atom(map_=MapType({"name": STRING, "value": Atom(scalar="numeric")}, None))
BY_NAME = Atom(list_=ListType(ITEM, associative=True, keys=("name",)))
TYPE = Atom(map_=MapType({"list": BY_NAME, "text": STRING, "deep": DEDUCED}, None))


def test_the_same_values_fit() -> None:
    wrong = []
    verdicts = set()
    for atom, case in cases("check"):
        try:
            check(case["value"], atom, duplicates=case["duplicates"])
            fits = True
        except TypedError:
            fits = False
        verdicts.add(fits)
        if fits != case["fits"]:
            wrong.append(case)
    assert wrong == []
    assert verdicts == {True, False}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"text": 1}, ".text: expected string, got number"),
        ({"text": {}}, ".text: expected string, got map"),
        ({"other": 1}, ".other: field not declared in schema"),
        ({"list": {}}, ".list: expected list, got map"),
        (
            {"list": [{"name": "a", "value": True}]},
            '.list[name="a"].value: expected numeric (int or float), got boolean',
        ),
        ({"list": [{"name": "a"}, {"name": "a"}]}, '.list: duplicate entries for key [name="a"]'),
        ([], "expected map, got list"),
    ],
)
def test_errors_say_where(value: object, message: str) -> None:
    with pytest.raises(TypedError) as caught:
        check(value, TYPE)
    assert str(caught.value) == message


def test_several_errors_are_listed() -> None:
    with pytest.raises(TypedError) as caught:
        check({"text": 1, "list": 2}, TYPE)
    assert str(caught.value) == "errors:\n  .text: expected string, got number\n  .list: expected list, got number"


def test_long_paths_are_told_until_the_text_is_long() -> None:
    name = "x" * 400_000
    with pytest.raises(TypedError) as caught:
        check({"deep": {name: dict.fromkeys("abcdefgh", 1)}}, Atom(map_=MapType({"deep": _flags()}, None)))
    assert str(caught.value).count(name) == 3


def test_problems_are_told_until_there_are_many() -> None:
    with pytest.raises(TypedError) as caught:
        check({"x": {f"{number}": 1 for number in range(1100)}}, _flags())
    assert str(caught.value).count("expected boolean, got number") == 1000


def _flags() -> Atom:
    return Atom(map_=MapType({}, Atom(map_=MapType({}, Atom(scalar="boolean")))))
