"""Sets of fields and FieldsV1; data of structured-merge-diff's fieldpath tests."""

from __future__ import annotations

import itertools
import json
import random

import pytest

from extapi.managedfields.fieldset import FieldSet, in_order, read_element, shown

GOLDEN = (
    r'{"f:aaa":{},"f:aab":{},"f:aac":{},"f:aad":{},"f:aae":{},"f:aaf":{},"k:{\"name\":\"first\"}":{},"k:{\"name\":\"second\"}":{},"k:{\"port\":443,\"protocol\":\"tcp\"}":{},"k:{\"port\":443,\"protocol\":\"udp\"}":{},"v:1":{},"v:2":{},"v:3":{},"v:\"aa\"":{},"v:\"ab\"":{},"v:true":{},"i:1":{},"i:2":{},"i:3":{},"i:4":{}}',
    r'{"f:aaa":{"k:{\"name\":\"second\"}":{"v:3":{"f:aab":{}}},"v:3":{},"v:true":{}},"f:aab":{"f:aaa":{},"f:aaf":{"k:{\"port\":443,\"protocol\":\"udp\"}":{"k:{\"port\":443,\"protocol\":\"tcp\"}":{}}},"k:{\"name\":\"first\"}":{}},"f:aac":{"f:aaa":{"v:1":{}},"f:aac":{},"v:3":{"k:{\"name\":\"second\"}":{}}}}',
    r'{"f:spec":{".":{},"f:apps":{".":{},"k:{\"name\":\" app-💻\"}":{".":{},"f:container":{".":{},"f:image":{},"f:name":{},"f:ports":{".":{},"k:{\"name\":\"port 🔑\"}":{".":{},"f:containerPort":{},"f:name":{}}}},"f:name":{}}}}}',
)
"""TestSerializeV1GoldenData."""


@pytest.mark.parametrize("text", GOLDEN)
def test_golden_data(text: str) -> None:
    written = json.dumps(FieldSet.from_json(json.loads(text)).to_json(), separators=(",", ":"), ensure_ascii=False)
    assert written == text


@pytest.mark.parametrize(
    "element",
    [
        "i:0", "i:1234", "f:", "f:spec", "f:more-complicated-string", "f: string-with-spaces   ",
        'k:{"name":"my-container"}', 'k:{"name":"   name with spaces   "}', 'k:{"port":"8080","protocol":"TCP"}',
        'k:{"optionalField":null}', 'k:{"jsonField":{"A":1,"B":null,"C":"D","E":{"F":"G"}}}',
        'k:{"listField":["1","2","3"]}', "v:null", 'v:"some-string"', "v:1234", 'v:{"some":"json"}',
        'k:{"name":"app-🚀"}', 'k:{"name":"你好世界"}', 'k:{"name":"नमस्ते दुनिया"}',
    ],
)  # fmt: skip
def test_elements_round_trip(element: str) -> None:
    """TestPathElementRoundTrip."""
    assert read_element(element) == element


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ('k:{"b": 1.0, "a" : "\\u0041"}', 'k:{"a":"A","b":1}'),
        ('v:"<\\b>"', 'v:"\\u003c\\u0008\\u003e"'),
        ("v:1e3", "v:1000"),
        ("i:+07", "i:7"),
    ],
)
def test_other_spellings_are_the_same_element(text: str, canonical: str) -> None:
    assert read_element(text) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "", "f", "no-colon", "i:index is not a number", "i:1.23", "i:", "i:1_0", "v:invalid json", "v:", "k:invalid json",
        'k:{"name":invalid}', 'v:{"some":" \\x41"}', "k:[]", "v:" + "[" * 100_000, "i:" + "1" * 5000,
    ],
)  # fmt: skip
def test_malformed_elements(text: str) -> None:
    """TestDeserializePathElementError, and what could break a reader."""
    with pytest.raises(ValueError, match=r"^"):
        read_element(text)


def test_unknown_elements_are_dropped() -> None:
    """TestDropUnknown."""
    assert FieldSet.from_json({"f:aaa": {}, "r:aab": {}}).to_json() == {"f:aaa": {}}
    assert FieldSet.from_json({"f:a": {"r:b": {}}}).to_json() == {"f:a": {}}


@pytest.mark.parametrize("fields", [[], "a", {"f:a": []}, {"f:a": 0}, {"f:a": {"f:b": ""}}])
def test_what_is_no_set(fields: object) -> None:
    with pytest.raises(ValueError, match="must be an object"):
        FieldSet.from_json(fields)


def test_null_is_nothing_below() -> None:
    assert FieldSet.from_json({"f:a": None}).to_json() == {"f:a": {}}
    assert not FieldSet.from_json(None)


def test_depth_is_bounded() -> None:
    fields: dict[str, object] = {}
    for _ in range(100_000):
        fields = {"f:a": fields}
    with pytest.raises(ValueError, match="nest deeper"):
        FieldSet.from_json(fields)
    while fields:  # a deep tree that is freed at once would overflow the stack
        fields = fields["f:a"]  # type: ignore[assignment]


def test_the_order_of_elements() -> None:
    """TestPathElementLess."""
    ordered = [
        "f:anteater", "f:zebra", 'k:{"horse":1}', 'k:{"horse":2}', 'k:{"horse":10}', 'k:{"horse":"a"}', 'k:{"kite":1}',
        'k:{"kite":1,"kite-2":1}', "v:-1", "v:1.5", "v:2", "v:10", 'v:"a"', "v:false", "v:true", "i:1", "i:2", "i:10",
    ]  # fmt: skip
    shuffled = ordered.copy()
    random.Random(1).shuffle(shuffled)  # noqa: S311 - the same each time
    assert in_order(shuffled) == ordered


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("f:foo", "i:1"), ".foo[1]"),
        (("f:foo", "f:bar", "i:1", "f:baz"), ".foo.bar[1].baz"),
        (("f:foo", 'k:{"a":"b","c":1,"d":1.5,"e":true}'), '.foo[a="b",c=1,d=1.5,e=true]'),
        (("f:foo", 'v:"b"', "v:5", "v:false", "v:3.14159"), '.foo[="b"][=5][=false][=3.14159]'),
        (("f:spec", "f:field with space"), ".spec.field with space"),
        (("f:apps", 'k:{"name":"app-🚀"}', "f:image"), '.apps[name="app-🚀"].image'),
        (("f:apps", 'v:"app with \\"quotes\\""'), '.apps[="app with \\"quotes\\""]'),
        (("f:apps", 'v:"\\u2028\\u0007"'), '.apps[="\\u2028\\a"]'),
    ],
)
def test_paths_as_errors_show_them(path: tuple[str, ...], text: str) -> None:
    """TestPathString."""
    assert shown(path) == text


UNIVERSE = [
    path
    for length in (1, 2, 3)
    for path in itertools.product(("f:a", 'k:{"b":1}', "v:1"), repeat=length)
]  # fmt: skip


def test_operations_are_those_of_sets_of_paths() -> None:
    choice = random.Random(2)  # noqa: S311 - the same each time
    for _ in range(200):
        one, two = (set(choice.sample(UNIVERSE, choice.randint(0, 9))) for _ in range(2))
        first, second = FieldSet.of(*one), FieldSet.of(*two)
        below = {path for path in one if any(path[: len(each)] == each for each in two)}
        for found, expected in (
            (first | second, one | two),
            (FieldSet.union([first, second, first]), one | two),
            (first & second, one & two),
            (first - second, one - two),
            (first.without_subtrees(second), one - below),
        ):
            assert set(found.paths()) == expected
            assert found == FieldSet.of(*expected)
            assert found == FieldSet.from_json(json.loads(json.dumps(found.to_json())))
            assert bool(found) == bool(expected)
        assert all((path in first) == (path in one) for path in UNIVERSE)
        assert (first, second) == (FieldSet.of(*one), FieldSet.of(*two))
