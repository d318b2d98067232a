"""How bytes become reviews, and what those are told who sent none."""

from __future__ import annotations

import msgspec
import pytest

from extapi.webhooks.reviews.reading import BadReview, ReviewDecoder, check_type, read_object, shortened


class _Thing(msgspec.Struct):
    size: int = 0
    name: str = ""
    object: msgspec.Raw = msgspec.Raw(b"null")


read = ReviewDecoder(_Thing).decode


def test_members_that_are_not_known_are_ignored() -> None:
    assert read(b'{"size": 1, "colour": {"red": [1]}}') == _Thing(1)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "the body is empty; expected a review"),
        (b" \n", "the body is empty; expected a review"),
        (b"{", "the body is no JSON: unexpected end of JSON input"),
        (b"kind: Review", "the body is no JSON: invalid character 'k' looking for beginning of value"),
        (b'{"size": "1"}', "the body is no review: Expected `int`, got `str` - at `$.size`"),
        (b"[]", "the body is no review: Expected `object`, got `array`"),
        (b'{"size": 1e999}', "the body is no review: Number out of range - at `$.size`"),
        (b"[" * 300 + b"]" * 300, "the body is no review: Expected `object`, got `array`"),
        (
            b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
            "the body is no JSON: exceeded max depth",
        ),  # deeper than any Python goes
    ],
)
def test_what_is_no_review(body: bytes, text: str) -> None:
    with pytest.raises(BadReview) as raised:
        read(body)
    assert str(raised.value) == text


def test_bytes_that_are_no_text_are_repaired_as_kube_apiserver_does() -> None:
    assert read(b'{"name": "\xff", "size": 2}') == _Thing(2, "\ufffd")


@pytest.mark.parametrize(
    ("body", "obj"),
    [
        (b'{"size": 2, "object": {"id": "1795659130840824311"}}', {"id": "1795659130840824311"}),
        (b'{"size": 2, "object": {"id": 1795659130840824311}}', {"id": 1795659130840824311}),
        (b'{"size": 2, "object": {"id": 17956591308408243110}}', {"id": 17956591308408243110.0}),
        (b'{"size": 2, "object": {"text": "\xff"}}', {"text": "\ufffd"}),
    ],
)
def test_an_object_stays_bytes_whatever_is_in_it(body: bytes, obj: object) -> None:
    found = read(body)
    assert (found.size, read_object(bytes(found.object))) == (2, obj)


def test_types() -> None:
    known = {"g/v1": "v1", "g/v1beta1": "v1beta1"}
    assert check_type("g/v1beta1", "R", known, "R") == "v1beta1"
    for api_version, kind in (("g/v2", "R"), ("g/v1", "S"), ("", "")):
        with pytest.raises(BadReview, match="expected R of g/v1 or g/v1beta1, got kind "):
            check_type(api_version, kind, known, "R")


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a": 9223372036854775807}', {"a": 2**63 - 1}),
        (b'{"a": 9223372036854775808}', {"a": 2.0**63}),
        (b'{"a": 1.0, "b": 0.5}', {"a": 1, "b": 0.5}),
        (b'{"a": "\xff"}', {"a": "\ufffd"}),
        (b'{"a": ' + b"[" * 150 + b"]" * 150 + b"}", None),
    ],
)
def test_objects(data: bytes, value: object) -> None:
    found = read_object(data)
    assert value is None or found == value


@pytest.mark.parametrize("data", [b"1", b"[]", b'"a"', b"{", b'{"a":' + b"[" * 250 + b"]" * 250 + b"}"])
def test_what_is_no_object(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each has its own text
        read_object(data)


def test_texts_in_errors_are_bounded() -> None:
    assert len(shortened("x" * 10_000)) == 1027
