"""JSON patches between two objects: applying one gives the other (RFC 6902), and nothing that is equal is written."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from extapi.api.jsonvalue import json_copy, json_equal
from extapi.codec.patches import json_patch as apply
from extapi.webhooks.patch import MATCHED, MAX_OPERATIONS, json_patch

Obj = dict[str, Any]
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.sampled_from(["", "a", "b", "é"])
KEYS = st.sampled_from(["a", "b", "a/b", "~", "~1", "~0/", "", "é", "0", "-"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=25
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=5).map(lambda found: {**found, "kind": "K", "apiVersion": "g/v1"})


def applied(old: Obj, new: Obj) -> list[Obj]:
    """The operations, after checking that they give ``new``."""
    before = json_copy(old)
    operations = json_patch(old, new)
    assert json_equal(old, before), "the old object was changed"
    assert json_equal(apply(old, json.dumps(operations).encode()).value, new)
    return operations


def typed(**members: Any) -> Obj:
    return {"kind": "K", "apiVersion": "g/v1", **members}


@given(OBJECTS, OBJECTS)
@settings(max_examples=150, deadline=None)
def test_applying_gives_the_object(old: Obj, new: Obj) -> None:
    applied(old, new)


@given(OBJECTS, st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_applying_gives_the_object_that_was_changed_a_little(old: Obj, chance: random.Random) -> None:
    new = json_copy(old)
    places = [(new, key) for key in new if key not in ("kind", "apiVersion")]
    for container, key in places:
        value = container[key]
        if isinstance(value, dict):
            places += [(value, inner) for inner in value]
        if isinstance(value, list) and value and chance.random() < 0.5:
            match chance.randrange(3):
                case 0:
                    value.pop()
                case 1:
                    value.insert(0, 7)
                case _:
                    value.reverse()
    if places:
        container, key = chance.choice(places)
        container[key] = chance.choice([None, 1, "x", [], {}])
    applied(old, new)


@given(OBJECTS)
@settings(max_examples=50, deadline=None)
def test_equal_objects_need_no_operation(obj: Obj) -> None:
    assert json_patch(obj, json_copy(obj)) == []
    assert json_patch(obj, dict(reversed(list(obj.items())))) == []


@pytest.mark.parametrize(
    ("old", "new", "operations"),
    [
        ({"a": 1}, {"a": 2}, [{"op": "replace", "path": "/a", "value": 2}]),
        ({"a": 1}, {}, [{"op": "remove", "path": "/a"}]),
        ({}, {"a": 1}, [{"op": "add", "path": "/a", "value": 1}]),
        ({"a": True}, {"a": 1}, [{"op": "replace", "path": "/a", "value": 1}]),
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": None}, {"a": 1}, [{"op": "add", "path": "/a", "value": 1}]),
        ({"a": {"b/c~": 1}}, {"a": {"b/c~": 2}}, [{"op": "replace", "path": "/a/b~1c~0", "value": 2}]),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {}}}, [{"op": "remove", "path": "/a/b/c"}]),
        ({"a": [1]}, {"a": {"0": 1}}, [{"op": "replace", "path": "/a", "value": {"0": 1}}]),
        ({"a": [1, 2, 3]}, {"a": [1, 3]}, [{"op": "remove", "path": "/a/1"}]),
        ({"a": [1, 3]}, {"a": [1, 2, 3]}, [{"op": "add", "path": "/a/1", "value": 2}]),
        ({"a": [1]}, {"a": [1, 2]}, [{"op": "add", "path": "/a/1", "value": 2}]),
        (
            {"a": [1, 2, 3]},
            {"a": [2, 3, 4]},
            [{"op": "remove", "path": "/a/0"}, {"op": "add", "path": "/a/2", "value": 4}],
        ),
        ({"a": [{"n": 1, "m": 2}]}, {"a": [{"n": 1, "m": 3}]}, [{"op": "replace", "path": "/a/0/m", "value": 3}]),
        ({"a": [None]}, {"a": [1]}, [{"op": "remove", "path": "/a/0"}, {"op": "add", "path": "/a/0", "value": 1}]),
        ({"a": [[1, 2], [3]]}, {"a": [[1, 2], [3, 4]]}, [{"op": "add", "path": "/a/1/1", "value": 4}]),
    ],
)
def test_nothing_but_what_differs_is_written(old: Obj, new: Obj, operations: list[Obj]) -> None:
    assert applied(typed(**old), typed(**new)) == operations


def test_short_lists_get_the_fewest_operations() -> None:
    """Each list of up to three of three letters, to each other one: as many as Levenshtein's distance."""
    lists = [list(letters) for size in range(4) for letters in itertools.product("abc", repeat=size)]
    for old, new in itertools.product(lists, lists):
        operations = applied(typed(a=old), typed(a=new))
        assert len(operations) == distance(old, new), (old, new)


def distance(old: list[str], new: list[str]) -> int:
    row = list(range(len(new) + 1))
    for index, left in enumerate(old, 1):
        previous, row[0] = row[0], index
        for column, right in enumerate(new, 1):
            previous, row[column] = (
                row[column],
                min(row[column] + 1, row[column - 1] + 1, previous + (left != right)),
            )
    return row[-1]


def test_long_lists_are_changed_item_by_item() -> None:
    old = list(range(MATCHED * 3))
    assert len(applied(typed(a=old), typed(a=[each * 2 for each in old]))) == len(old) - 1
    assert [each["op"] for each in applied(typed(a=old), typed(a=old[:50] + old[51:]))] == ["remove"]


def test_too_many_operations_become_one_per_member() -> None:
    old = typed(a={str(index): 0 for index in range(MAX_OPERATIONS + 1)}, b=1, c=2, d=None)
    new = typed(a={str(index): 1 for index in range(MAX_OPERATIONS + 1)}, b=1, d=3, e=4)
    assert [(each["op"], each["path"]) for each in applied(old, new)] == [
        ("remove", "/c"),
        ("replace", "/a"),
        ("add", "/d"),
        ("add", "/e"),
    ]


def test_a_list_that_moves_too_much_is_replaced() -> None:
    old = list(range(20_000))
    assert [each["op"] for each in applied(typed(a=old), typed(a=[*old[500:], 1]))] == ["replace"]


def test_lists_in_lists_stay_right_however_deep() -> None:
    old: Any = [1]
    new: Any = [2, 1]
    for _ in range(60):
        old, new = [old], [new]
    assert len(applied(typed(a=old), typed(a=new))) == 1
