"""The bytes of watch events in protobuf: frames with their length, around objects in Kubernetes' envelope."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wsproto.frame_protocol import FrameProtocol, Opcode

from extapi.codec.protobufmeta import META
from extapi.controlplane.builtin.protobuf import Messages, unwrap
from extapi.controlplane.builtin.wireformat import Budget, fields
from extapi.errors import Expired
from extapi.registry.transforms import MetadataTransform
from extapi.registry.watching import ProtobufEncoder, ProtobufMetadataEncoder, WebSocketEncoder
from extapi.watch.cachedobject import CachedObject, CacheSource
from extapi.watch.encoding import ObjectEncoder
from extapi.watch.events import ADDED
from tests.unit.watch.store import LAYOUT, Pizzas, pizza

MESSAGES = Messages(META + "Pizza: 1 metadata ObjectMeta; 2 spec PizzaSpec\nPizzaSpec: 1 size int32")
WHOLE = ProtobufEncoder("v1", "food.example/v1", "Pizza", MESSAGES)
METADATA = ProtobufMetadataEncoder("v1", MetadataTransform(protobuf=True))


def entry(revision: int) -> CachedObject:
    source = CacheSource(LAYOUT, Pizzas())
    return CachedObject(LAYOUT.key("a", "p"), revision, pizza("p", size=7), {}, source)


def events(stream: bytes) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Type, and apiVersion, kind and content of the object, of all events."""
    while stream:
        size = int.from_bytes(stream[:4], "big")
        event = {
            number: bytes(value)
            for number, _, value in fields("WatchEvent", memoryview(stream[4 : size + 4]), Budget())
        }
        ((_, _, enveloped),) = fields("RawExtension", memoryview(event[2]), Budget())
        api_version, kind, raw = unwrap(bytes(enveloped))
        yield event[1].decode(), api_version, kind, MESSAGES.decode(kind, raw)
        stream = stream[size + 4 :]


def test_objects() -> None:
    stream = WHOLE.event(ADDED, entry(5), 5) + WHOLE.bookmark(6, initial_end=True)
    found = {"metadata": {"name": "p", "namespace": "a", "resourceVersion": "5"}, "spec": {"size": 7}}
    end = {"metadata": {"resourceVersion": "6", "annotations": {"k8s.io/initial-events-end": "true"}}, "spec": {}}
    assert list(events(stream)) == [
        ("ADDED", "food.example/v1", "Pizza", found),
        ("BOOKMARK", "food.example/v1", "Pizza", end),
    ]


def test_metadata() -> None:
    stream = METADATA.event(ADDED, entry(5), 5) + METADATA.bookmark(6, initial_end=False)
    kind = ("meta.k8s.io/v1", "PartialObjectMetadata")
    assert list(events(stream)) == [
        ("ADDED", *kind, {"metadata": {"name": "p", "namespace": "a", "resourceVersion": "5"}}),
        ("BOOKMARK", *kind, {"metadata": {"resourceVersion": "6"}}),
    ]


def test_an_error() -> None:
    for encoder in (WHOLE, METADATA):
        ((kind, api_version, of, status),) = events(encoder.error(Expired("too old")))
        assert (kind, api_version, of) == ("ERROR", "v1", "Status")
        assert (status["code"], status["reason"], status["message"]) == (410, "Expired", "too old")


def test_over_a_websocket_each_event_is_a_binary_message_without_its_length() -> None:
    encoder = WebSocketEncoder(METADATA, protobuf=True)
    assert (encoder.representation, encoder.distinct_first) == ("v1", False)
    error = Expired("too old")
    for mine, theirs in (
        (encoder.event(ADDED, entry(5), 5), METADATA.event(ADDED, entry(5), 5)),
        (encoder.bookmark(6, initial_end=False), METADATA.bookmark(6, initial_end=False)),
        (encoder.error(error), METADATA.error(error)),
    ):
        client = FrameProtocol(client=True, extensions=[])
        client.receive_bytes(mine)
        ((opcode, payload, *_),) = client.received_frames()
        assert (opcode, payload) == (Opcode.BINARY, theirs[4:])


def test_over_a_websocket_json_is_text() -> None:
    plain = ObjectEncoder("v1", "food.example/v1", "Pizza")
    client = FrameProtocol(client=True, extensions=[])
    client.receive_bytes(WebSocketEncoder(plain, protobuf=False).event(ADDED, entry(5), 5))
    ((opcode, payload, *_),) = client.received_frames()
    assert (opcode, payload) == (Opcode.TEXT, plain.event(ADDED, entry(5), 5).decode())
