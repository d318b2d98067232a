from __future__ import annotations

import msgspec

from extapi.api.types import Object, ObjectMeta, OwnerReference, Struct


class Part(Struct):
    min_ready_seconds: int = 0
    from_: str = ""
    api_url: str = ""


def test_fields_are_camel_case_on_the_wire_and_defaults_are_left_out() -> None:
    part = Part(min_ready_seconds=1, from_="a", api_url="b")
    assert msgspec.to_builtins(part) == {"minReadySeconds": 1, "from": "a", "apiUrl": "b"}
    assert msgspec.convert({"minReadySeconds": 1, "from": "a", "apiUrl": "b"}, Part) == part
    assert msgspec.to_builtins(Part()) == {}


def test_metadata_on_the_wire() -> None:
    owner = {"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u", "controller": True, "blockOwnerDeletion": False}
    metadata = {
        "name": "a",
        "generateName": "a-",
        "namespace": "b",
        "uid": "c",
        "resourceVersion": "1",
        "generation": 2,
        "creationTimestamp": "2020-01-01T00:00:00Z",
        "deletionTimestamp": "2020-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 0,
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
        "finalizers": ["x/y"],
        "ownerReferences": [owner],
        "managedFields": [{"manager": "m"}],
    }
    obj = {"apiVersion": "g/v", "kind": "K", "metadata": metadata}
    typed = msgspec.convert(obj, Object)
    assert typed.metadata.owner_references == [
        OwnerReference(api_version="v1", kind="K", name="n", uid="u", controller=True, block_owner_deletion=False)
    ]
    assert msgspec.to_builtins(typed) == obj
    assert Object().metadata == ObjectMeta()
