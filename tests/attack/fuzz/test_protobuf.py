"""The reader of Statuses in protobuf, on what kube-apiserver 1.36.3 has sent."""

from __future__ import annotations

import pytest

from tests.attack.fuzz.protobuf import status_of

STATUS = (
    b"k8s\x00\n\x0c\n\x02v1\x12\x06Status\x12U\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure\x1a\x1bnamespaces"
    b' "nope" not found"\x08NotFound*\x18\n\x04nope\x12\x00\x1a\nnamespaces(\x002\x000\x94\x03\x1a\x00"\x00'
)


def test_what_a_status_says() -> None:
    assert status_of(STATUS) == {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "message": 'namespaces "nope" not found',
        "reason": "NotFound",
        "code": 404,
    }


@pytest.mark.parametrize("body", [b"", b"{}", STATUS[1:], STATUS[:20], STATUS[:-1], b"k8s\x00\x0d1234"])
def test_what_is_none(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"begins with|goes on|wire type"):
        status_of(body)
