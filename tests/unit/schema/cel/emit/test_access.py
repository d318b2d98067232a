"""Variables, fields, keys and indices, in generated code and in the interpreter.

Expected values and costs are cel-go 0.26.0's, asked of it in the environment of Kubernetes 1.36.3.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.schema.cel.evaluating import Failed, environment_of, generated, interpreted, judge_both, some
from tests.unit.schema.cel.sample import ENVIRONMENT, OBJECT

CASES: list[tuple[str, Any, int]] = [
    ("self.a", 1, 2),
    ("self.o.x", "v", 3),
    ("self.o.y", Failed("no such key: y"), 3),
    ("has(self.o.x)", True, 2),
    ("has(self.o.y)", False, 2),
    ("has(self.o)", True, 1),
    ("has(self.m.k)", True, 2),
    ("has(self.m.z)", False, 2),
    ("self.m.k", 7, 3),
    ("self.m['k']", 7, 3),
    ("self.m[self.w[0] + 'k']", Failed("no such key: xk"), 7),
    ("self.m[self.o.x]", Failed("no such key: v"), 5),
    ("self.l[1]", 2, 3),
    ("self.l[self.a]", 2, 4),
    ("self.l[self.a + 1]", 3, 6),
    ("self.l[dyn('a')]", Failed("unsupported index type 'string' in list"), 3),
    ("self.l[dyn(self.p)]", Failed("index out of bounds: 80"), 6),
    ("self.l[3]", Failed("index out of bounds: 3"), 3),
    ("self.l[-1]", Failed("index out of bounds: -1"), 3),
    ("self.l[-self.a]", Failed("index out of bounds: -1"), 6),
    ("self.?a", some(1), 2),
    ("self.?o.x", some("v"), 3),
    ("self.?o.?x", some("v"), 3),
    ("self.?o.y", "none", 2),
    ("self.o.?y.hasValue()", False, 3),
    ("self.m[?'k']", some(7), 3),
    ("self.m[?'z']", "none", 2),
    ("self.m[?self.o.x]", "none", 4),
    ("self.l[?1]", some(2), 3),
    ("self.l[?5]", "none", 2),
    ("self.?o.x.orValue('')", "v", 3),
    ("self.?m.z.orValue(3)", 3, 2),
    ("self.?m[?'z'].hasValue()", False, 3),
    ("has(self.?o.x)", True, 2),
    ("has(self.?m.z)", False, 1),
    ("self.?l[0].value()", 1, 4),
    ("self.?m.z.value()", Failed("optional.none() dereference"), 3),
    ("self.?d[1].value().getDate()", 1, 5),
    ("self.?n", some(2.0), 2),
    ("optional.of(self.m).k", some(7), 5),
    ("optional.none().k", "none", 2),
    ("self.b ? self.m.k : self.a", 7, 4),
    ("!self.b ? self.m.z : self.a", 1, 4),
    ("(self.b ? self.m : self.m).k", 7, 4),
    ("(self.b ? self.l : [7])[0]", 1, 4),
    ("(self.b ? self.d : [])[0].getDate()", 2, 5),
    ("has((self.b ? self.o : self.o).x)", True, 3),
    ("self.p == 80 ? self.s : string(self.q)", "abcdefghijk", 4),
    ("[self.a, self.m.k][1]", 7, 17),
    ("{'a': 1}[?'b']", "none", 1),
    ("has(dyn({'a': 1}).a)", True, 1),
    ("has(dyn({'a': 1}).b)", False, 1),
    ("dyn({'a': {'b': 2}}).a.b", 2, 3),
    ("dyn({'a': 1}).b", Failed("no such key: b"), 2),
    ("dyn([3, 4])[1]", 4, 2),
    ("dyn([3, 4])[dyn(1.0)]", 4, 2),
    ("dyn([3, 4])[dyn(1.5)]", Failed("unsupported index value 1.5 in list"), 2),
    ("dyn([3, 4])[dyn(1u)]", 4, 2),
    ("dyn({1: 'a'})[1u]", "a", 2),
    ("dyn({1: 'a'})[dyn(1.0)]", "a", 2),
    ("dyn({1: 'a'})[true]", Failed("no such key: true"), 2),
    ("self.n", 2.0, 2),
    ("self.n / 4.0", 0.5, 3),
    ("self.y == b'ab'", True, 3),
    ("self.t.getFullYear()", 2020, 3),
    ("self.u.getSeconds()", 90, 3),
    ("self.d[0].getDate()", 2, 4),
    ("self.p", 80, 2),
    ("self.q", "80", 2),
    ("self.g", Failed("no such key: g"), 2),
    ("has(self.g)", False, 1),
    ("self.?g", "none", 1),
    ("self.gs[0]", "a", 3),
    ("self.gs[1]", None, 3),
    ("self.h.k", "v", 3),
    ("has(self.h.k)", True, 2),
    ("self.hs[0].k", "v", 4),
    ("self.r.metadata.name", "n", 4),
    ("has(self.r.metadata.generateName)", False, 3),
    ("self.r.kind", "K", 3),
    ("self.r.z", "z", 3),
    ("self.a__dash__b", "dash", 2),
    ("self.a__dot__b", "dot", 2),
    ("self.namespace", "reserved", 2),
    ("self.__namespace__", "reserved", 2),
    ("has(self.__namespace__)", True, 1),
    ("has(self.namespace)", True, 1),
    ("self.__underscores__import__underscores__", "trap", 2),
]


@pytest.mark.parametrize(("text", "expected", "cost"), CASES)
def test_generated_code_and_the_interpreter_are_as_cel_go(text: str, expected: Any, cost: int) -> None:
    judge_both(text, ENVIRONMENT, (OBJECT,), expected, cost)


MISSING: list[tuple[str, dict[str, Any], Any, int]] = [
    ("self.a", {}, Failed("no such key: a"), 2),
    ("self.o.x", {"o": {}}, Failed("no such key: x"), 3),
    ("self.o.x", {}, Failed("no such key: o"), 2),
    ("has(self.o.x)", {}, Failed("no such key: o"), 1),
    ("has(self.o.y)", {"o": {"y": 3}}, True, 2),
    ("self.?o.?y", {"o": {"y": 3}}, some(3), 3),
    ("self.?o.x", {}, "none", 1),
    ("self.?o.?x", {}, "none", 1),
    ("self.?a.orValue(5)", {"a": None}, 5, 1),
    ("has(self.a)", {"a": None}, False, 1),
    ("has(self.a)", {}, False, 1),
    ("has(self.?o.x)", {}, False, 0),
    ("self.m.k", {"m": {}}, Failed("no such key: k"), 3),
    ("self.l[0]", {"l": []}, Failed("index out of bounds: 0"), 3),
    ("self.l[?0]", {"l": []}, "none", 2),
    ("self.?l[0]", {}, "none", 1),
]


@pytest.mark.parametrize(("text", "obj", "expected", "cost"), MISSING)
def test_what_is_not_there(text: str, obj: dict[str, Any], expected: Any, cost: int) -> None:
    judge_both(text, ENVIRONMENT, (obj,), expected, cost)


class _Counting(dict[str, Any]):
    """An object that notes which of its members are read, and refuses to be read whole."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.read: list[str] = []

    def get(self, key: str, default: Any = None) -> Any:
        self.read.append(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self.read.append(key)
        return super().__getitem__(key)

    def __iter__(self) -> Any:
        raise AssertionError

    def items(self) -> Any:
        raise AssertionError

    values = keys = items


@pytest.mark.parametrize(
    ("text", "outer", "inner"),
    [
        ("self.o.x == 'v' && has(self.o.y)", ["o", "o"], ["x", "y"]),
        ("self.a == 1 || self.o.x == 'v'", ["a"], []),
        ("self.?o.?x.hasValue()", ["o"], ["x"]),
        ("self.os.size() == 1 && self.os[0].v == 3", ["os", "os"], []),
    ],
)
@pytest.mark.parametrize("evaluate", [generated, interpreted])
def test_only_what_is_asked_for_is_read(evaluate: Any, text: str, outer: list[str], inner: list[str]) -> None:
    within = _Counting({"x": "v", "y": 1})
    obj = _Counting({"a": 1, "o": within, "os": [_Counting({"v": 3})]})
    assert evaluate(text, ENVIRONMENT, obj)[0] is True
    assert (obj.read, within.read) == (outer, inner)


ROOT = environment_of({"type": "object", "properties": {"metadata": {"type": "object"}}}, root=True)


def test_a_whole_object_has_the_names_that_every_object_has() -> None:
    obj = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}}
    judge_both("self.kind + self.metadata.name", ROOT, (obj,), "Kn", 6)
    judge_both("has(self.metadata.generateName)", ROOT, (obj,), False, 2)
