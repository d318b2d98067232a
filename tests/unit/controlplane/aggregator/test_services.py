"""What an APIService object says."""

from __future__ import annotations

from extapi.controlplane.aggregator.services import APIServiceInfo, ServiceBackend, read


def test_what_an_object_says() -> None:
    spec = {"group": "g", "version": "v1", "service": {"namespace": "a", "name": "b"}, "caBundle": "a"}
    assert read({"metadata": {"name": "v1.g"}, "spec": spec}) == APIServiceInfo(
        "v1.g", "g", "v1", 0, 0, ServiceBackend("a", "b", 443, b"", False)
    )
    assert read({"metadata": {"name": "v1."}}).backend is None
