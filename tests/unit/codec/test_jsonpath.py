"""The JSONPath of columns, after kubectl's documentation of it, and client-go's for what does not fit."""

from typing import Any

import pytest

from extapi.codec.jsonpath import MAX_RESULTS, JSONPath, JSONPathError

PIZZA: dict[str, Any] = {
    "metadata": {"name": "x", "labels": {"a.b/c": "d", "it's": "e"}},
    "spec": {
        "toppings": [{"name": "tomato", "n": 1, "m": 1}, {"name": "ham", "n": 3, "m": 3}, {"n": 2.5}],
        "empty": [],
        "no": None,
    },
    "status": {"conditions": [{"type": "Ready", "status": "True", "ok": True}, {"type": "Old", "status": "False"}]},
}


@pytest.mark.parametrize(
    ("path", "results"),
    [
        (".metadata.name", ["x"]),
        ("{.metadata.name}", ["x"]),
        ("$.metadata.name", ["x"]),
        (".metadata['name']", ["x"]),
        (".metadata.['name']", ["x"]),
        ('.metadata["name"]', ["x"]),
        (".metadata.labels['a.b/c']", ["d"]),
        (r".metadata.labels['a\.b/c']", ["d"]),
        (r".metadata.labels.a\.b/c", ["d"]),
        (r".metadata.labels['it\'s']", ["e"]),
        (".spec.toppings[*].name", ["tomato", "ham"]),
        (".spec.toppings.*.name", ["tomato", "ham"]),
        (".spec.toppings.[*].n", [1, 3, 2.5]),
        (".metadata.labels.*", ["d", "e"]),
        (".spec.toppings[0].name", ["tomato"]),
        (".spec.toppings[-1].n", [2.5]),
        (".spec.toppings[7].n", []),
        (".spec.toppings[0:2].n", [1, 3]),
        (".spec.toppings[1:].n", [3, 2.5]),
        (".spec.toppings[::2].n", [1, 2.5]),
        (".spec.empty[*]", []),
        (".spec.no", [None]),
        (".spec.no.deeper", []),
        (".spec.missing[0][1:2]['x'].*", []),
        (".metadata.name[0]", []),
        (".metadata.name[0:1]", []),
        (".metadata.name[?(@.x==1)]", []),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Ready')].status", ["True"]),
        ('.status.conditions[?(@.type != "Ready")].status', ["False"]),
        (".status.conditions[?(@.ok==true)].type", ["Ready"]),
        (".status.conditions[?(@.ok==1)].type", []),
        (".status.conditions[?(@.ok)].type", ["Ready"]),
        (".spec.toppings[?(@.m>1)].m", [3]),
        (".spec.toppings[?(@.m<3)].m", [1]),
        (".spec.toppings[?(@.m<=1)].m", [1]),
        (".spec.toppings[?(@.n>1)].n", []),
        (".spec.toppings[?(@.n>=2.5)].n", []),
        (".status.conditions[?(@.ok>true)].type", []),
        (".spec.toppings[?(@..n==1)].n", []),
        (".spec.toppings[?(@.*==1)].n", []),
        (".spec.toppings[0,2].n", [1, 2.5]),
        (".spec.toppings[ -1 , 0:2].n", [2.5, 1, 3]),
        (".spec.toppings[0,7].n", []),
        (".metadata['name','labels']['a.b/c']", ["d"]),
        (".metadata['name','none','name']", ["x", "x"]),
        (".spec.toppings[1:9].n", []),
        (".spec.toppings[2:1].n", []),
        (".spec.toppings[1:1].n", []),
        (".spec.toppings[-2:-1].n", [3]),
        (".spec.toppings[0:3:0].n", []),
        (".spec.toppings[-7].n", []),
        (".metadata[*]", []),
        (".spec.no[*]", []),
        (".spec.no[?(@)]", []),
        ('.spec.toppings[?(@.n>"a")].n', []),
        (".spec.toppings[?(@)].n", [1, 3, 2.5]),
        ("..type", ["Ready", "Old"]),
        (".spec..n", [1, 3, 2.5]),
        (".", [PIZZA]),
        ("", [PIZZA]),
    ],
)
def test_results(path: str, results: list[Any]) -> None:
    compiled = JSONPath(path)
    assert compiled.find(PIZZA) == results
    assert compiled.first(PIZZA) == (results[0] if results else None)


@pytest.mark.parametrize(
    "path",
    ["metadata", ".a..", ".a[", ".a[b]", ".a[?(@.x==)]", ".a[?(@.x==y)]", ".a b", ".a}{.b", ".a'", ".a[0,]", ".a[0,b]"],
)
def test_what_cannot_be_read_is_refused(path: str) -> None:
    with pytest.raises(JSONPathError):
        JSONPath(path)


def test_results_are_bounded() -> None:
    assert len(JSONPath("[*]").find(list(range(5000)))) == MAX_RESULTS
