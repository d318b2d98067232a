"""Negotiation: spec C13, F1, G1-G8, E55."""

import re

import pytest
from hypothesis import given, strategies as st

from extapi.codec.negotiation import (
    SWAGGER_PROTOBUF,
    Discovery,
    Negotiated,
    Transform,
    negotiate,
    negotiate_discovery,
    negotiate_openapi,
    negotiate_stream,
    patch_type,
    request_format,
)
from extapi.errors import NotAcceptable, UnsupportedMediaType

_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_PROTOBUF = "application/vnd.kubernetes.protobuf"
_V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_V2BETA1 = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
_ACCEPTED = "application/json, application/yaml"
_PARTIAL = "as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
JSON = Negotiated("json")
YAML = Negotiated("yaml")


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("*", JSON),
        ("application/*", JSON),
        ("application/json", JSON),
        ("application/yaml", YAML),
        (" application/yaml , application/json", YAML),
        ("application/yaml;q=0.5,application/json;q=0.9", JSON),
        ("application/json;q=0", JSON),
        ("*/*,application/yaml", YAML),
        (f"{_PROTOBUF},application/json", JSON),
        (f"{_PROTOBUF},*/*", JSON),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", JSON),
        (_TABLE, Negotiated("json", Transform("Table", "v1"))),
        (f"{_TABLE},application/json", Negotiated("json", Transform("Table", "v1"))),
        ("application/yaml;as=Table;v=v1beta1;g=meta.k8s.io", Negotiated("yaml", Transform("Table", "v1beta1"))),
        (
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            Negotiated("json", Transform("PartialObjectMetadataList", "v1")),
        ),
        ("application/json;as=Chair;v=v1;g=meta.k8s.io,application/yaml", YAML),
        ("application/json;as=Table;v=v2;g=meta.k8s.io,application/json", JSON),
        ("application/json;as=Table;v=v1;g=example.com,application/json", JSON),
        ("application/json;v=v1,application/yaml", YAML),
        ("application/json;stream=watch", JSON),
        ("application/json;stream=other,application/yaml", YAML),
        ("application/yaml;stream=watch,application/json", JSON),
        ("application/json;sv=v1,application/yaml", YAML),
        ("application/json;charset=utf-8;odd;a=b=c", JSON),
        ("application/json;pretty=1", Negotiated("json", pretty=True)),
        ("application/yaml;pretty=1", YAML),
        ("application,application/json/x,application/yaml;q=x", YAML),
        ("application/json," * 5000, JSON),
    ],
)
def test_the_first_clause_that_can_be_served_wins(accept: str, expected: Negotiated) -> None:
    assert negotiate(accept) == expected


@pytest.mark.parametrize(
    "accept", ["text/plain", _PROTOBUF, "APPLICATION/JSON", "application/json;as=Chair", "text/*", ","]
)
def test_nothing_acceptable(accept: str) -> None:
    with pytest.raises(NotAcceptable) as raised:
        negotiate(accept)
    assert raised.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"only the following media types are accepted: {_ACCEPTED}",
        "reason": "NotAcceptable",
        "code": 406,
    }


def test_metadata_is_written_in_protobuf_whatever_the_kind() -> None:
    wanted = Negotiated("protobuf", Transform("PartialObjectMetadata", "v1"))
    assert negotiate(f"{_PROTOBUF};{_PARTIAL},application/json;{_PARTIAL},application/json") == wanted
    assert negotiate_stream(f"{_PROTOBUF};{_PARTIAL}") == wanted


def test_protobuf_is_written_where_a_resource_says_so() -> None:
    """As kube-apiserver does for its own kinds (observed on 1.36.3): but never a table."""
    accept = f"{_PROTOBUF},application/json"
    assert negotiate(accept, protobuf=True) == Negotiated("protobuf")
    assert negotiate_stream(f"{_PROTOBUF};stream=watch", protobuf=True) == Negotiated("protobuf")
    assert negotiate(accept) == negotiate_stream(accept) == JSON
    assert negotiate("application/*", protobuf=True) == negotiate("*/*", protobuf=True) == JSON
    table = _TABLE.replace("application/json", _PROTOBUF)
    assert negotiate(f"{table},{_TABLE}", protobuf=True) == Negotiated("json", Transform("Table", "v1"))
    with pytest.raises(NotAcceptable, match=f"{_ACCEPTED}, {_PROTOBUF}$"):
        negotiate(table, protobuf=True)


def test_an_endpoint_without_tables_skips_the_clause() -> None:
    allowed = frozenset({"PartialObjectMetadata"})
    assert negotiate(f"{_TABLE},application/yaml", transforms=allowed) == YAML
    with pytest.raises(NotAcceptable):
        negotiate(_TABLE, transforms=allowed)


@pytest.mark.parametrize(
    ("query", "agent", "pretty"),
    [
        ("", "kubectl/v1.36", False),
        ("", "curl/8.1", True),
        ("", "Wget/1.2", True),
        ("", "Mozilla/5.0 (X11)", True),
        ("", "Mozilla/4.0", False),
        ("true", "kubectl", True),
        ("1", "", True),
        ("false", "curl/8.1", False),
        ("0", "curl/8.1", False),
        ("garbage", "curl/8.1", False),
    ],
)
def test_pretty_by_query_else_by_user_agent(query: str, agent: str, pretty: bool) -> None:
    assert negotiate("", pretty=query, user_agent=agent).pretty is pretty
    assert negotiate("application/yaml", pretty=query, user_agent=agent).pretty is False


def test_content_types() -> None:
    assert negotiate(_TABLE).content_type == "application/json"
    assert YAML.content_type == "application/yaml"
    assert Negotiated("protobuf").content_type == _PROTOBUF
    assert (JSON.stream_type, Negotiated("protobuf").stream_type) == ("application/json", f"{_PROTOBUF};stream=watch")
    assert Transform("Table", "v1").api_version == "meta.k8s.io/v1"


def test_a_watch_is_json_and_never_pretty() -> None:
    assert negotiate_stream("") == JSON
    assert negotiate_stream("application/json;pretty=1") == JSON
    assert negotiate_stream(f"{_TABLE},application/json") == Negotiated("json", Transform("Table", "v1"))
    for accept, protobuf, accepted in (
        ("application/yaml", False, "application/json;stream=watch"),
        ("application/yaml", True, f"application/json;stream=watch, {_PROTOBUF};stream=watch"),
        ("text/plain", False, _ACCEPTED),
    ):
        with pytest.raises(NotAcceptable) as raised:
            negotiate_stream(accept, protobuf=protobuf)
        assert str(raised.value) == f"only the following media types are accepted: {accepted}"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", Discovery("json")),
        ("application/json", Discovery("json")),
        ("application/yaml", Discovery("yaml")),
        (f"{_V2},application/json", Discovery("json", "v2")),
        (f"application/json,{_V2}", Discovery("json", "v2")),  # seen on 1.36.3, also with yaml first
        (f"{_V2},{_V2BETA1},application/json", Discovery("json", "v2")),
        (f"{_V2BETA1},application/json", Discovery("json", "v2beta1")),
        (f"{_V2};profile=nopeer,application/json", Discovery("json", "v2")),
        ("application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList,application/json", Discovery("json")),
        (f"{_V2.replace('json', 'vnd.kubernetes.protobuf')},{_V2}", Discovery("protobuf", "v2")),
        (f"{_PROTOBUF},application/json", Discovery("protobuf")),
        ("*/*", Discovery("json")),
    ],
)
def test_discovery(accept: str, expected: Discovery) -> None:
    assert negotiate_discovery(accept) == expected


def test_discovery_content_type_and_refusal() -> None:
    assert Discovery("json", "v2").content_type == _V2
    assert Discovery("yaml").content_type == "application/yaml"
    with pytest.raises(NotAcceptable, match="only the following media types are accepted"):
        negotiate_discovery(f"{_V2.replace('v=v2', 'v=v9')}")
    assert negotiate_discovery("application/json," * 1000) == Discovery("json")


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


def test_strategic_merge_patches_are_taken_where_a_resource_says_so() -> None:
    assert patch_type("application/strategic-merge-patch+json; x=y", strategic=True) == "strategic-merge-patch"
    assert patch_type("application/json-patch+json", strategic=True) == "json-patch"
    for content_type in ("text/plain", "application/apply-patch+yaml"):
        with pytest.raises(UnsupportedMediaType, match="strategic-merge-patch"):
            patch_type(content_type, strategic=True)


def test_patch_types() -> None:
    assert patch_type("application/json-patch+json") == "json-patch"
    assert patch_type("application/merge-patch+json; charset=utf-8") == "merge-patch"


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


def test_apply_says_that_it_is_not_there_yet() -> None:
    with pytest.raises(UnsupportedMediaType, match="server-side apply is not supported yet") as raised:
        patch_type("application/apply-patch+yaml")
    assert raised.value.status()["reason"] == "UnsupportedMediaType"


@pytest.mark.parametrize(
    ("accept", "protobuf"),
    [
        ("application/com.github.proto-openapi.spec.v2@v1.0+protobuf", True),  # as client-go asks
        ("application/com.github.proto-openapi.spec.v2.v1.0+protobuf", True),
        ("application/com.github.proto-openapi.spec.v2.v1.0+protobuf, application/json", True),
        ("application/json, application/com.github.proto-openapi.spec.v2.v1.0+protobuf", False),
        ("text/html, application/com.github.proto-openapi.spec.v2@v1.0+protobuf", True),
        ("application/yaml, application/json", False),
        ("*/*", False),
        ("*", False),
        ("application/*", False),
        ("", False),
    ],
)
def test_openapi_v2_in_protobuf(accept: str, protobuf: bool) -> None:
    assert negotiate_openapi(accept, protobuf=True) == (SWAGGER_PROTOBUF if protobuf else "application/json")
    if "json" in accept or "*" in accept or not accept:
        assert negotiate_openapi(accept) == "application/json"


@pytest.mark.parametrize("accept", ["application/yaml", "text/*", "application/vnd.kubernetes.protobuf", ";"])
def test_openapi_is_json_or_nothing(accept: str) -> None:
    with pytest.raises(NotAcceptable, match=r"accepted: application/json$"):
        negotiate_openapi(accept)


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


@given(st.text("01.+-e\u0663_", min_size=1, max_size=6))
def test_weights_are_decimal_numbers(weight: str) -> None:
    """What is none weighs nothing (``goautoneg``)."""
    decimal = re.fullmatch(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+", weight)
    heavy = decimal is not None and float(weight) > 0.5
    assert negotiate(f"application/json;q=0.5,application/yaml;q={weight}") == (YAML if heavy else JSON)
