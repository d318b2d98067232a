"""Three releases of one API: the second one reads a further version, the third one stores it."""

from __future__ import annotations

from extapi import CLUSTER, Api, Group, Kind, Version

GROUP = "releases.example.com"
_ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _release(storage: str, *versions: str) -> Api:
    kind = Kind("Thing", scope=CLUSTER, storage=storage, versions={version: Version(_ANY) for version in versions})
    return Api(Group(GROUP, kind))


first = _release("v1", "v1")
second = _release("v1", "v1", "v2")
third = _release("v2", "v1", "v2")
