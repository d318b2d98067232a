"""Negotiation: behaviour C13, F1, G1 to G7."""

import re

import pytest
from hypothesis import given, strategies as st

from extapi.codec.negotiation import (
    SWAGGER_PROTOBUF,
    DiscoveryFormat,
    Negotiated,
    Transform,
    negotiate,
    negotiate_discovery,
    negotiate_openapi,
    negotiate_stream,
)
from extapi.errors import NotAcceptable

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
        ("", DiscoveryFormat("json")),
        ("application/json", DiscoveryFormat("json")),
        ("application/yaml", DiscoveryFormat("yaml")),
        (f"{_V2},application/json", DiscoveryFormat("json", "v2")),
        (f"application/json,{_V2}", DiscoveryFormat("json", "v2")),  # seen on 1.36.3, also with yaml first
        (f"{_V2},{_V2BETA1},application/json", DiscoveryFormat("json", "v2")),
        (f"{_V2BETA1},application/json", DiscoveryFormat("json", "v2beta1")),
        (f"{_V2};profile=nopeer,application/json", DiscoveryFormat("json", "v2")),
        (
            "application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList,application/json",
            DiscoveryFormat("json"),
        ),
        (f"{_V2.replace('json', 'vnd.kubernetes.protobuf')},{_V2}", DiscoveryFormat("protobuf", "v2")),
        (f"{_PROTOBUF},application/json", DiscoveryFormat("protobuf")),
        ("*/*", DiscoveryFormat("json")),
    ],
)
def test_discovery(accept: str, expected: DiscoveryFormat) -> None:
    assert negotiate_discovery(accept) == expected


def test_discovery_content_type_and_refusal() -> None:
    assert DiscoveryFormat("json", "v2").content_type == _V2
    assert DiscoveryFormat("yaml").content_type == "application/yaml"
    with pytest.raises(NotAcceptable, match="only the following media types are accepted"):
        negotiate_discovery(f"{_V2.replace('v=v2', 'v=v9')}")
    assert negotiate_discovery("application/json," * 1000) == DiscoveryFormat("json")


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


@given(st.text("01.+-e\u0663_", min_size=1, max_size=6))
def test_weights_are_decimal_numbers(weight: str) -> None:
    """What is none weighs nothing (``goautoneg``)."""
    decimal = re.fullmatch(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+", weight)
    heavy = decimal is not None and float(weight) > 0.5
    assert negotiate(f"application/json;q=0.5,application/yaml;q={weight}") == (YAML if heavy else JSON)
