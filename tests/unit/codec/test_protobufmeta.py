"""Statuses and metadata in protobuf: the bytes are those of kube-apiserver 1.36.3."""

from __future__ import annotations

from extapi.codec.protobufmeta import partial_bytes, partial_list_bytes, status_bytes
from extapi.codec.protobufwriting import event_frame
from extapi.errors import NotFound


def test_a_status() -> None:
    assert status_bytes(NotFound.named("namespaces", "", "nope").status()) == (
        b"k8s\x00\n\x0c\n\x02v1\x12\x06Status\x12U\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure\x1a\x1bnamespaces"
        b' "nope" not found"\x08NotFound*\x18\n\x04nope\x12\x00\x1a\nnamespaces(\x002\x000\x94\x03\x1a\x00"\x00'
    )


BOOKMARK = {"metadata": {"resourceVersion": "266", "annotations": {"k8s.io/initial-events-end": "true"}}}


def test_metadata_in_an_event() -> None:
    assert event_frame("BOOKMARK", partial_bytes(BOOKMARK)) == (
        b"\x00\x00\x00y\n\x08BOOKMARK\x12m\nkk8s\x00\n'\n\x0emeta.k8s.io/v1\x12\x15PartialObjectMetadata"
        b'\x128\n6\n\x00\x12\x00\x1a\x00"\x00*\x002\x032668\x00B\x00b!\n\x19k8s.io/initial-events-end\x12\x04true\x1a\x00"\x00'
    )


def test_a_list_of_metadata() -> None:
    made = partial_list_bytes([{"metadata": {"name": "a"}, "spec": {"b": 1}}], {"resourceVersion": "265"})
    assert made == (
        b"k8s\x00\n+\n\x0emeta.k8s.io/v1\x12\x19PartialObjectMetadataList\x12 \n\t\n\x00\x12\x03265\x1a\x00\x12\x13\n\x11\n\x01a"
        b'\x12\x00\x1a\x00"\x00*\x002\x008\x00B\x00\x1a\x00"\x00'
    )
    assert b"v1beta1" in partial_list_bytes([], {}, version="v1beta1")
