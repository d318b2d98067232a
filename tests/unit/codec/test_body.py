"""Bodies of writes: behaviour E10, E21, N3."""

import re

import pytest

from extapi.codec.body import check_version, decode_object, refuse_strict, strict_error, strict_warnings
from extapi.codec.negotiation import Format
from extapi.codec.options import Validation
from extapi.errors import BadRequest

GOOD = b'{"apiVersion":"g/v1","kind":"Pizza","spec":{"a":1}}'


def _refusal(data: bytes, body_format: Format = "json", mode: Validation = "Warn") -> str:
    with pytest.raises(BadRequest) as raised:
        decode_object(data, body_format, kind="Pizza", group_version="g/v1", mode=mode)
    return str(raised.value)


def test_json_and_yaml() -> None:
    expected = {"apiVersion": "g/v1", "kind": "Pizza", "spec": {"a": 1}}
    body = decode_object(GOOD, "json", kind="Pizza", group_version="g/v1")
    assert (body.value, body.duplicates) == (expected, [])
    body = decode_object(b"apiVersion: g/v1\nkind: Pizza\nspec:\n  a: 1\n", "yaml", kind="Pizza", group_version="g/v1")
    assert (body.value, body.duplicates) == (expected, [])


def test_a_wrong_kind_is_left_to_validation() -> None:
    body = decode_object(GOOD.replace(b"Pizza", b"Pasta"), "json", kind="Pizza", group_version="g/v1")
    assert body.value["kind"] == "Pasta"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", "unexpected end of JSON input (<empty>)"),
        (b"{x", "invalid character 'x' looking for beginning of object key string ({x)"),
        (b"hello", "invalid character 'h' looking for beginning of value (68656c6c6f)"),
        (b"{" + b"x" * 29, "invalid character 'x' looking for beginning of object key string ({" + "x" * 29 + ")"),
        (b"{" + b"x" * 30, "invalid character 'x' looking for beginning of object key string ({" + "x" * 29 + " ...)"),
        (b"x" * 31, "invalid character 'x' looking for beginning of value (" + "78" * 30 + " ...)"),
    ],
)
def test_what_cannot_be_read(data: bytes, error: str) -> None:
    assert _refusal(data) == (
        "the object provided is unrecognized (must be of type Pizza): "
        f"couldn't get version/kind; json parse error: {error}"
    )


def test_a_missing_kind_is_said_with_the_body() -> None:
    text = "the object provided is unrecognized (must be of type Pizza): Object 'Kind' is missing in "
    assert _refusal(b'{"a":1}') == text + '\'{"a":1}\' ({"a":1})'
    assert _refusal(b"null") == text + "'null' (6e756c6c)"
    assert _refusal(b"a: 1", "yaml") == text + "'a: 1' (613a2031)"
    assert _refusal(b"", "yaml") == text + "'' (<empty>)"
    assert _refusal(b'{"kind":""}', mode="Ignore") == (
        'Pizza in version "v1" cannot be handled as a Pizza: Object \'Kind\' is missing in \'{"kind":""}\''
    )


def test_values_of_wrong_types() -> None:
    assert "cannot unmarshal array into" in _refusal(b"[]")
    assert "cannot unmarshal number into Go struct field .kind of type string" in _refusal(b'{"kind":1}')
    assert "cannot unmarshal bool into Go struct field .apiVersion of type string" in _refusal(b'{"apiVersion":true}')
    assert "cannot unmarshal object into Go struct field .kind of type string" in _refusal(b'{"kind":{}}')
    assert "unexpected GroupVersion string: a/b/c" in _refusal(b'{"apiVersion":"a/b/c","kind":"Pizza"}')


def test_yaml_errors_are_worded_as_by_go_yaml() -> None:
    assert _refusal(b"a: b: c", "yaml") == (
        "the object provided is unrecognized (must be of type Pizza): "
        "yaml: mapping values are not allowed in this context (613a20623a2063)"
    )


def test_another_version_than_the_endpoints() -> None:
    """Told after all that reading the object says, so that unknown fields are warned of first."""
    for data, found in ((b'{"apiVersion":"x/v2","kind":"Pizza"}', "x/v2"), (b'{"kind":"Pizza"}', "")):
        value = decode_object(data, "json", kind="Pizza", group_version="g/v1").value
        text = f"the API version in the data ({found}) does not match the expected API version (g/v1)"
        with pytest.raises(BadRequest, match=f"^{re.escape(text)}$"):
            check_version(value, "g/v1")
    check_version({"apiVersion": "g/v1"}, "g/v1")


def test_a_null_for_a_version() -> None:
    """As 1.36.3 answers; a version that is missing or empty is another one than the endpoint's."""
    assert _refusal(b'{"apiVersion":null,"kind":"Pizza"}') == (
        'Pizza in version "" cannot be handled as a Pizza: '
        ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
    )


def test_duplicates_in_json() -> None:
    data = b'{"apiVersion":"g/v1","kind":"Pizza","spec":{"bar":1,"bar":2}}'
    body = decode_object(data, "json", kind="Pizza", group_version="g/v1", mode="Strict")
    assert body.duplicates == ['duplicate field "spec.bar"']
    assert decode_object(data, "json", kind="Pizza", group_version="g/v1", mode="Ignore").duplicates == []
    with pytest.raises(BadRequest) as raised:
        refuse_strict("Pizza", "v1", ["spec.foo"], body.duplicates)
    assert str(raised.value) == (
        'Pizza in version "v1" cannot be handled as a Pizza: '
        'strict decoding error: duplicate field "spec.bar", unknown field "spec.foo"'
    )


def test_duplicates_in_yaml() -> None:
    data = b"apiVersion: g/v1\nkind: Pizza\nspec:\n  size: 1\n  size: 2\n  x: 1\n  x: 1\n"
    body = decode_object(data, "yaml", kind="Pizza", group_version="g/v1")
    lines = ['line 5: key "size" already set in map', 'line 7: key "x" already set in map']
    assert strict_warnings(["spec.foo"], body.duplicates) == [*lines, 'unknown field "spec.foo"']
    assert strict_error([], body.duplicates) == (
        "strict decoding error: yaml: unmarshal errors:\n  " + "\n  ".join(lines)
    )


def test_strict_errors_come_once_each_and_all_of_them() -> None:
    assert strict_error([], []) == ""
    refuse_strict("Pizza", "v1", [], [])
    assert strict_error(["spec.a", "spec.a"], []) == 'strict decoding error: unknown field "spec.a"'
    assert len(strict_warnings([f"spec.f{i}" for i in range(120)], [])) == 120
