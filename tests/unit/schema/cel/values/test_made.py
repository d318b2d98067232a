"""When two things that an expression has made are equal, as in Go."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.types import struct
from extapi.schema.cel.values.equality import equal
from extapi.schema.cel.values.made import MadeObject, MadeOperation


def obj(name: str = "Object", **fields: Any) -> MadeObject:
    return MadeObject(struct(name), fields)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (obj(a=1, b="x"), obj(b="x", a=1), True),
        (obj(a=1), obj(a=True), False),
        (obj(a=1), obj("Object.spec", a=1), False),
        (obj(a=1), obj(), False),
        (obj(a=obj(b=1)), obj(a=obj(b=1)), True),
        (obj(a={"b": 1}), obj(a={"b": 1}), True),
        (obj(a={"b": 1}), obj(a={"c": 1}), False),
        (obj(a={"b": [1]}), obj(a={"b": [1]}), False),
        (obj(), {}, False),
        (MadeOperation("add", "/a", value=1), MadeOperation("add", "/a", value=1.0), True),
        (MadeOperation("add", "/a", value=None), MadeOperation("add", "/a"), False),
        (MadeOperation("add"), MadeOperation("remove"), False),
        (MadeOperation("add"), obj(), False),
    ],
)
def test_equality(one: Any, other: Any, expected: bool) -> None:
    assert equal(one, other) is expected
