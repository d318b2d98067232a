"""From which part of a schema a value comes: dates are strings in JSON, so each rule here fails where that is lost.

Results and costs are asked of Kubernetes 1.36.3's own validator.
"""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.checking.checker import check
from extapi.schema.cel.syntax.parser import parse
from tests.unit.schema.cel.compiling import Schema, array, compiled, environment, mapping, of

DATE: Schema = {"type": "string", "format": "date"}
SET: Schema = {**array({"type": "string"}), "x-kubernetes-list-type": "set"}
OBJECT = of(
    {
        "d": DATE,
        "e": DATE,
        "l": array(DATE),
        "m": mapping(DATE),
        "set": SET,
        "set2": SET,
        "n": {"type": "number"},
        "lo": array(of({"d": DATE})),
        "b": {"type": "boolean"},
    }
)
VALUE: dict[str, Any] = {
    "d": "2020-01-02",
    "e": "2021-01-02",
    "l": ["2020-01-02"],
    "m": {"k": "2020-01-02"},
    "set": ["a", "b"],
    "set2": ["b", "a"],
    "n": 1,
    "lo": [{"d": "2020-01-02"}],
    "b": True,
}


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("self.l[0].getFullYear() == 2020", 5),
        ("self.l[?0].value().getFullYear() == 2020", 6),
        ("self.m['k'].getFullYear() == 2020", 5),
        ("self.m[?'k'].orValue(self.e).getFullYear() == 2020", 5),
        ("self.?d.value().getFullYear() == 2020", 5),
        ("self.?d.orValue(self.e).getFullYear() == 2020", 4),
        ("self.?d.or(self.?e).value().getFullYear() == 2020", 5),
        ("(self.b ? self.d : self.e).getFullYear() == 2020", 5),
        ("(self.b ? self.d : timestamp(0)).getFullYear() == 2020", 5),
        ("optional.of(self.d).value().getFullYear() == 2020", 6),
        ("optional.ofNonZeroValue(self.d).value().getFullYear() == 2020", 6),
        ("self.lo[0].d.getFullYear() == 2020", 6),
        ("self.lo.map(x, x.d)[0].getFullYear() == 2020", 21),
        ("self.lo.filter(x, true)[0].d.getFullYear() == 2020", 21),
        ("self.?d.optMap(x, x.getFullYear()).value() == 2020", 11),
        ("self.l.all(x, x.getFullYear() == 2020)", 9),
        ("self.m.all(k, v, v.getFullYear() == 2020)", 9),
        ("dyn(self.d).getFullYear() == 2020", 5),
        ("self.set == self.set2", 5),
        ("(self.b ? self.set : self.set2) == self.set2", 6),
        ("optional.of(self.set).value() == self.set2", 7),
        ("[self.set][0] == self.set2", 17),
        ("dyn(self.n) == 1.0 && type(self.n) == double", 8),
    ],
)
def test_a_value_is_read_as_its_schema_says(text: str, cost: int) -> None:
    assert compiled(text, OBJECT).evaluate((VALUE, None)) == (True, None, cost)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("self.d", ["d"]),
        ("self.l[0]", ["l", "@"]),
        ("self.m[?'k'].value()", ["m", "@"]),
        ("self.b ? self.l : self.l", ["l"]),
        ("self.b ? self.d : self.e", None),
        ("self.?lo.or(self.?lo).orValue(self.lo)[0].d", ["lo", "@", "d"]),
        ("optional.of(self.d)", ["d"]),
        ("[self.d][0]", None),
        ("dyn(self.d)", None),
        ("self.d == self.e", None),
    ],
)
def test_the_part_of_the_schema(text: str, path: list[str] | None) -> None:
    """Each of these passes its argument on, as the libraries of cel-go have it, or is a value of its own."""
    made = environment(OBJECT)
    wanted = made.variables[0].declared if path else None
    for step in path or ():
        assert wanted is not None
        wanted = wanted.element if step == "@" else wanted.properties[step]
    root = parse(text, made.language.macros)
    assert not check(root, made).issues
    assert root.declared is wanted
