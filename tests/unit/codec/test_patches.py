"""JSON patch against RFC 6902 appendix A, merge patch against RFC 7386 appendix A, and behaviour E57, E58, E60."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from extapi.codec.jsonpatch import MAX_COPIED
from extapi.codec.options import Validation
from extapi.codec.patches import json_patch, merge_patch, patched_error, refuse_strict_patch
from extapi.errors import ApiError, BadRequest, Invalid, RequestTooLarge

KIND = {"apiVersion": "g/v1", "kind": "Pizza"}


def _patched(doc: dict[str, Any], operations: Any, mode: Validation = "Strict") -> dict[str, Any]:
    """The result without kind and apiVersion, which every object has; the input stays as it was."""
    original = KIND | doc
    before = copy.deepcopy(original)
    result = json_patch(original, json.dumps(operations).encode(), mode).value
    assert original == before
    assert result.pop("kind") == "Pizza"
    del result["apiVersion"]
    return result


@pytest.mark.parametrize(
    ("doc", "operations", "expected"),
    [
        pytest.param({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux"}], {"baz": "qux", "foo": "bar"}, id="A.1"),
        pytest.param({"foo": ["bar", "baz"]}, [{"op": "add", "path": "/foo/1", "value": "qux"}], {"foo": ["bar", "qux", "baz"]}, id="A.2"),
        pytest.param({"baz": "qux", "foo": "bar"}, [{"op": "remove", "path": "/baz"}], {"foo": "bar"}, id="A.3"),
        pytest.param({"foo": ["bar", "qux", "baz"]}, [{"op": "remove", "path": "/foo/1"}], {"foo": ["bar", "baz"]}, id="A.4"),
        pytest.param({"baz": "qux", "foo": "bar"}, [{"op": "replace", "path": "/baz", "value": "boo"}], {"baz": "boo", "foo": "bar"}, id="A.5"),
        pytest.param(
            {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
            [{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}],
            {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
            id="A.6",
        ),
        pytest.param(
            {"foo": ["all", "grass", "cows", "eat"]},
            [{"op": "move", "from": "/foo/1", "path": "/foo/3"}],
            {"foo": ["all", "cows", "eat", "grass"]},
            id="A.7",
        ),
        pytest.param(
            {"baz": "qux", "foo": ["a", 2, "c"]},
            [{"op": "test", "path": "/baz", "value": "qux"}, {"op": "test", "path": "/foo/1", "value": 2}],
            {"baz": "qux", "foo": ["a", 2, "c"]},
            id="A.8",
        ),
        pytest.param({"foo": "bar"}, [{"op": "add", "path": "/child", "value": {"grandchild": {}}}], {"foo": "bar", "child": {"grandchild": {}}}, id="A.10"),
        pytest.param({"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": 10}], {"/": 9, "~1": 10}, id="A.14"),
        pytest.param({"foo": ["bar"]}, [{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}], {"foo": ["bar", ["abc", "def"]]}, id="A.16"),
        pytest.param({}, [], {}, id="no operation"),
        pytest.param({"a": 1}, None, {"a": 1}, id="null does nothing"),
        pytest.param({"a": 1}, [{"op": "replace", "path": "/b", "value": 2}], {"a": 1, "b": 2}, id="replace adds"),
        pytest.param({"a": 1}, [{"op": "copy", "from": "/x", "path": "/b"}], {"a": 1, "b": None}, id="copy of nothing is null"),
        pytest.param({}, [{"op": "add", "path": "/b"}], {"b": None}, id="add without value is null"),
        pytest.param({"a": [1, 2, 3]}, [{"op": "remove", "path": "/a/-1"}], {"a": [1, 2]}, id="index -1"),
        pytest.param({"a": [1, 2, 3]}, [{"op": "replace", "path": "/a/-1", "value": 9}], {"a": [1, 2, 9]}, id="replace index -1"),
        pytest.param({"a": {"b": 1}}, [{"op": "replace", "path": "x/a/b", "value": 2}], {"a": {"b": 2}}, id="first segment dropped"),
        pytest.param({"a": {"b": [1]}}, [{"op": "copy", "from": "/a/b", "path": "/c"}, {"op": "add", "path": "/c/0", "value": 0}], {"a": {"b": [1]}, "c": [0, 1]}, id="copies are independent"),
        pytest.param({"a/b": 1}, [{"op": "replace", "path": "/a~1b", "value": 2}], {"a/b": 2}, id="slash"),
        pytest.param({"a": [[1], 2]}, [{"op": "add", "path": "/a/0/-", "value": 5}], {"a": [[1, 5], 2]}, id="through a list"),
        pytest.param({"a": {"x": [1, {"y": None}]}}, [{"op": "test", "path": "/a", "value": {"x": [1.0, {"y": None}]}}], {"a": {"x": [1, {"y": None}]}}, id="deep test"),
        pytest.param({}, [{"op": "test", "path": "/none", "value": None}], {}, id="missing is null"),
        pytest.param({}, [{"op": "test", "path": "", "value": KIND}], {}, id="test of the whole"),
    ],
)  # fmt: skip
def test_json_patch(doc: dict[str, Any], operations: Any, expected: dict[str, Any]) -> None:
    assert _patched(doc, operations) == expected


@pytest.mark.parametrize(
    ("doc", "operations"),
    [
        pytest.param({"baz": "qux"}, [{"op": "test", "path": "/baz", "value": "bar"}], id="A.9"),
        pytest.param({"foo": "bar"}, [{"op": "add", "path": "/baz/bat", "value": "qux"}], id="A.12"),
        pytest.param({"~1": 10}, [{"op": "test", "path": "/~01", "value": "10"}], id="A.15"),
        ({"a": 1}, [{"op": "test", "path": "/a", "value": True}]),
        ({"a": [1]}, [{"op": "test", "path": "/a", "value": [1, 1]}]),
        ({"a": {"b": 1}}, [{"op": "test", "path": "/a", "value": {"c": 1}}]),
        ({"a": 1}, [{"op": "remove", "path": "/b"}]),
        ({"a": [1]}, [{"op": "remove", "path": "/a/1"}]),
        ({"a": [1]}, [{"op": "remove", "path": "/a/x"}]),
        ({"a": [1]}, [{"op": "add", "path": "/a/3", "value": 1}]),
        ({"a": [1]}, [{"op": "replace", "path": "/a/1", "value": 1}]),
        ({"a": 1}, [{"op": "add", "path": "/a/b", "value": 1}]),
        ({"a": 1}, [{"op": "add", "path": "/a/b/c", "value": 1}]),
        ({"a": 1}, [{"op": "move", "from": "/x", "path": "/b"}]),
        ({"a": 1}, [{"op": "move", "path": "/b"}]),
        ({"a": 1}, [{"op": "copy", "path": "/b"}]),
        ({"a": 1}, [{"op": "add", "value": 1}]),
        ({"a": 1}, [{"op": "add", "path": "", "value": 1}]),
        ({"a": 1}, [{"op": "replace", "path": "", "value": 1}]),
        ({"a": 1}, [{"op": "sing", "path": "/a"}]),
        ({"a": 1}, [{"path": "/a"}]),
        ({"a": 1}, [{"op": "add", "path": "/" * 300, "value": 1}]),
    ],
)
def test_a_failed_operation_is_422_without_a_reason_why(doc: dict[str, Any], operations: Any) -> None:
    with pytest.raises(Invalid) as raised:
        _patched(doc, operations)
    assert raised.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the server rejected our request due to an error in our request",
        "reason": "Invalid",
        "details": {},
        "code": 422,
    }


def test_the_whole_can_be_replaced() -> None:
    value = KIND | {"a": 1}
    assert _patched({"b": 2}, [{"op": "replace", "path": "", "value": value}]) == {"a": 1}


@pytest.mark.parametrize(
    ("patch", "error"),
    [
        (b"{", "unexpected end of JSON input"),
        (b"{}", "json: cannot unmarshal object into a list of operations"),
        (b"[1]", "json: cannot unmarshal number into an operation"),
        (b"[null]", "json: cannot unmarshal null into an operation"),
        (b'[{"op":1}]', "json: cannot unmarshal number into op of type string"),
        (b'[{"op":"add","path":["a"]}]', "json: cannot unmarshal array into path of type string"),
    ],
)
def test_undecodable_json_patches_are_400(patch: bytes, error: str) -> None:
    for mode, prefix in (("Warn", "error decoding patch: "), ("Strict", "error decoding patch: "), ("Ignore", "")):
        with pytest.raises(BadRequest) as raised:
            json_patch(dict(KIND), patch, mode)  # type: ignore[arg-type]  # the loop widens the literal
        assert str(raised.value) == prefix + error


def test_at_most_10000_operations() -> None:
    operation = {"op": "add", "path": "/a", "value": 1}
    assert _patched({}, [operation] * 10_000) == {"a": 1}
    with pytest.raises(RequestTooLarge) as raised:
        _patched({}, [operation] * 10_001)
    assert raised.value.status()["code"] == 413
    assert str(raised.value) == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


def test_copies_are_bounded_and_so_is_depth() -> None:
    doubling = [{"op": "copy", "from": "/a", "path": "/a/-"}] * 40
    with pytest.raises(Invalid, match="the server rejected our request"):
        _patched({"a": ["x" * 1000]}, doubling)
    quarter = {"a": "x" * (MAX_COPIED // 4)}
    copies = [{"op": "copy", "from": "/a", "path": f"/b{number}"} for number in range(4)]
    assert len(_patched(quarter, copies[:3])) == 4
    with pytest.raises(Invalid, match="the server rejected our request"):
        _patched(quarter, copies)  # each is a quarter of the bound, and their quotes are too much
    nesting = [
        operation
        for _ in range(1000)
        for operation in (
            {"op": "move", "from": "/a", "path": "/b"},
            {"op": "add", "path": "/a", "value": {}},
            {"op": "move", "from": "/b", "path": "/a/x"},
        )
    ]
    with pytest.raises(Invalid, match="the server rejected our request"):
        _patched({"a": {}}, nesting)
    assert _patched({"a": {}}, nesting[:30])


def test_what_operations_move_is_bounded() -> None:
    """Each puts a value before a list, or takes the first one out."""
    long = {"op": "add", "path": "/a", "value": [0] * 100_000}
    first = {"op": "add", "path": "/a/0", "value": 1}
    remove = {"op": "remove", "path": "/a/0"}
    assert len(_patched({}, [long, *[first] * 900])["a"]) == 100_900
    with pytest.raises(Invalid, match="the server rejected our request"):
        _patched({}, [long, *[first] * 1000])
    with pytest.raises(Invalid, match="the server rejected our request"):
        _patched({}, [long, *[first, remove] * 501])
    at_the_end = {"op": "add", "path": "/a/-", "value": 1}
    assert len(_patched({}, [long, *[at_the_end] * 5000])["a"]) == 105_000


def test_an_index_may_have_zeros_before_it_as_for_go() -> None:
    assert _patched({"a": [1, 2]}, [{"op": "test", "path": f"/a/{'0' * 5000}1", "value": 2}]) == {"a": [1, 2]}
    with pytest.raises(Invalid, match="the server rejected our request"):
        _patched({"a": [1, 2]}, [{"op": "test", "path": f"/a/{'9' * 5000}", "value": 2}])


def test_unknown_and_duplicate_members_of_operations_are_strict_errors() -> None:
    patch = b'[{"op":"add","path":"/a","value":1,"foo":1,"op":"add"},{"op":"add","path":"/b","bar":1}]'
    expected = [
        'json patch duplicate field "[0].op"',
        'json patch unknown field "[0].foo"',
        'json patch unknown field "[1].bar"',
    ]
    assert json_patch(dict(KIND), patch, "Warn").duplicates == expected
    assert json_patch(dict(KIND), patch, "Ignore").duplicates == []


def test_a_result_that_is_no_object_is_422_with_the_result() -> None:
    with pytest.raises(Invalid) as raised:
        json_patch(dict(KIND), b'[{"op":"remove","path":"/kind"}]')
    status = raised.value.status()
    value = '{\\"apiVersion\\":\\"g/v1\\"}'
    body = f'Invalid value: "{value}": Object \'Kind\' is missing in \'{{"apiVersion":"g/v1"}}\''
    assert status["message"] == f' "" is invalid: patch: {body}'
    assert status["details"] == {"causes": [{"reason": "FieldValueInvalid", "message": body, "field": "patch"}]}
    with pytest.raises(Invalid, match="cannot unmarshal array"):
        json_patch(dict(KIND), b'[{"op":"replace","path":"","value":[]}]')


@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": {"b": "c"}}, {"a": [1]}, {"a": [1]}),
        ({"a": "b"}, {"x": None}, {"a": "b"}),
        ({"a": 1}, {"a": [{"b": None, "c": 1}, None]}, {"a": [{"c": 1}, None]}),
    ],
)
def test_merge_patch(original: dict[str, Any], patch: dict[str, Any], result: dict[str, Any]) -> None:
    doc = KIND | original
    before = copy.deepcopy(doc)
    assert merge_patch(doc, json.dumps(patch).encode()).value == KIND | result
    assert doc == before


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def _rfc7386(target: Any, patch: Any) -> Any:
    """MergePatch of RFC 7386, section 2, word for word."""
    if not isinstance(patch, dict):
        return patch
    if not isinstance(target, dict):
        target = {}
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        else:
            target[name] = _rfc7386(target.get(name), value)
    return target


@given(st.dictionaries(st.sampled_from("abc"), _VALUES), st.dictionaries(st.sampled_from("abc"), _VALUES))
@settings(max_examples=100, deadline=None)
def test_merge_patch_follows_the_algorithm_of_the_rfc(original: dict[str, Any], patch: dict[str, Any]) -> None:
    doc = KIND | original
    result = merge_patch(doc, json.dumps(patch).encode()).value
    assert result == _rfc7386(copy.deepcopy(doc), patch)


@pytest.mark.parametrize(
    ("patch", "mode", "error"),
    [
        (b"{", "Warn", "error decoding patch: unexpected end of JSON input"),
        (b"{", "Ignore", "Invalid JSON Patch"),
        (b"null", "Strict", "Invalid JSON Patch"),
        (b"null", "Ignore", "Invalid JSON Patch"),
        (b"1", "Ignore", "Invalid JSON Patch"),
        (
            b"[]",
            "Warn",
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
    ],
)
def test_undecodable_merge_patches_are_400(patch: bytes, mode: Validation, error: str) -> None:
    with pytest.raises(BadRequest) as raised:
        merge_patch(dict(KIND), patch, mode)
    assert str(raised.value) == error


def test_a_list_as_merge_patch_is_422_under_ignore() -> None:
    with pytest.raises(Invalid, match=r'^ "" is invalid: patch: Invalid value: "\[\]": '):
        merge_patch(dict(KIND), b"[]", "Ignore")


def test_a_merge_patch_that_takes_the_kind_away_is_422() -> None:
    with pytest.raises(Invalid, match="Object 'Kind' is missing"):
        merge_patch(dict(KIND), b'{"kind":null}')


def test_duplicate_keys_of_a_merge_patch_are_strict_errors() -> None:
    patch = b'{"spec":{"a":1,"a":2}}'
    assert merge_patch(dict(KIND), patch).duplicates == ['duplicate field "spec.a"']
    assert merge_patch(dict(KIND), patch, "Ignore").duplicates == []


def test_strict_errors_of_a_patch_are_422() -> None:
    refuse_strict_patch(KIND, [], [])
    with pytest.raises(Invalid) as raised:
        refuse_strict_patch({"kind": "P"}, ["spec.foo"], [])
    assert str(raised.value) == (
        ' "" is invalid: patch: Invalid value: "{\\"kind\\":\\"P\\"}": strict decoding error: unknown field "spec.foo"'
    )


def test_patched_error_is_an_api_error_with_one_cause() -> None:
    error: ApiError = patched_error({"a": 1}, "why")
    assert [cause.field for cause in error.causes] == ["patch"]
    assert error.status()["code"] == 422
