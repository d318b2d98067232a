"""Bodies for Kubernetes' own kinds. The texts are those of kube-apiserver 1.36.3 for the same bodies."""

from __future__ import annotations

import pytest

from extapi.codec.body import DecodedBody, decode_envelope, decode_object
from extapi.codec.deletion import DeleteOptions, delete_options
from extapi.codec.negotiation import Format
from extapi.codec.options import Validation
from extapi.controlplane.builtin.behaviour import BuiltInDecoding, untyped
from extapi.controlplane.builtin.protobuf import Messages
from extapi.errors import BadRequest

MESSAGES = Messages("""
Namespace: 1 metadata ObjectMeta
ConfigMap: 1 metadata ObjectMeta
ObjectMeta: 1 name; 5 uid
DeleteOptions: 1 gracePeriodSeconds? int64; 2 preconditions Preconditions; 4 propagationPolicy?
Preconditions: 1 uid?
""")
NAMED = b"\x12\x08\x0a\x06\x0a\x04nono"
"""In the envelope: a raw message with metadata, with the name nono."""


def read(data: bytes, form: Format, mode: Validation = "Warn", group_version: str = "v1") -> DecodedBody:
    rules = BuiltInDecoding(known=MESSAGES)
    if form == "protobuf":
        return decode_envelope(data, MESSAGES, kind="Namespace", group_version=group_version, rules=rules)
    return decode_object(data, form, kind="Namespace", group_version=group_version, mode=mode, rules=rules)


@pytest.mark.parametrize(
    "type_meta",
    [
        b"\x0a\x0f\x0a\x02v1\x12\x09Namespace",
        b"\x0a\x0b\x12\x09Namespace",
        b"\x0a\x04\x0a\x02v1",
        b"",
        b"\x0a\x12\x0a\x05a/b/c\x12\x09Namespace",
    ],
)
def test_protobuf_takes_its_type_from_the_endpoint(type_meta: bytes) -> None:
    found = read(b"k8s\0" + type_meta + NAMED, "protobuf")
    assert found == DecodedBody({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "nono"}})


@pytest.mark.parametrize(
    ("form", "data"),
    [
        ("json", b'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"nono"}}'),
        ("json", b'{"apiVersion":"v1","metadata":{"name":"nono"}}'),
        ("json", b'{"kind":"Namespace","apiVersion":"","metadata":{"name":"nono"}}'),
        ("json", b'{"metadata":{"name":"nono"}}'),
        ("yaml", b"metadata:\n  name: nono\n"),
    ],
)
def test_so_do_json_and_yaml(form: Format, data: bytes) -> None:
    assert read(data, form).value == {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "nono"}}


def test_null_is_an_empty_object() -> None:
    assert read(b"null", "json").value == {"apiVersion": "v1", "kind": "Namespace"}


@pytest.mark.parametrize(("mode", "told"), [("Ignore", 0), ("Warn", 1), ("Strict", 1)])
def test_duplicates(mode: Validation, told: int) -> None:
    assert len(read(b'{"metadata":{"name":"a","name":"b"}}', "json", mode).duplicates) == told


SCHEME = 'in scheme "pkg/runtime/scheme.go:111"'


@pytest.mark.parametrize(
    ("form", "data", "kind", "why"),
    [
        ("json", b'{"apiVersion":"v1","kind":"ConfigMap"}', 'ConfigMap in version "v1"', "converting (v1.ConfigMap) to (core.Namespace): unknown conversion"),
        ("json", b'{"apiVersion":"v1","kind":"NamespaceList","items":[]}', 'NamespaceList in version "v1"', "converting (v1.NamespaceList) to (core.Namespace): unknown conversion"),
        ("json", b'{"apiVersion":"v1","kind":"Foo"}', 'Foo in version "v1"', f'no kind "Foo" is registered for version "v1" {SCHEME}'),
        ("json", b'{"apiVersion":"x.y/v1","kind":"Foo"}', 'Foo in version "v1"', f'no kind "Foo" is registered for version "x.y/v1" {SCHEME}'),
        ("json", b'{"apiVersion":"v2","kind":"Namespace"}', 'Namespace in version "v2"', f'no kind "Namespace" is registered for version "v2" {SCHEME}'),
        ("protobuf", b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap" + NAMED, 'ConfigMap in version "v1"', "converting (v1.ConfigMap) to (core.Namespace): unknown conversion"),
        ("protobuf", b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Foo" + NAMED, 'Foo in version "v1"', f'no kind "Foo" is registered for version "v1" {SCHEME}'),
        ("protobuf", b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x02\x08\x01", 'Namespace in version "v1"', "proto: wrong wireType = 0 for field ObjectMeta"),
        ("protobuf", b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x04\x0a\x02\x28\x01", 'Namespace in version "v1"', "proto: wrong wireType = 0 for field UID"),
    ],
)  # fmt: skip
def test_other_types_and_broken_messages(form: Format, data: bytes, kind: str, why: str) -> None:
    with pytest.raises(BadRequest) as caught:
        read(data, form)
    assert caught.value.message == f"{kind} cannot be handled as a Namespace: {why}"


@pytest.mark.parametrize(
    ("form", "data", "why"),
    [
        ("protobuf", b"", "empty data (<empty>)"),
        ("protobuf", b"k8s\0", "empty body (6b387300)"),
        (
            "protobuf",
            b'{"a":1}',
            'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({"a":1})',
        ),
        ("protobuf", b"k8s\0\x0a", "unexpected EOF (6b3873000a)"),
        ("json", b"{", "couldn't get version/kind; json parse error: unexpected end of JSON input ({)"),
        (
            "json",
            b"[]",
            "couldn't get version/kind; json parse error: json: cannot unmarshal array into an object (5b5d)",
        ),
    ],
)
def test_what_has_no_type(form: Format, data: bytes, why: str) -> None:
    with pytest.raises(BadRequest) as caught:
        read(data, form)
    assert caught.value.message == f"the object provided is unrecognized (must be of type Namespace): {why}"


def test_groups_are_named_by_their_first_word() -> None:
    with pytest.raises(BadRequest, match=r"converting \(v1.ConfigMap\) to \(rbac.Namespace\): unknown conversion"):
        read(b'{"apiVersion":"v1","kind":"ConfigMap"}', "json", group_version="rbac.authorization.k8s.io/v1")


@pytest.mark.parametrize(
    "type_meta",
    [b"", b"\x0a\x13\x0a\x02v1\x12\x0dDeleteOptions", b"\x0a\x1f\x0a\x0emeta.k8s.io/v1\x12\x0dDeleteOptions"],
)
def test_delete_options(type_meta: bytes) -> None:
    body = b"k8s\0" + type_meta + b"\x12\x0f\x08\x05\x12\x03\x0a\x01u\x22\x06Orphan"
    found = delete_options({"gracePeriodSeconds": ["9"]}, body, "protobuf", MESSAGES)
    assert found == DeleteOptions(grace_period_seconds=5, precondition_uid="u", propagation_policy="Orphan")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"k8s\0", "empty body"),
        (b"kkkk", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (
            b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap" + NAMED,
            f'no kind "ConfigMap" is registered for version "v1" {SCHEME}',
        ),
        (b"k8s\0" + NAMED, "proto: wrong wireType = 2 for field GracePeriodSeconds"),
    ],
)
def test_broken_delete_options(body: bytes, why: str) -> None:
    with pytest.raises(BadRequest) as caught:
        delete_options({}, body, "protobuf", MESSAGES)
    assert caught.value.message == why


def test_items_do_not_say_what_they_are() -> None:
    """Whatever the order of their members; what was stored by us begins with these two."""
    items = [
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}',
        b'{"kind":"ConfigMap","metadata":{"name":"b"},"apiVersion":"v1","data":{"kind":"x"}}',
    ]
    assert untyped(items, "ConfigMap", "v1") == [
        b'{"metadata":{"name":"a"}}',
        b'{"metadata":{"name":"b"},"data":{"kind":"x"}}',
    ]


def test_the_type_comes_first_whatever_the_client_sends() -> None:
    body = b'{"metadata":{},"kind":"ConfigMap"}'
    found = decode_object(body, "json", kind="ConfigMap", group_version="v1", rules=BuiltInDecoding(known=MESSAGES))
    assert list(found.value.items())[:2] == [("apiVersion", "v1"), ("kind", "ConfigMap")]
