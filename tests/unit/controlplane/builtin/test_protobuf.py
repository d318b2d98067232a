"""Protobuf: what kubectl 1.37 sent to kube-apiserver, what that answers, and what nobody should send."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from extapi.controlplane.builtin.protobuf import MAX_DEPTH, Messages, ProtobufError, unwrap
from extapi.controlplane.builtin.wireformat import MAX_FIELDS
from extapi.controlplane.kinds.messages import MESSAGES

RECORDED = {
    path.stem: json.loads(path.read_text()) for path in (Path(__file__).parent / "kubectl_bodies").glob("*.json")
}
"""What a command of kubectl sent, and what it prints with --dry-run=client -o json, where it has that option."""

SERVED = json.loads((Path(__file__).parent / "kube_apiserver_objects.json").read_text())
"""What kube-apiserver 1.36.3 answered in protobuf, and in JSON without members that are null."""

THINGS = Messages(
    """
    # what tests need
Thing: 1 name; 2 size int32; 3 big? int64; 4 on bool; 5 off? bool; 6 data bytes; 7 tags []string; 8 part Part;
    9 labels map<string,string>; 10 at Time; 11 exact MicroTime; 12 port IntOrString; 13 amount Quantity
    ; 14 extra map<string,ExtraValue>; 15 fields FieldsV1; 16 parts []Part; 17 keyed map<string,Part>
Part: 1 kept!; 2 count! int32; 3 uid?; 4 part? Part
"""
)


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def chunk(field: int, value: bytes | str) -> bytes:
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_what_kubectl_sends(name: str) -> None:
    recorded = RECORDED[name]
    api_version, kind, raw = unwrap(base64.b64decode(recorded["body"]))
    found = {"apiVersion": api_version, "kind": kind, **MESSAGES.decode(kind, raw)}
    # A list that is null says nothing.
    assert found == {key: value for key, value in recorded["object"].items() if value is not None}


@pytest.mark.parametrize("served", SERVED, ids=[served["path"] for served in SERVED])
def test_whole_objects(served: dict[str, Any]) -> None:
    """Nearly every field of every kind has a value in one of them."""
    api_version, kind, raw = unwrap(base64.b64decode(served["body"]))
    found = {"apiVersion": api_version, "kind": kind, **MESSAGES.decode(kind, raw)}
    if kind.endswith("Review"):
        # Nothing of these is stored: each of the two answers has its own time.
        found["metadata"].pop("creationTimestamp", None)
    assert found == served["object"]


@pytest.mark.parametrize("served", SERVED, ids=[served["path"] for served in SERVED])
def test_whole_objects_are_written_as_by_kube_apiserver(served: dict[str, Any]) -> None:
    """Byte by byte, but for reviews, which were made twice."""
    body = base64.b64decode(served["body"])
    written = MESSAGES.encode(served["object"])
    _, kind, raw = unwrap(body)
    if kind.endswith("Review"):
        assert MESSAGES.decode(kind, unwrap(written)[2]).get("status") == MESSAGES.decode(kind, raw).get("status")
    else:
        assert written == body


def test_zeros_are_written_where_go_has_no_pointer() -> None:
    raw = THINGS.message("Thing", {"name": "a", "big": 0, "off": False, "port": "http", "tags": ["x", ""]})
    wanted = [
        *(chunk(1, "a"), number(2, 0), number(3, 0), number(4, 0), number(5, 0), chunk(7, "x"), chunk(7, "")),
        *(chunk(8, chunk(1, "") + number(2, 0)), chunk(10, ""), chunk(11, "")),
        *(chunk(12, number(1, 1) + number(2, 0) + chunk(3, "http")), chunk(13, chunk(1, "0")), chunk(15, "")),
    ]
    assert raw == b"".join(wanted)


def test_values_are_written() -> None:
    """Times to the second or the microsecond, numbers in two's complement, maps by key; what is not known is left out."""
    thing = {
        "size": -1,
        "data": "AAE=",
        "labels": {"b": "2", "a": "1"},
        "at": "1970-01-01T00:00:01Z",
        "unknown": 1,
        "exact": "1970-01-01T01:00:02.00000399+01:00",
        "port": 80,
        "amount": "1500m",
        "fields": {"f:a": {}},
        "extra": {"k": ["v", ""]},
        "parts": [{"kept": "k"}],
        "keyed": {"x": {"count": 3}},
    }
    found = THINGS.decode("Thing", THINGS.message("Thing", thing))
    del thing["unknown"]
    assert found == thing | {
        "exact": "1970-01-01T00:00:02.000003Z",
        "part": {"kept": "", "count": 0},
        "parts": [{"kept": "k", "count": 0}],
        "keyed": {"x": {"kept": "", "count": 3}},
    }
    assert THINGS.message("Thing", {"labels": {"b": "2", "a": "1"}}) == THINGS.message(
        "Thing", {"labels": {"a": "1", "b": "2"}}
    )


def listed(kind: str, metadata: dict[str, Any], items: list[dict[str, Any]]) -> bytes:
    """The message of a list, out of its envelope."""
    head = {"apiVersion": "v1", "kind": f"{kind}List", "metadata": metadata}
    api_version, list_kind, raw = unwrap(MESSAGES.encode_list(head, kind, items))
    assert (api_version, list_kind) == ("v1", f"{kind}List")
    return raw


def test_lists_are_written() -> None:
    metadata = {"resourceVersion": "7", "remainingItemCount": 0}
    raw = listed("ConfigMap", metadata, [{"data": {"a": "b"}}])
    assert raw.startswith(chunk(1, chunk(1, "") + chunk(2, "7") + chunk(3, "") + number(4, 0)))
    assert listed("Unknown", {}, []) == chunk(1, chunk(1, "") + chunk(2, "") + chunk(3, ""))


def test_delete_options() -> None:
    """The numbers are those of ``apimachinery/pkg/apis/meta/v1/generated.proto``."""
    preconditions = chunk(1, "u") + chunk(2, "7")
    raw = number(1, 0) + chunk(2, preconditions) + number(3, 0) + chunk(4, "Orphan") + chunk(5, "All") + number(6, 1)
    assert MESSAGES.decode("DeleteOptions", raw) == {
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "orphanDependents": False,
        "propagationPolicy": "Orphan",
        "dryRun": ["All"],
        "ignoreStoreReadErrorWithClusterBreakingPotential": True,
    }


def test_every_command_was_recorded() -> None:
    assert len(RECORDED) == 17
    assert {body["command"].split()[1] for body in RECORDED.values()} == {"create", "auth"}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", {}),
        (chunk(1, "a"), {"name": "a"}),
        (chunk(1, ""), {}),
        (chunk(1, "a") + chunk(1, ""), {}),
        (chunk(1, "a") + chunk(1, "b"), {"name": "b"}),
        (chunk(1, "ä€𝄞"), {"name": "ä€𝄞"}),
        (chunk(1, b"a\xff\xfeb"), {"name": "a\ufffd\ufffdb"}),
        (number(2, 5), {"size": 5}),
        (number(2, -5), {"size": -5}),
        (number(2, 2**32 + 1), {"size": 1}),
        (number(2, 0), {}),
        (number(3, 0), {"big": 0}),
        (number(3, -(2**63)), {"big": -(2**63)}),
        (number(3, 2**63 - 1), {"big": 2**63 - 1}),
        (number(4, 1) + number(5, 1), {"on": True, "off": True}),
        (number(4, 0) + number(5, 0), {"off": False}),
        (chunk(6, b"\0\xff"), {"data": "AP8="}),
        (chunk(6, b""), {}),
        (chunk(7, "a") + chunk(7, "") + chunk(7, "a"), {"tags": ["a", "", "a"]}),
        (chunk(8, b""), {"part": {"kept": "", "count": 0}}),
        (chunk(8, chunk(3, "")), {"part": {"kept": "", "count": 0, "uid": ""}}),
        (chunk(8, chunk(1, "x")) + chunk(8, number(2, 1)), {"part": {"kept": "x", "count": 1}}),
        (chunk(9, chunk(1, "k") + chunk(2, "v")), {"labels": {"k": "v"}}),
        (chunk(9, chunk(2, "v") + chunk(1, "k") + number(3, 1)), {"labels": {"k": "v"}}),
        (chunk(9, b""), {"labels": {"": ""}}),
        (chunk(16, b"") + chunk(16, chunk(1, "x")), {"parts": [{"kept": "", "count": 0}, {"kept": "x", "count": 0}]}),
        (chunk(17, chunk(1, "k")), {"keyed": {"k": {"kept": "", "count": 0}}}),
        (chunk(14, chunk(1, "k") + chunk(2, chunk(1, "a") + chunk(1, "b"))), {"extra": {"k": ["a", "b"]}}),
        (chunk(14, chunk(1, "k")), {"extra": {"k": []}}),
    ],
)
def test_values(raw: bytes, expected: dict[str, Any]) -> None:
    assert THINGS.decode("Thing", raw) == expected


@pytest.mark.parametrize(
    ("field", "raw", "expected"),
    [
        # Times are cut to seconds; empty bytes are Go's zero time, but an empty timestamp is 1970.
        (10, number(1, 1_700_000_000) + number(2, 999), "2023-11-14T22:13:20Z"),
        (10, number(1, 0), "1970-01-01T00:00:00Z"),
        (10, number(1, -62_135_596_799), "0001-01-01T00:00:01Z"),
        (10, number(1, -62_135_596_800), None),
        (10, b"", None),
        (11, number(1, 1_700_000_000) + number(2, 123_456_789), "2023-11-14T22:13:20.123456Z"),
        (11, number(1, 1_700_000_000), "2023-11-14T22:13:20.000000Z"),
        (11, b"", None),
        (12, number(1, 0) + number(2, 80) + chunk(3, ""), 80),
        (12, number(1, 1) + number(2, 0) + chunk(3, "http"), "http"),
        (12, b"", 0),
        (13, chunk(1, "100m"), "100m"),
        (13, b"", "0"),
        (15, chunk(1, b'{"f:data":{"f:a":{}}}'), {"f:data": {"f:a": {}}}),
        (15, b"", None),
    ],
)
def test_what_is_no_message_in_json(field: int, raw: bytes, expected: Any) -> None:
    name = {10: "at", 11: "exact", 12: "port", 13: "amount", 15: "fields"}[field]
    assert THINGS.decode("Thing", chunk(field, raw)) == ({} if expected is None else {name: expected})


@pytest.mark.parametrize(
    "unknown",
    [
        number(99, 2**64 - 1),
        chunk(99, b"\0" * 300),
        varint(99 << 3 | 1) + b"\0" * 8,
        varint(99 << 3 | 5) + b"\0" * 4,
        varint(99 << 3 | 3)
        + number(1, 1)
        + varint(2 << 3 | 3)
        + chunk(1, "x")
        + varint(2 << 3 | 4)
        + varint(99 << 3 | 4),
    ],
)
def test_unknown_fields_are_skipped(unknown: bytes) -> None:
    assert THINGS.decode("Thing", unknown + chunk(1, "a") + unknown) == {"name": "a"}


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"\x0a", "unexpected EOF"),
        (b"\x0a\x05ab", "unexpected EOF"),
        (b"\x80", "unexpected EOF"),
        (varint(99 << 3 | 1) + b"\0" * 7, "unexpected EOF"),
        (varint(99 << 3 | 3), "unexpected EOF"),
        (b"\x08" + b"\x80" * 10 + b"\x01", "proto: integer overflow"),
        (b"\x0a" + varint(2**63), "proto: negative length found during unmarshaling"),
        (number(1, 1), "proto: wrong wireType = 0 for field Name"),
        (chunk(2, "a"), "proto: wrong wireType = 2 for field Size"),
        (chunk(8, number(3, 1)), "proto: wrong wireType = 0 for field UID"),
        (varint(1 << 3 | 3) + varint(1 << 3 | 4), "proto: wrong wireType = 3 for field Name"),
        (varint(1 << 3 | 4), "proto: Thing: wiretype end group for non-group"),
        (varint(1 << 3 | 6), "proto: illegal wireType 6"),
        (varint(2), "proto: Thing: illegal tag 0 (wire type 2)"),
        (varint((2**32 - 1) << 3), "proto: Thing: illegal tag -1 (wire type 34359738360)"),
        (chunk(10, number(1, 2**62)), "proto: time is out of range"),
        (chunk(11, number(1, 253_402_300_799) + number(2, 2**31 - 1)), "proto: time is out of range"),
        (chunk(12, number(1, 2)), "impossible IntOrString.Type"),
        (chunk(15, chunk(1, "{")), "unexpected end of JSON input"),
        (chunk(9, number(1, 1)), "proto: wrong wireType = 0 for field Labels"),
    ],
)
def test_refusals(raw: bytes, why: str) -> None:
    with pytest.raises(ProtobufError) as caught:
        THINGS.decode("Thing", raw)
    assert str(caught.value) == why


def test_nesting_is_bounded() -> None:
    raw = b""
    for _ in range(MAX_DEPTH):
        raw = chunk(4, raw)
    found = THINGS.decode("Part", raw)
    for _ in range(MAX_DEPTH):
        found = found["part"]
    assert found == {"kept": "", "count": 0}
    with pytest.raises(ProtobufError, match=f"nested deeper than {MAX_DEPTH}"):
        THINGS.decode("Part", chunk(4, raw))


@pytest.mark.parametrize("field", [chunk(16, b""), chunk(99, b""), number(2, 1), chunk(9, b"")])
def test_the_number_of_fields_is_bounded(field: bytes) -> None:
    THINGS.decode("Thing", field * MAX_FIELDS)
    with pytest.raises(ProtobufError, match=f"more than {MAX_FIELDS} fields"):
        THINGS.decode("Thing", field * (MAX_FIELDS + 1))


def test_groups_are_bounded() -> None:
    deep = varint(99 << 3 | 3) * (MAX_FIELDS // 2) + varint(99 << 3 | 4) * (MAX_FIELDS // 2)
    assert THINGS.decode("Thing", deep) == {}
    with pytest.raises(ProtobufError, match="fields"):
        THINGS.decode("Thing", varint(99 << 3 | 3) * (MAX_FIELDS + 1))


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    return b"k8s\0" + chunk(1, chunk(1, api_version) + chunk(2, kind)) + chunk(2, raw) + chunk(3, "") + chunk(4, "")


def test_the_envelope() -> None:
    assert unwrap(envelope("v1", "Thing", b"abc")) == ("v1", "Thing", b"abc")
    assert unwrap(b"k8s\0" + number(99, 1)) == ("", "", b"")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "empty data"),
        (b"k8s\0", "empty body"),
        (b"k8", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b'{"kind":"Thing"}', "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (envelope("v1", "Thing", b"abc")[:-5], "unexpected EOF"),
        (b"k8s\0" + number(1, 1), "proto: wrong wireType = 0 for field TypeMeta"),
        (b"k8s\0" + chunk(1, number(1, 1)), "proto: wrong wireType = 0 for field APIVersion"),
        (b"k8s\0" + number(2, 1), "proto: wrong wireType = 0 for field Raw"),
    ],
)
def test_no_envelope(body: bytes, why: str) -> None:
    with pytest.raises(ProtobufError) as caught:
        unwrap(body)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("Thing: name", "no field of a message: name"),
        ("Thing: 1 name []int32", "lists and maps of numbers are not read"),
        ("Thing: 1 part Part; 2 other Other", "not in the table: Other, Part"),
    ],
)
def test_tables_are_checked(table: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Messages(table)


def test_what_is_in_a_table() -> None:
    assert "Namespace" in MESSAGES
    assert "NamespaceSpec" not in MESSAGES
    assert "Pizza" not in MESSAGES
    with pytest.raises(ProtobufError, match="nothing is known of Pizza"):
        MESSAGES.decode("Pizza", b"")


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    for read in (unwrap, lambda raw: THINGS.decode("Thing", raw), lambda raw: MESSAGES.decode("Service", raw)):
        try:
            found = read(data)
        except ProtobufError:
            continue
        json.dumps(found, default=bytes.hex)


@given(st.sampled_from(sorted(RECORDED)), st.data())
def test_damaged_bodies(name: str, data: st.DataObject) -> None:
    body = bytearray(base64.b64decode(RECORDED[name]["body"]))
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(4, len(body) - 1))] = data.draw(st.integers(0, 255))
    body = body[: data.draw(st.integers(0, len(body)))]
    try:
        _, kind, raw = unwrap(bytes(body))
        found = MESSAGES.decode(kind, raw)
    except ProtobufError:
        return
    json.dumps(found)
