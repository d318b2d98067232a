"""etcd's messages: bytes as protobuf's own encoder makes them, and answers that are cut off or odd."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from extapi.storage.etcd import wire


def test_requests() -> None:
    """Spelled out by hand from the encoding's rules and rpc.proto's field numbers."""
    assert wire.range_request(b"k") == b"\x0a\x01k"
    assert wire.range_request(b"k", b"l", limit=300, at=7) == b"\x0a\x01k\x12\x01l\x18\xac\x02\x20\x07"
    assert wire.range_request(b"k", count_only=True) == b"\x0a\x01k\x48\x01"
    # compare: target MOD (2), key, mod_revision (field 6, also if 0); else: read the key
    assert wire.txn_request(b"k", 0, wire.put(b"k", b"v")) == (
        b"\x0a\x07\x10\x02\x1a\x01k\x30\x00" + b"\x12\x08\x12\x06\x0a\x01k\x12\x01v" + b"\x1a\x05\x0a\x03\x0a\x01k"
    )
    assert wire.put(b"k", b"") == b"\x12\x05\x0a\x01k\x12\x00"
    assert wire.delete(b"k") == b"\x1a\x03\x0a\x01k"
    assert wire.compaction_request(1) == b"\x08\x01"
    assert wire.watch_create(b"k", b"l", 5) == b"\x0a\x0e\x0a\x01k\x12\x01l\x18\x05\x20\x01\x30\x01\x40\x01"
    assert wire.WATCH_PROGRESS == b"\x1a\x00"
    assert wire.authenticate_request(b"u", b"p") == b"\x0a\x01u\x12\x01p"


def field(number: int, value: int | bytes) -> bytes:
    """A field as protobuf has it, made by the longer way."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value % (1 << 64))
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(number: int) -> bytes:
    digits = []
    while True:
        digits.append(number % 128)
        number //= 128
        if not number:
            break
    return bytes([digit + 128 for digit in digits[:-1]] + digits[-1:])


def header(revision: int) -> bytes:
    """ResponseHeader: cluster, member, revision, term."""
    return field(1, field(1, 2**63 + 5) + field(2, 9) + field(3, revision) + field(4, 2))


def kv(key: bytes, value: bytes, revision: int) -> bytes:
    return field(1, key) + field(2, 3) + field(3, revision) + field(4, 1) + field(5, value) + field(6, 0)


def test_answers() -> None:
    entry = wire.Entry(b"k", b"v", 2**40)
    data = header(2**41) + field(2, kv(*entry)) * 2 + field(3, 1) + field(4, 9)
    assert wire.range_answer(data) == wire.RangeAnswer(2**41, [entry, entry], more=True, total=9)
    assert wire.txn_answer(header(5) + field(2, 1) + field(3, field(2, header(5)))) == wire.TxnAnswer(5, True, None)
    refused = header(5) + field(3, field(1, header(5) + field(2, kv(*entry)) + field(4, 1)))
    assert wire.txn_answer(refused) == wire.TxnAnswer(5, False, entry)
    assert wire.txn_answer(header(5) + field(3, field(1, header(5)))) == wire.TxnAnswer(5, False, None)
    assert wire.status_answer(
        header(1) + field(2, b"3.6.8") + field(3, 1 << 20) + field(4, 77) + field(8, b"memberID:1 alarm:NOSPACE")
    ) == wire.Status("3.6.8", 77, ["memberID:1 alarm:NOSPACE"], member=9, size=1 << 20)
    assert wire.authenticate_answer(header(1) + field(2, b"token.7")) == b"token.7"


@given(
    key=st.binary(max_size=200),
    value=st.binary(max_size=200),
    revision=st.one_of(st.integers(1, 300), st.integers(1, 2**63 - 1)),
    order=st.permutations(range(5)),
    lease=st.booleans(),
)
def test_fields_in_any_order(key: bytes, value: bytes, revision: int, order: list[int], *, lease: bool) -> None:
    """Go writes them in the order of their numbers and leaves zeros out, which is read faster; no order is promised."""
    fields = [field(1, key), field(2, revision), field(3, revision), field(4, 2**40), field(5, value)]
    own_order, heads = (
        [*fields, field(6, 7)][: 6 if lease else 5],
        [field(1, 2**64 - 1), field(2, 7), field(3, revision)],
    )
    expected = [wire.Entry(key, value, revision)] * 2
    for head in (heads, heads[::-1], heads[2:]):
        answer = field(1, b"".join(head)) + field(2, b"".join(own_order)) + field(2, b"".join(fields[i] for i in order))
        assert wire.range_answer(answer) == wire.RangeAnswer(revision, expected, more=False, total=0)


def test_watch_answers() -> None:
    put = field(2, kv(b"a", b"1", 8))
    deleted = field(1, 1) + field(2, kv(b"a", b"", 9)) + field(3, kv(b"a", b"1", 8))
    data = header(9) + field(2, 3) + field(7, 1) + field(11, put) + field(11, deleted)
    answer = wire.watch_answer(data)
    assert (answer.revision, answer.watch, answer.fragment) == (9, 3, True)
    assert answer.events == [
        wire.EtcdEvent(False, wire.Entry(b"a", b"1", 8), None),
        wire.EtcdEvent(True, wire.Entry(b"a", b"", 9), wire.Entry(b"a", b"1", 8)),
    ]
    mark = wire.watch_answer(header(12) + field(2, -1))
    assert (mark.revision, mark.watch, mark.created, mark.canceled, mark.events) == (12, -1, False, False, [])
    ended = wire.watch_answer(header(12) + field(4, 1) + field(5, 30) + field(6, b"why"))
    assert (ended.canceled, ended.compacted, ended.reason) == (True, 30, "why")
    assert wire.watch_answer(header(12) + field(3, 1)).created


def test_unknown_fields_are_skipped() -> None:
    odd = b"\x9d\x06abcd" + b"\x99\x06abcdefgh" + field(2000, b"new") + field(99, 5)
    assert wire.range_answer(odd + header(7) + odd).revision == 7


READERS = [
    wire.range_answer,
    wire.txn_answer,
    wire.watch_answer,
    wire.status_answer,
    wire.authenticate_answer,
]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "data", [b"\x0a", b"\x0a\x05ab", b"\x80" * 11 + b"\x01", b"\x0b", b"\x0c", b"\x0d\x01", b"\x08"]
)
def test_what_is_no_message_is_refused(read: Any, data: bytes) -> None:
    with pytest.raises(wire.Malformed):
        read(data)


@pytest.mark.parametrize("read", READERS)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(read: Any, data: bytes) -> None:
    with contextlib.suppress(wire.Malformed):
        read(data)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=300))
def test_numbers_and_bytes_come_back(number: int, data: bytes) -> None:
    answer = wire.range_answer(header(number) + field(2, kv(data, data, number)))
    assert (answer.revision, answer.entries) == (number, [wire.Entry(data, data, number)])
