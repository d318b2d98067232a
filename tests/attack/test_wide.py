"""Objects with very many owned fields: what an apply does grows with their number, and no faster.

Counts calls of Python functions, which are the same on every machine; :mod:`tests.attack.wide` measures the seconds, and
``docs/reference/performance.md`` has them.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from extapi.managedfields.updater import MOST_SETS
from extapi.testing import InMemoryServer
from tests.attack.wide import APPLY, PATH, SHAPES, main, obj, server

FEW, MANY = 1_000, 4_000
"""Both too many for the sets that are kept in memory after they were read."""


def _apply(server: InMemoryServer, name: str, value: Any, manager: str) -> int:
    """Apply it; how many calls that took."""
    headers = {"Content-Type": APPLY}
    query = {"fieldManager": manager, "force": "true"}
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        answer = server.request("PATCH", PATH, query, headers, json.dumps(obj(name, value)).encode())
    finally:
        sys.setprofile(before)
    assert answer.status in {200, 201}, answer.body[:500]
    return calls


def _story(name: str, size: int) -> list[int]:
    """Calls of an apply, of the same again, of another manager that takes all over, and of the first again."""
    make = SHAPES[name]
    with server() as serving:
        return [
            _apply(serving, name, make(size, value), manager)
            for value, manager in (("1", "one"), ("1", "one"), ("2", "two"), ("3", "one"))
        ]


@pytest.mark.parametrize("name", sorted(SHAPES.keys() - {"deep"}))
def test_the_work_grows_with_the_number_of_fields(name: str) -> None:
    few, many = _story(name, FEW), _story(name, MANY)
    for less, more in zip(few, many, strict=True):
        # Beyond some size, the encoder walks through the object once more.
        assert more < less * MANY / FEW * 1.25, (few, many)
        assert more < MANY * 400, many


@pytest.mark.parametrize(("objects", "status"), [(MOST_SETS, 201), (MOST_SETS + 1, 413)])
def test_a_configuration_of_too_many_objects_is_refused(objects: int, status: int) -> None:
    # The sets of the whole, of metadata, of spec and of spec.open, and one for each object that holds a field.
    value = {f"k{number}": {"a": "x"} for number in range(objects - 4)}
    with server() as serving:
        answer = serving.request(
            "PATCH", PATH, {"fieldManager": "one"}, {"Content-Type": APPLY}, json.dumps(obj("open", value)).encode()
        )
        kept = serving.request("GET", PATH)
    assert answer.status == status, answer.body[:500]
    assert kept.status == (200 if status == 201 else 404)


def test_the_long_form_in_short(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--fields", "1000", "--rounds", "1", "--most", "10", "list", "deep"]) == 0
    assert "| create by apply |" in capsys.readouterr().out
    assert main(["--fields", "1000", "--rounds", "1", "--most", "0", "list"]) == 1
