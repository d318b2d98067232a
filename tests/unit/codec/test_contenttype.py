"""The formats of request bodies: behaviour E55, G8."""

import re

import pytest
from hypothesis import given, strategies as st

from extapi.codec.contenttype import APPLY, patch_type, request_format
from extapi.errors import UnsupportedMediaType

_PROTOBUF = "application/vnd.kubernetes.protobuf"
_ACCEPTED = "application/json, application/yaml"


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("", "json"),
        ("application/json", "json"),
        ("application/json; charset=utf-8", "json"),
        ('Application/JSON;x="a b";', "json"),
        ("application/yaml", "yaml"),
        ("application/YAML;a=b", "yaml"),
    ],
)
def test_request_formats(content_type: str, expected: str) -> None:
    assert request_format(content_type) == expected


@pytest.mark.parametrize(
    "content_type",
    [_PROTOBUF, "text/plain", "application", "application/json;;x", "json", "a" * 2000, "application/json; ="],
)
def test_unknown_request_formats(content_type: str) -> None:
    with pytest.raises(UnsupportedMediaType) as raised:
        request_format(content_type)
    status = raised.value.status()
    assert status["message"] == (
        f"the body of the request was in an unknown format - accepted media types include: {_ACCEPTED}"
    )
    assert (status["code"], status["reason"]) == (415, "UnsupportedMediaType")


def test_protobuf_is_read_where_a_resource_says_so() -> None:
    assert request_format(_PROTOBUF, protobuf=True) == "protobuf"
    assert request_format("Application/vnd.kubernetes.protobuf;stream=watch", protobuf=True) == "protobuf"
    assert request_format("application/json", protobuf=True) == "json"
    with pytest.raises(UnsupportedMediaType):
        request_format("application/x-protobuf", protobuf=True)


def test_further_types_of_patches_are_accepted_where_a_resource_says_so() -> None:
    strategic = "application/strategic-merge-patch+json"
    assert patch_type(f"{strategic}; x=y", [strategic]) == strategic
    assert patch_type("application/json-patch+json", [strategic]) == "application/json-patch+json"
    for content_type in ("text/plain", "application/apply-patch+yaml"):
        with pytest.raises(UnsupportedMediaType, match="strategic-merge-patch"):
            patch_type(content_type, [strategic])


def test_patch_types() -> None:
    assert patch_type("application/json-patch+json") == "application/json-patch+json"
    assert patch_type("application/merge-patch+json; charset=utf-8") == "application/merge-patch+json"


@pytest.mark.parametrize(
    "content_type", ["application/strategic-merge-patch+json", "", "application/json", "Application/merge-patch+json"]
)
def test_other_patches_are_refused_with_the_reason_that_clients_fall_back_on(content_type: str) -> None:
    with pytest.raises(UnsupportedMediaType) as raised:
        patch_type(content_type)
    status = raised.value.status()
    assert status["message"] == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json"
    )
    assert (status["code"], status["reason"]) == (415, "UnsupportedMediaType")


def test_apply_is_taken_where_fields_are_managed() -> None:
    assert patch_type(APPLY, (APPLY,)) == APPLY
    with pytest.raises(UnsupportedMediaType) as raised:
        patch_type(APPLY)
    assert raised.value.status()["reason"] == "UnsupportedMediaType"


_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_CONTENT_TYPE = re.compile(
    rf'\s*({_TOKEN}/{_TOKEN})\s*(?:;\s*(?:{_TOKEN}\s*=\s*(?:{_TOKEN}|"[^"\\]*")\s*)?)*', re.ASCII | re.IGNORECASE
)
"""RFC 9110, section 8.3.1, with white space wherever somebody may put it, and without backslashes in quotes."""
_PIECES = ["a", "/", ";", "=", '"', "\\", " ", "\t", ",", "\u00e9", "application/json", "; charset=utf-8", '; a="b;c"']


@given(st.sampled_from(["", "application/json", "Application/YAML"]), st.lists(st.sampled_from(_PIECES), max_size=8))
def test_content_types_are_read_as_their_grammar_says(start: str, pieces: list[str]) -> None:
    text = start + "".join(pieces)
    found = _CONTENT_TYPE.fullmatch(text)
    formats = {"application/json": "json", "application/yaml": "yaml"}
    expected = formats.get(found[1].lower()) if found is not None else None
    if expected is None and text:
        with pytest.raises(UnsupportedMediaType):
            request_format(text)
    else:
        assert request_format(text) == (expected or "json")
