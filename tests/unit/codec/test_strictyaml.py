"""YAML as kube-apiserver reads and writes it.

``yaml.jsonl`` has documents, and what ``YAMLToJSON`` and ``YAMLToJSONStrict`` of ``sigs.k8s.io/yaml`` 1.6.0, with
``go.yaml.in/yaml/v2`` 2.4.3, made of each: kube-apiserver 1.36.3 reads bodies by these two.
"""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from extapi.codec import strictyaml
from extapi.codec.strictyaml import YAMLError, decode, encode_yaml
from extapi.codec.yamlnodes import MAX_TAG_DIRECTIVES


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((word, True) for word in ("y", "Y", "yes", "on", "On", "true", "TRUE")),
        *((word, False) for word in ("n", "N", "no", "off", "OFF", "false")),
        *((word, None) for word in ("~", "null", "Null", "")),
        ("12", 12),
        ("-12", -12),
        ("+12", 12),
        ("1_000", 1000),
        ("0x1F", 31),
        ("0o17", 15),
        ("017", 15),
        ("0b11", 3),
        ("-0b11", -3),
        ("09", 9),
        ("9223372036854775807", 9223372036854775807),
        ("9223372036854775808", 9223372036854775808.0),
        ("18446744073709551615", 18446744073709551616.0),
        ("0xffffffffffffffff", 18446744073709551616.0),
        ("0x" + "f" * 17, "0x" + "f" * 17),
        ("-9223372036854775809", -9223372036854775808.0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000),
        ("2001-12-14", "2001-12-14"),
        ("2001-12-14T21:59:43Z", "2001-12-14T21:59:43Z"),
        ("1:30", "1:30"),
        ("0x", "0x"),
        ("1.2.3", "1.2.3"),
        (".", "."),
        ("9" * 401, "9" * 401),
        ("1e999", "1e999"),
        ('"12"', "12"),
        ("'on'", "on"),
        ("!!str 12", "12"),
        ("!!int 12", 12),
        ("!!float 12", 12),
        ("!!bool on", True),
        ("!!null ~", None),
        ("!!timestamp 2001-12-14", "2001-12-14"),
        ("!!binary aGVsbG8=", "hello"),
        ("!mine 12", "12"),
        ("|\n  a\n  b", "a\nb\n"),
    ],
)
def test_scalars(text: str, value: Any) -> None:
    assert decode(f"a: {text}\n".encode()).value == {"a": value}
    assert type(decode(f"a: {text}\n".encode()).value["a"]) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"", None),
        (b"---\n...\n", None),
        (b"a: 1\n---\nb: 2\n", {"a": 1}),
        (b"a: 1\n---\n}{ broken", {"a": 1}),
        (b'{"a": [1, {"b": null}]}', {"a": [1, {"b": None}]}),
        (b"1: a\n1.5: b\ntrue: c\n", {"1": "a", "1.5": "b", "true": "c"}),
        (b"off: a\n", {"false": "a"}),
        (b"x: &a {b: 1}\nz: *a\n", {"x": {"b": 1}, "z": {"b": 1}}),
        (b"x: &a {b: 1, c: 1}\nz: {<<: *a, b: 2}\n", {"x": {"b": 1, "c": 1}, "z": {"b": 2, "c": 1}}),
        (b"z: {<<: [{a: 1}, {a: 2, b: 2}]}\n", {"z": {"a": 1, "b": 2}}),
        (b'z: {"<<": 1}\n', {"z": {"<<": 1}}),
    ],
)
def test_documents(text: bytes, value: Any) -> None:
    assert decode(text).value == value


def _integer(text: str) -> int | float:
    """An integer of Go's JSON: an int64, or a float."""
    return int(text) if -(2**63) <= int(text) < 2**63 else float(text)


def _outcome(text: str | dict[str, str]) -> dict[str, Any]:
    """What we make of a document, as ``yaml.jsonl`` has it."""
    try:
        decoded = decode(text.encode() if isinstance(text, str) else bytes.fromhex(text["hex"]))
    except YAMLError as error:
        return {"error": str(error)}
    return {"value": decoded.value, "strict": decoded.duplicates}


def _expected(case: dict[str, Any]) -> dict[str, Any]:
    if "error" in case:
        return {"error": case["error"]}
    return {"value": json.loads(case["json"], parse_int=_integer), "strict": case.get("strict", [])}


def test_documents_are_read_as_by_go() -> None:
    lines = Path(__file__).with_name("yaml.jsonl").read_text().splitlines()
    wrong = []
    for case in map(json.loads, lines):
        expected, found = _expected(case), _outcome(case["yaml"])
        if " map key" in expected.get("error", "") and "error" in found:
            continue  # the text names types of Go
        # As text: 1 and true are equal to Python.
        if json.dumps(found, sort_keys=True) != json.dumps(expected, sort_keys=True):
            wrong.append((case["yaml"], expected, found))
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "value"), [(b'"\\/"', "/"), (b"{a?: b}", {"a?": "b"}), (b"{1: a, '1': b}", {"1": "b"})]
)
def test_what_go_reads_otherwise(text: bytes, value: object) -> None:
    """An escape and a key that go-yaml's older libyaml does not know; of keys with one text Go takes any."""
    decoded = decode(text)
    assert (decoded.value, decoded.duplicates) == (value, [])


def test_what_overrides_a_merge_is_a_duplicate_if_that_is_asked_for() -> None:
    text = b"x: &a {b: 1}\nz:\n  <<: *a\n  b: 2\n  <<: *a\n  b: 3\n"
    lines = [4, 1, 6]  # go-yaml: the merged value stands where the anchor is
    assert decode(text).duplicates == [f'line {line}: key "b" already set in map' for line in lines]
    assert decode(text, overriding=False).duplicates == ['line 6: key "b" already set in map']


def test_an_alias_is_a_copy() -> None:
    value = decode(b"x: &a {b: [1]}\nz: *a\n").value
    value["z"]["b"].append(2)
    assert value["x"] == {"b": [1]}


def test_duplicate_keys_are_reported_with_their_line_and_the_last_one_wins() -> None:
    decoded = decode(b"kind: K\nspec:\n  size: 1\n  a: b\n  size:\n    2\nkind: L\n")
    assert decoded.value == {"kind": "L", "spec": {"size": 2, "a": "b"}}
    assert decoded.duplicates == ['line 6: key "size" already set in map', 'line 7: key "kind" already set in map']


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b"a: b: c", "yaml: mapping values are not allowed in this context"),
        (b"x: 1\na: b: c", "yaml: line 2: mapping values are not allowed in this context"),
        (b"\ta: 1", "yaml: found character that cannot start any token"),
        (b"a:\n  - b\n c: 1\n", "yaml: line 2: did not find expected key"),
        (b"*x", "yaml: unknown anchor 'x' referenced"),
        (b"a: &a [*a]", "yaml: anchor 'a' value contains itself"),
        (b"{<<: 1}", "yaml: map merge requires map or sequence of maps as the value"),
        (b"~: a", "yaml: unsupported map key of type: <nil>"),
        (b"? [a]\n: b", "yaml: unsupported map key of type: list"),
        (b"? {a: b}\n: b", "yaml: unsupported map key of type: map"),
        (b'a: "\xff"', "yaml: invalid leading UTF-8 octet"),
        (b"a: .inf", "json: unsupported value: +Inf"),
        (b"a: -.inf", "json: unsupported value: -Inf"),
        (b"a: .nan", "json: unsupported value: NaN"),
        (b"a: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
        (b"a: !!int on", "yaml: cannot decode !!bool `on` as a !!int"),
        (b"a: !!binary '*'", "yaml: !!binary value contains invalid base64 data"),
    ],
)
def test_errors(text: bytes, error: str) -> None:
    with pytest.raises(YAMLError) as raised:
        decode(text)
    assert str(raised.value) == error


def test_a_few_hundred_bytes_of_nested_aliases_are_refused_at_once() -> None:
    lines = [b'a: &a ["lol","lol","lol","lol","lol","lol","lol","lol","lol"]\n']
    lines += [b"%c: &%c [%s]\n" % (c, c, b",".join([b"*%c" % (c - 1)] * 9)) for c in range(ord("b"), ord("j"))]
    bomb = b"".join(lines)
    assert len(bomb) < 400
    started = time.process_time()
    with pytest.raises(YAMLError, match=r"^yaml: document contains excessive aliasing$"):
        decode(bomb)
    assert time.process_time() - started < 1


def test_merges_of_merges_are_refused_at_once() -> None:
    lines = [b"a: &a {" + b",".join(b"k%d: 1" % each for each in range(9)) + b"}\n"]
    lines += [b"%c: &%c {<<: [%s]}\n" % (c, c, b",".join([b"*%c" % (c - 1)] * 9)) for c in range(ord("b"), ord("j"))]
    started = time.process_time()
    with pytest.raises(YAMLError, match=r"^yaml: document contains excessive aliasing$"):
        decode(b"".join(lines))
    assert time.process_time() - started < 1


def test_a_chain_of_merges_is_bounded() -> None:
    def chain(length: int) -> bytes:
        return b"a0: &a0 {k: 1}\n" + b"".join(b"a%d: &a%d {<<: *a%d}\n" % (i, i, i - 1) for i in range(1, length))

    assert decode(chain(199)).value["a198"] == {"k": 1}
    with pytest.raises(YAMLError, match="exceeded max depth of 200"):
        decode(chain(201))


def test_a_long_text_repeated_by_aliases_is_refused() -> None:
    text = b"a: &a " + b"x" * 100_000 + b"\nb: [" + b",".join([b"*a"] * 11) + b"]\n"
    with pytest.raises(YAMLError, match="excessive aliasing"):
        decode(text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_tag_directives_are_bounded(encoding: str) -> None:
    """Libyaml compares each with all before it."""
    start = "" if encoding == "utf-8" else "\ufeff"

    def text(count: int) -> bytes:
        return (start + "".join(f"%TAG !{index}! x\n" for index in range(count)) + "--- a\n").encode(encoding)

    assert decode(text(MAX_TAG_DIRECTIVES)).value == "a"
    with pytest.raises(YAMLError, match=f"^yaml: more than {MAX_TAG_DIRECTIVES} %TAG directives$"):
        decode(text(MAX_TAG_DIRECTIVES + 1))


def test_depth_is_bounded() -> None:
    assert decode(b"[" * 200 + b"]" * 200).value
    for text in (b"[" * 201 + b"]" * 201, b"[" * 100_000, b"{a: " * 100_000):
        with pytest.raises(YAMLError, match="exceeded max depth"):
            decode(text)


def test_aliases_cannot_make_a_document_deeper() -> None:
    half = b"a: &a " + b"[" * 150 + b"]" * 150
    assert decode(half + b"\nb: " + b"[" * 48 + b"*a" + b"]" * 48).value
    for levels in (50, 150):
        with pytest.raises(YAMLError, match="exceeded max depth"):
            decode(half + b"\nb: " + b"[" * levels + b"*a" + b"]" * levels)


def test_size_is_bounded() -> None:
    with pytest.raises(YAMLError, match="more than 200000 nodes"):
        decode(b"[" + b"a," * 200_001 + b"]")


def test_output_is_as_kubectl_prints_it() -> None:
    obj = {
        "kind": "Pizza",
        "apiVersion": "v1",
        "metadata": {"name": "x", "labels": {}, "creationTimestamp": "2024-01-01T00:00:00Z"},
        "spec": {
            "l": [{"a": 1, "b": "yes"}, {"c": 1.5}],
            "m": "multi\nline\n",
            "e": "",
            "s": "a: b",
            "n": None,
            "z": [],
        },
        "t": True,
    }
    assert encode_yaml(obj).decode() == (
        "apiVersion: v1\nkind: Pizza\nmetadata:\n"
        '  creationTimestamp: "2024-01-01T00:00:00Z"\n  labels: {}\n  name: x\n'
        'spec:\n  e: ""\n  l:\n  - a: 1\n    b: "yes"\n  - c: 1.5\n  m: |\n    multi\n    line\n'
        "  \"n\": null\n  s: 'a: b'\n  z: []\nt: true\n"
    )


_TEXT = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co")) | st.sampled_from("\n :#-'\"[]{}&*!|>%@`01.:yn~")
)
_SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0.5, -1.25e-7, 3.75]) | _TEXT


@given(
    st.dictionaries(
        _TEXT, st.recursive(_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(_TEXT, inner), max_leaves=10)
    )
)
@settings(max_examples=60, deadline=None)
def test_what_is_written_reads_back_as_the_same(obj: dict[str, Any]) -> None:
    decoded = strictyaml.decode(encode_yaml(obj))
    assert decoded.value == obj
    assert decoded.duplicates == []


def test_names_that_come_often_are_kept_once() -> None:
    first, second = decode(b"- {description: string}\n- {description: string}\n").value
    assert next(iter(first)) is next(iter(second))
    assert first["description"] is second["description"]
