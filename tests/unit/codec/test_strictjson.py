"""Strict JSON: what kube-apiserver's decoder accepts, refuses and reports, and how its encoder writes."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from extapi.api.jsonvalue import NotJSONError
from extapi.codec import strictjson
from extapi.codec.strictjson import JSONError, NumberRangeError, decode, decode_stored, encode, encode_typed

_FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not 2**53 <= abs(number) < 1e21)
_SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | _FLOATS | st.text()
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=20
)


def _same(left: Any, right: Any) -> bool:
    """Equal, but for lone surrogates, which are no characters, and for the type of integral numbers."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True) or left == right


@given(_VALUES)
@settings(max_examples=150, deadline=None)
def test_what_is_encoded_reads_back_as_the_same_by_python(value: Any) -> None:
    assert _same(json.loads(encode(value)), value)


@given(_VALUES, st.sampled_from([None, 1, 2]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_decoding_agrees_with_python_and_sees_no_duplicates(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    decoded = decode(text)
    assert _same(decoded.value, json.loads(text))
    assert decoded.duplicates == []


@given(st.lists(st.tuples(st.text(max_size=3), _VALUES), max_size=6))
@settings(max_examples=200, deadline=None)
def test_every_key_that_occurs_again_is_reported_once_and_the_last_value_wins(pairs: list[tuple[str, Any]]) -> None:
    text = "{" + ",".join(f"{json.dumps(key)}:{json.dumps(value)}" for key, value in pairs) + "}"
    decoded = decode(text.encode())
    keys = [key for key, _ in pairs]
    assert decoded.duplicates == list(dict.fromkeys(key for at, key in enumerate(keys) if key in keys[:at]))
    assert _same(decoded.value, dict(pairs))


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        (b'{"spec":{"foo":1,"foo":2}}', ["spec.foo"]),
        (b'{"spec":{"list":[{"x":1,"x":2}]}}', ["spec.list[0].x"]),
        (b'{"a":{"b":1,"b":1},"a":{"b":1,"b":1}}', ["a.b", "a"]),
        (b'{"a" : 1, "a" : 2}', ["a"]),
        (b'{"a":1,\n"a"\n:2}', ["a"]),
        (b'{"a\\\\":1,"a\\\\":2}', ["a\\"]),
        (b'{"a":"\\":","a":1}', ["a"]),
        (b'{"a":1,"a":"\\u003a"}', ["a"]),
        (b'{"a":1,"a":"\\u003A"}', ["a"]),
        (b'{"a":1,"\\u0061":2}', ["a"]),
        (b'[[{"x":{},"x":[]}]]', ["[0][0].x"]),
        (b'{"a":"x\\u003ay","b":"z:\\":"}', []),
        (b'{"x":{"a":1},"y":{"a":1}}', []),
    ],
)
def test_duplicates_are_named_by_path(text: bytes, paths: list[str]) -> None:
    assert decode(text).duplicates == paths


def test_paths_of_duplicates_are_cut() -> None:
    (path,) = decode(f'{{"{"k" * 5000}":[{{"a":1,"a":2}}]}}'.encode()).duplicates
    assert path == "k" * 1024 + "..."


def test_at_most_100_duplicates_are_reported() -> None:
    text = "{" + ",".join(f'"k{i}":1,"k{i}":2' for i in range(150)) + "}"
    assert len(decode(text.encode()).duplicates) == 100


def test_the_last_duplicate_wins() -> None:
    assert decode(b'{"a":1,"a":{"b":2}}').value == {"a": {"b": 2}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"123456789012345678901234567890", 1.2345678901234568e29),
        (b"9223372036854775807", 9223372036854775807),
        (b"9223372036854775808", 9223372036854775808.0),
        (b"-9223372036854775809", -9223372036854775808.0),
        (b"[18446744073709551615]", [18446744073709551616.0]),
        (b"1e18", 1e18),
        (b"9007199254740993.0", 9007199254740992.0),
        (b"-0.0", 0),
        (b"1e-400", 0),
        (b"1.0", 1),
        (b"1e3", 1000),
        (b"2.50", 2.5),
        (b"1e22", 1e22),
        (b'"\xff\xfe"', "\ufffd\ufffd"),
        (b'{"\xff":"\xed\xa0\x80"}', {"\ufffd": "\ufffd\ufffd\ufffd"}),
        (b'["\\ud800", 1.0, 12]', ["\ufffd", 1, 12]),
        (b' {"a" : null}\r\n', {"a": None}),
    ],
)
def test_values(text: bytes, value: Any) -> None:
    decoded = decode(text)
    assert decoded.value == value
    assert type(decoded.value) is type(value)
    assert decoded.duplicates == []


def test_integral_floats_come_back_as_integers_inside_of_objects() -> None:
    assert encode(decode(b'{"n":[3.0,-7e0]}').value) == b'{"n":[3,-7]}'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b"", "unexpected end of JSON input"),
        (b"{", "unexpected end of JSON input"),
        (b'{"a"', "unexpected end of JSON input"),
        (b'{"a":1,', "unexpected end of JSON input"),
        (b'"abc', "unexpected end of JSON input"),
        (b'"abc\\', "unexpected end of JSON input"),
        (b'"\\u12', "unexpected end of JSON input"),
        (b"tru", "unexpected end of JSON input"),
        (b"1e", "unexpected end of JSON input"),
        (b"x", "invalid character 'x' looking for beginning of value"),
        (b"NaN", "invalid character 'N' looking for beginning of value"),
        (b"[Infinity]", "invalid character 'I' looking for beginning of value"),
        (b"'a'", r"invalid character '\'' looking for beginning of value"),
        (b"\x00", r"invalid character '\x00' looking for beginning of value"),
        (b"\xa0", r"invalid character '\u00a0' looking for beginning of value"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b"{a:1}", "invalid character 'a' looking for beginning of object key string"),
        (b"{1", "invalid character '1' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
        (b'{"\\q":1}', "invalid character 'q' in string escape code"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"[1}", "invalid character '}' after array element"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b"01", "invalid character '1' after top-level value"),
        (b'"\\u00e9\\n" x', "invalid character 'x' after top-level value"),
        (b"[1.5e3 x]", "invalid character 'x' after array element"),
        (b"nulx", "invalid character 'x' in literal null (expecting 'l')"),
        (b"-x", "invalid character 'x' in numeric literal"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"1e+x", "invalid character 'x' in exponent of numeric literal"),
        (b'"a\nb"', r"invalid character '\n' in string literal"),
        (b'"\\u00g0"', r"invalid character 'g' in \u hexadecimal character escape"),
    ],
)
def test_errors_are_worded_as_by_go(text: bytes, error: str) -> None:
    with pytest.raises(JSONError) as raised:
        decode(text)
    assert str(raised.value) == error


@pytest.mark.parametrize(
    "text", [b"[-0.5e+10,1E5,0,-0,0.1]", b'{"a":{},"b":[],"c":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9"}', b"[[],{}]"]
)
def test_a_bad_byte_does_not_make_the_rest_an_error(text: bytes) -> None:
    assert decode(b'["\xff",' + text + b"]").value == ["\ufffd", json.loads(text)]


def test_depth_is_bounded() -> None:
    assert decode(b"[" * 200 + b"]" * 200).value
    for deep in (
        b"[" * 201 + b"]" * 201,
        b'{"a":' * 201 + b"1" + b"}" * 201,
        b"[" * 100_000,
        b'["\xff",' * 201 + b"1" + b"]" * 201,
    ):
        with pytest.raises(JSONError, match=r"^exceeded max depth$"):
            decode(deep)
    with pytest.raises(JSONError, match=r"^exceeded max depth$"):
        decode(b"[" * 100_000 + b"]" * 100_000)
    with pytest.raises(JSONError, match="depth"):
        decode(b"[[1]]", max_depth=1)


def test_wide_objects_are_not_deep() -> None:
    assert len(decode(b"[" + b"{}," * 500 + b"{}]").value) == 501


def test_an_error_far_into_a_large_text_is_found_without_a_long_search() -> None:
    with pytest.raises(JSONError, match="after the first 65536 bytes"):
        decode(b"[" + b"0," * 1_000_000 + b"x]")


@pytest.mark.parametrize("number", ["1e400", "-1E400", "1" + "0" * 400, "1.7976931348623159e308", "9" * 309])
def test_a_number_that_no_float64_holds_is_refused_with_the_rest_of_the_text(number: str) -> None:
    with pytest.raises(NumberRangeError) as raised:
        decode(f'{{"kind":"A","x":[{number}],"y":"\\ud800","z":1e401}}'.encode())
    assert str(raised.value) == f"json: cannot unmarshal number {number} into Go value of type float64"
    infinite = float(number)
    assert raised.value.value == {"kind": "A", "x": [infinite], "y": "\ufffd", "z": float("inf")}


def test_numbers_of_millions_of_digits_cost_what_their_bytes_cost() -> None:
    # Python's int() would need minutes for one of them, if its own limit on digits let it.
    code = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
from extapi.codec.strictjson import NumberRangeError, decode, decode_stored
size = 3_000_000
for number in ("9" * size, "-" + "7" * size, "1" + "0" * size, "0." + "1" * size, "1" * size + f"e-{size}", "1e" + "9" * size):
    try:
        decode(number.encode())
    except NumberRangeError as error:
        assert len(str(error)) < 2000
    decode_stored(number.encode())
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_encoded_has_the_numbers_of_go() -> None:
    assert encode([5.0, 1e18, 9.223372036854775808e18, 1e20, 1.5, -0.0]) == (
        b"[5,1000000000000000000,9223372036854776000,100000000000000000000,1.5,0]"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [{"b": float("nan")}]}, "a[0].b is NaN"),
        ({"metadata": {"x": float("-inf")}}, "metadata.x is an infinite number"),
        ([2**64], "[0] is an integer of more than 64 bits"),
        ({"a": 10**5000}, "a is an integer of more than 64 bits"),
        ({"a": "\ud800"}, "a is text with half of a surrogate pair, which is not a character"),
        ({"a": {"\ud800": 1}}, "a is text with half of a surrogate pair, which is not a character"),
        ({"a": {1: 2}}, "a is an object with a key of type int"),
        ({"a": object()}, "a is of type object, which is not JSON"),
    ],
)
def test_what_clients_could_not_read_is_not_encoded(value: Any, text: str) -> None:
    with pytest.raises(NotJSONError) as raised:
        encode(value)
    assert str(raised.value) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a":1' + b"0" * 400 + b"}", {"a": sys.float_info.max}),
        (b'{"a":-1' + b"0" * 5000 + b"}", {"a": -sys.float_info.max}),
        (b'{"a":123456789012345678901}', {"a": 1.2345678901234568e20}),
        (b'{"a":"' + b"1" * 400 + b'","b":5}', {"a": "1" * 400, "b": 5}),
        (b'{"a":[1e300,-2.5,1e18],"b":1234567890123456789}', {"a": [1e300, -2.5, 1e18], "b": 1234567890123456789}),
    ],
)
def test_whatever_number_a_store_holds_can_be_read(text: bytes, value: Any) -> None:
    decoded = decode_stored(text)
    assert decoded == value
    assert decode(encode(decoded)).value == value


OBJ = {"data": 1, "spec": {"b": 1, "a": 2}, "metadata": {"name": "x"}, "kind": "K", "apiVersion": "v1"}


def test_members_are_sorted_as_those_of_a_go_map() -> None:
    assert encode(OBJ) == b'{"apiVersion":"v1","data":1,"kind":"K","metadata":{"name":"x"},"spec":{"a":2,"b":1}}'
    assert encode({"b": 1, "a": 2}) == b'{"a":2,"b":1}'


def test_an_object_of_a_go_type_begins_with_its_type_and_metadata() -> None:
    assert encode_typed(OBJ) == b'{"apiVersion":"v1","kind":"K","metadata":{"name":"x"},"data":1,"spec":{"a":2,"b":1}}'
    assert encode_typed({"metadata": {}, "kind": "K"}) == b'{"kind":"K","metadata":{}}'
    assert encode_typed({"b": 1, "a": 2}) == b'{"a":2,"b":1}'
    assert encode_typed({}) == b"{}"


def test_characters_that_html_or_javascript_minds_are_escaped() -> None:
    assert encode({"a": "<b> & \u2028\u2029é"}) == b'{"a":"\\u003cb\\u003e \\u0026 \\u2028\\u2029\xc3\xa9"}'


def test_pretty_is_two_spaces_and_no_newline_at_the_end() -> None:
    pretty = strictjson.encode_pretty({"kind": "K", "metadata": {}, "l": [1], "e": []})
    assert pretty == b'{\n  "e": [],\n  "kind": "K",\n  "l": [\n    1\n  ],\n  "metadata": {}\n}'


NASTY: tuple[dict[str, Any], ...] = (
    {"metadata": {"resourceVersion": "?"}},
    {"annotations": {"resourceVersion": "?", "a": '"resourceVersion":"?"'}},
    {"uid": "u", "labels": {"uid": "u"}},
    {"selfLink": "/x"},
    {},
)


@pytest.mark.parametrize("encoder", [encode, encode_typed])
@pytest.mark.parametrize("metadata", NASTY)
@given(texts=st.tuples(st.text(), st.text()), revision=st.integers(0, 2**63))
@settings(deadline=None, max_examples=30)
def test_parts_are_the_object_with_and_without_its_revision(
    encoder: Any, metadata: dict[str, Any], texts: tuple[str, str], revision: int
) -> None:
    """The bytes of a read are those of the encoder, whatever the object has of the same look."""
    obj = {"apiVersion": texts[0], "data": {"metadata": {"resourceVersion": "?"}}, "kind": "K", "metadata": metadata}
    obj["spec"] = {"resourceVersion": texts[1], "metadata": {"uid": "u"}}
    plain = {name: value for name, value in metadata.items() if name != "resourceVersion"}
    head, tail = strictjson.encode_parts(obj, encoder)
    assert head + tail == encoder({**obj, "metadata": plain})
    joined = strictjson.join(head, tail, revision)
    assert joined == encoder({**obj, "metadata": {**plain, "resourceVersion": str(revision)}})


def test_a_revision_that_the_object_has_is_left_out() -> None:
    head, tail = strictjson.encode_parts({"kind": "K", "metadata": {"resourceVersion": "7", "uid": "u"}})
    assert (head, tail) == (b'{"kind":"K","metadata":{', b'"uid":"u"}}')


@pytest.mark.parametrize("obj", [{"kind": "K"}, {"kind": "K", "metadata": None}, {}])
def test_without_metadata_there_is_no_place_for_a_resource_version(obj: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no place"):
        strictjson.encode_parts(obj)
