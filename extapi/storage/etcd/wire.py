"""etcd's messages as bytes: the requests that are used, and what is read of the answers. Pure; knows no keys' meaning.

Field numbers are those of ``etcd/api/v3/etcdserverpb/rpc.proto`` and ``mvccpb/kv.proto``; the encoding is protobuf's
(https://protobuf.dev/programming-guides/encoding/). Unknown fields are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeVar

from extapi.storage.base import Unavailable

RANGE: Final = b"/etcdserverpb.KV/Range"
TXN: Final = b"/etcdserverpb.KV/Txn"
COMPACT: Final = b"/etcdserverpb.KV/Compact"
WATCH: Final = b"/etcdserverpb.Watch/Watch"
STATUS: Final = b"/etcdserverpb.Maintenance/Status"
AUTHENTICATE: Final = b"/etcdserverpb.Auth/Authenticate"

_VARINT, _I64, _LEN, _I32 = 0, 1, 2, 5
_NUMBERED: Final = frozenset({_VARINT, _LEN})
"""The wire types that begin with a number."""


class Malformed(ValueError):
    """The bytes are not the message that they should be."""


T = TypeVar("T")


def read(reader: Callable[[bytes], T], data: bytes) -> T:
    """An answer, read by one of the functions below.

    Raises:
        Unavailable: It is none; whoever answers there is no etcd.
    """
    try:
        return reader(data)
    except Malformed as error:
        raise Unavailable(f"what answers is no etcd: {error}") from error


# -- writing


def _varint(number: int) -> bytes:
    if 0 <= number < 128:
        return bytes((number,))
    if number < 0:
        number += 1 << 64
    encoded = bytearray()
    while number >= 128:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _number(field: int, number: int) -> bytes:
    """A field with a number; nothing for 0, its default."""
    return _varint(field << 3) + _varint(number) if number else b""


def _bytes(field: int, data: bytes) -> bytes:
    """A field with bytes or a message. An empty one is written too: in a message it says which one it is."""
    size = len(data)
    if size < 128:  # every field that is written has a tag of one byte
        return bytes((field << 3 | _LEN, size)) + data
    return _varint(field << 3 | _LEN) + _varint(size) + data


def range_request(key: bytes, end: bytes = b"", *, limit: int = 0, at: int = 0, count_only: bool = False) -> bytes:
    """RangeRequest, linearizable: one key, or those from ``key`` to before ``end``; at a revision, or the current one (0)."""
    until = _bytes(2, end) if end else b""
    return _bytes(1, key) + until + _number(3, limit) + _number(4, at) + _number(9, count_only)


def txn_request(key: bytes, revision: int, then: bytes) -> bytes:
    """TxnRequest: ``then`` if the key's mod_revision is ``revision`` (0: it does not exist), else the key is read."""
    compare = _number(2, 2) + _bytes(3, key) + _varint(6 << 3) + _varint(revision)
    return _bytes(1, compare) + _bytes(2, then) + _bytes(3, _bytes(1, _bytes(1, key)))


def put(key: bytes, value: bytes) -> bytes:
    """RequestOp with a PutRequest."""
    return _bytes(2, _bytes(1, key) + _bytes(2, value))


def delete(key: bytes) -> bytes:
    """RequestOp with a DeleteRangeRequest."""
    return _bytes(3, _bytes(1, key))


def compaction_request(revision: int) -> bytes:
    """CompactionRequest; etcd answers before all is removed from its file."""
    return _number(1, revision)


def watch_create(key: bytes, end: bytes, start: int) -> bytes:
    """WatchRequest: create. With progress marks, the values before, and large answers in fragments."""
    until = _bytes(2, end) if end else b""
    return _bytes(1, _bytes(1, key) + until + _number(3, start) + _number(4, 1) + _number(6, 1) + _number(8, 1))


WATCH_PROGRESS: Final = _bytes(3, b"")
"""WatchRequest: progress. Asks for a mark."""


def authenticate_request(user: bytes, password: bytes) -> bytes:
    """AuthenticateRequest."""
    return _bytes(1, user) + _bytes(2, password)


# -- reading


def _varint_at(data: bytes, at: int) -> tuple[int, int]:
    """The number at an offset, and the offset behind it; at most ten bytes, of which 64 bits count."""
    number = shift = 0
    for index in range(at, min(at + 10, len(data))):
        byte = data[index]
        number |= (byte & 127) << shift
        if byte < 128:
            return number & (1 << 64) - 1, index + 1
        shift += 7
    raise Malformed("a number is cut off or too long")


def _fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Of each field its number and what it has, as a number or as bytes.

    Raises:
        Malformed: It is no message.
    """
    at, end = 0, len(data)
    while at < end:
        tag = data[at]
        if tag < 128:
            at += 1
        else:
            tag, at = _varint_at(data, at)
        kind = tag & 7
        if kind in _NUMBERED:
            if at < end and data[at] < 128:
                number = data[at]
                at += 1
            else:
                number, at = _varint_at(data, at)
            if kind == _VARINT:
                yield tag >> 3, number, b""
                continue
            size = number
        elif kind == _I32:
            size = 4
        elif kind == _I64:
            size = 8
        else:
            raise Malformed(f"a field has the wire type {kind}")
        if at + size > end:
            raise Malformed("a field is cut off")
        if kind == _LEN:
            yield tag >> 3, 0, data[at : at + size]
        at += size


def _signed(number: int) -> int:
    """An int64 as it was meant."""
    return number - (1 << 64) if number >> 63 else number


_HEADER = re.compile(
    rb"(?:\x08[\x80-\xff]{0,9}[\x00-\x7f])?"  # cluster_id
    rb"(?:\x10[\x80-\xff]{0,9}[\x00-\x7f])?"  # member_id
    rb"\x18([\x80-\xff]{0,8}[\x00-\x7f])"  # revision
)
"""A ResponseHeader as Go writes it, in the order of its fields; each answer has one, and two numbers in it have ten bytes."""
_ENTRY = re.compile(
    rb"(?:\x10[\x80-\xff]{0,9}[\x00-\x7f])?"  # create_revision
    rb"\x18([\x80-\xff]{0,8}[\x00-\x7f])"  # mod_revision
    rb"(?:\x20[\x80-\xff]{0,9}[\x00-\x7f])?"  # version
    rb"\x2a([\x80-\xff]{0,4}[\x00-\x7f])"  # value
)
"""A KeyValue behind its key, likewise, up to the length of its value."""


def _decoded(encoded: bytes) -> int:
    """The number that a pattern has found; it has less than 64 bits."""
    number = 0
    for byte in reversed(encoded):
        number = number << 7 | byte & 127
    return number


def _revision(header: bytes) -> int:
    """ResponseHeader.revision."""
    if (found := _HEADER.match(header)) is not None:
        return _decoded(found[1])
    return next((_signed(number) for field, number, _ in _fields(header) if field == 3), 0)


class Entry(NamedTuple):
    """mvccpb.KeyValue, as far as it is used."""

    key: bytes
    value: bytes
    revision: int
    """Of the last change (mod_revision); in a watch, of this one."""


def _entry(data: bytes) -> Entry:
    if data[:1] == b"\n":  # the key comes first
        size, at = _varint_at(data, 1)
        found = _ENTRY.match(data, at + size)
        if found is not None:
            start = found.end()
            if start + _decoded(found[2]) == len(data):
                return Entry(data[at : at + size], data[start:], _decoded(found[1]))
    key = value = b""
    revision = 0
    for field, number, part in _fields(data):
        if field == 1:
            key = part
        elif field == 3:
            revision = _signed(number)
        elif field == 5:
            value = part
    return Entry(key, value, revision)


class RangeAnswer(NamedTuple):
    """RangeResponse."""

    revision: int
    """The current one, also if an older one was read."""
    entries: list[Entry]
    more: bool
    total: int
    """How many keys the range has, without the limit."""


def range_answer(data: bytes) -> RangeAnswer:
    """Read a RangeResponse."""
    revision = total = 0
    more = False
    entries = []
    for field, number, part in _fields(data):
        if field == 2:
            entries.append(_entry(part))
        elif field == 1:
            revision = _revision(part)
        elif field == 3:
            more = bool(number)
        elif field == 4:
            total = _signed(number)
    return RangeAnswer(revision, entries, more, total)


class TxnAnswer(NamedTuple):
    """TxnResponse of a :func:`txn_request`."""

    revision: int
    succeeded: bool
    live: Entry | None
    """What the key has, if it did not succeed."""


def txn_answer(data: bytes) -> TxnAnswer:
    """Read a TxnResponse."""
    revision = 0
    succeeded = False
    live = None
    for field, number, part in _fields(data):
        if field == 1:
            revision = _revision(part)
        elif field == 2:
            succeeded = bool(number)
        elif field == 3 and not succeeded:
            for kind, _, answer in _fields(part):
                if kind == 1:
                    live = next(iter(range_answer(answer).entries), None)
    return TxnAnswer(revision, succeeded, live)


class EtcdEvent(NamedTuple):
    """mvccpb.Event."""

    deleted: bool
    entry: Entry
    previous: Entry | None


class WatchAnswer(NamedTuple):
    """WatchResponse."""

    revision: int
    watch: int
    """-1: for all watches of the stream."""
    created: bool
    canceled: bool
    compacted: int
    """The oldest revision that a watch may start at, if it was canceled for that; else 0."""
    reason: str
    fragment: bool
    """Whether the next answer continues this one."""
    events: list[EtcdEvent]


def watch_answer(data: bytes) -> WatchAnswer:
    """Read a WatchResponse."""
    revision = watch = compacted = 0
    created = canceled = fragment = False
    reason = ""
    events = []
    for field, number, part in _fields(data):
        if field == 11:
            events.append(_watch_event(part))
        elif field == 1:
            revision = _revision(part)
        elif field == 2:
            watch = _signed(number)
        elif field == 3:
            created = bool(number)
        elif field == 4:
            canceled = bool(number)
        elif field == 5:
            compacted = _signed(number)
        elif field == 6:
            reason = part.decode("utf-8", "replace")
        elif field == 7:
            fragment = bool(number)
    return WatchAnswer(revision, watch, created, canceled, compacted, reason, fragment, events)


def _watch_event(data: bytes) -> EtcdEvent:
    deleted = False
    entry = Entry(b"", b"", 0)
    previous = None
    for field, number, part in _fields(data):
        if field == 1:
            deleted = number == 1
        elif field == 2:
            entry = _entry(part)
        elif field == 3:
            previous = _entry(part)
    return EtcdEvent(deleted, entry, previous)


class Status(NamedTuple):
    """StatusResponse, as far as it is used."""

    version: str
    leader: int
    """The member that leads, as this one knows; 0: there is none."""
    errors: list[str]
    """Alarms and what else is wrong, for instance ``memberID:1 alarm:NOSPACE``."""
    member: int = 0
    """The one that answers."""
    size: int = 0
    """Bytes of its database's file."""
    in_use: int = 0
    """Bytes of it that are not free."""
    quota: int = 0
    """Bytes that it may have; 0: a version before 3.6, which does not say."""
    learner: bool = False
    """Whether the member has no vote yet."""


def status_answer(data: bytes) -> Status:
    """Read a StatusResponse."""
    numbers: dict[int, int] = {}
    version, member = "", 0
    errors = []
    for field, number, part in _fields(data):
        numbers[field] = number
        if field == 1:
            member = next((number for field, number, _ in _fields(part) if field == 2), 0)
        elif field == 2:
            version = part.decode("utf-8", "replace")
        elif field == 8:
            errors.append(part.decode("utf-8", "replace"))
    size, leader, in_use, learner, quota = (numbers.get(field, 0) for field in (3, 4, 9, 10, 12))
    return Status(version, leader, errors, member, size, in_use, quota, bool(learner))


def authenticate_answer(data: bytes) -> bytes:
    """The token of an AuthenticateResponse."""
    return next((part for field, _, part in _fields(data) if field == 2), b"")
