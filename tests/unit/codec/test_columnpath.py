"""JSONPath as client-go reads it. The cells are those that the table convertor of 1.36.3 makes of the same object.

Source: ``k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor``, which was called for each path.
"""

from __future__ import annotations

from typing import Any

import pytest

from extapi.api.column import Column
from extapi.codec.columnpath import MAX_LENGTH, MISSING, ColumnPath, ColumnPathError
from extapi.codec.columnsteps import MAX_RESULTS
from extapi.codec.tables import Columns

UNREADABLE = object()
OBJECT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "K",
    "metadata": {"name": "n"},
    "s": "hi",
    "n": 7,
    "f": 2.5,
    "t": True,
    "z": None,
    "m": {"k": "v", "a.b": {"c": 1}},
    "l": [
        {"type": "Ready", "status": "True", "n": 1},
        {"type": "Big", "status": "False", "n": 5, "x": [1]},
    ],
    "w": ["a", "b", "c"],
    "q": ['it"s'],
}


@pytest.mark.parametrize(
    ("path", "cell"),
    [
        (".s", "hi"),
        (".n", "7"),
        (".f", "2.5"),
        (".t", "true"),
        (".z", "<no value>"),
        (".m", '{"a.b":{"c":1},"k":"v"}'),
        (".m.k", "v"),
        (".m.a\\.b.c", "1"),
        (".m['k']", "v"),
        (".m['a.b']", None),
        ('.m["k"]', UNREADABLE),
        (".s.x", None),
        (".", None),
        (".missing.x", None),
        (".w[0]", "a"),
        (".w[-1]", "c"),
        (".w[5]", None),
        (".w[1:]", "b"),
        (".w[:2]", "a"),
        (".w[::2]", "a"),
        (".w[::0]", None),
        (".w[]", "a"),
        (".w[*]", "a"),
        (".w.*", "a"),
        (".w[2,0]", "c"),
        (".w[0,9]", None),
        (".m[*]", None),
        (".s[0]", None),
        (".s.*", "104"),
        (".z[0]", None),
        (".l[*].status", "True"),
        ('.l[?(@.type=="Ready")].status', "True"),
        (".l[?(@.type=='Big')].status", "False"),
        ('.l[?(@.type == "Big")].n', "5"),
        (".l[?(@.n>1)].type", "Big"),
        (".l[?(@.n>1.5)].type", None),
        (".l[?(@.x)].type", "Big"),
        (".l[?(@.x[3])].type", "Big"),
        ('.l[?(@.type=="Big")]', '{"n":5,"status":"False","type":"Big","x":[1]}'),
        (".l[?(@.type<5)].n", None),
        (".l[?(@.n!=@.n)].n", None),
        ('.l[?(@.type=~"B")].n', UNREADABLE),
        (".m[?(@.k)]", None),
        ('.w[?(@=="b")]', "b"),
        ('.q[?(@=="it\\"s")]', 'it"s'),
        ("..type", "Ready"),
        ("..x[0]", "1"),
        ("....a", UNREADABLE),
        ('.s "t"', "t"),
        (".s}{.missing", "hi"),
        (".s} and {.w[9]", None),
        (".w[0", UNREADABLE),
        (".w[a]", UNREADABLE),
        ('.l[?(@.type=="Ready"]', UNREADABLE),
        ('.l[?(@.type=="Ready")', UNREADABLE),
        (".s#", None),
        (".s+", None),
        ('.s "t', UNREADABLE),
        ('.q[?(@=="\\q")]', UNREADABLE),
        (".w[99999999999999999999]", UNREADABLE),
    ],
)
def test_cells_of_paths(path: str, cell: Any) -> None:
    cells = Columns([Column("C", path)], defined=True).raw_cells(OBJECT)
    assert cells == (("n",) if cell is UNREADABLE else ("n", cell))


def test_no_column_after_one_that_cannot_be_read() -> None:
    columns = Columns([Column("A", ".s"), Column("B", ".w["), Column("C", ".n", "integer")], defined=True)
    assert columns.raw_cells(OBJECT) == ("n", "hi")


def test_a_number_of_go_is_none_of_json() -> None:
    assert Columns([Column("C", ".s.*", "integer")], defined=True).raw_cells(OBJECT) == ("n", None)


@pytest.mark.parametrize("path", [".*", "..a", ".*.*", ".*[0]"])
def test_a_path_with_too_many_results_has_none(path: str) -> None:
    wide = {str(number): {"a": [1]} for number in range(MAX_RESULTS + 1)}
    assert ColumnPath(path).first(wide) is MISSING


def test_descents_into_descents_end() -> None:
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"a": deep}
    assert ColumnPath("..a..a..a..a").first(deep) is MISSING


def test_a_path_too_long_to_be_one_cannot_be_read() -> None:
    with pytest.raises(ColumnPathError):
        ColumnPath("." * MAX_LENGTH + "a")
