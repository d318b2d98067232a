"""Discovery in protobuf: the bytes are those of kube-apiserver 1.36.3."""

from __future__ import annotations

from extapi.codec.protobufdiscovery import discovery_bytes


def test_a_group() -> None:
    version = {"groupVersion": "apps/v1", "version": "v1"}
    group = {"kind": "APIGroup", "apiVersion": "v1", "name": "apps", "versions": [version], "preferredVersion": version}
    assert discovery_bytes(group) == (
        b"k8s\x00\n\x0e\n\x02v1\x12\x08APIGroup\x12$\n\x04apps\x12\r\n\x07apps/v1\x12\x02v1\x1a\r\n\x07apps/v1\x12\x02v1"
        b'\x1a\x00"\x00'
    )


def test_versions_of_the_core_group_without_an_api_version() -> None:
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:40161"}]
    versions = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}
    assert discovery_bytes(versions) == (
        b'k8s\x00\n\x0f\n\x00\x12\x0bAPIVersions\x12"\n\x02v1\x12\x1c\n\t0.0.0.0/0\x12\x0f127.0.0.1:40161\x1a\x00"\x00'
    )


def test_resources() -> None:
    resource = {
        "name": "things/status",
        "singularName": "",
        "namespaced": True,
        "kind": "Thing",
        "verbs": ["get", "patch", "update"],
    }
    listed = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "x.test/v1", "resources": [resource]}
    assert discovery_bytes(listed) == (
        b"k8s\x00\n\x15\n\x02v1\x12\x0fAPIResourceList\x12C\n\tx.test/v1\x126\n\rthings/status\x10\x01\x1a\x05Thing"
        b'"\x14\n\x03get\n\x05patch\n\x06update2\x00B\x00J\x00R\x00\x1a\x00"\x00'
    )
