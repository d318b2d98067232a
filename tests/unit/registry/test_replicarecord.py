"""Whether two servers may store objects side by side: as with a CustomResourceDefinition, a version is read before it is stored."""

from __future__ import annotations

import pytest

from extapi import Api, Group, Kind, Version
from extapi.registry.kinds import serve_kinds
from extapi.registry.replicarecord import KindVersions, ReplicaRecord, conflict, read_record, versions_of
from extapi.registry.served import ServedKind
from tests.unit.manifests.apis import ANY, reviews

NAME = "things.example.com"


def things(storage: str, *versions: str) -> list[ServedKind]:
    kind = Kind("Thing", storage=storage, versions={each: Version(ANY) for each in versions})
    return list(serve_kinds(Api(Group("example.com", kind))))


def test_a_record_names_what_is_read_and_stored() -> None:
    assert versions_of(things("v1", "v1", "v2")) == {NAME: KindVersions(("v1", "v2"), ("v1",))}
    # Of what is not stored there is nothing to say.
    assert versions_of(serve_kinds(reviews)) == {}


def test_while_kinds_are_replaced_both_generations_count() -> None:
    """Requests that began before store in the old version, those that begin now in the new one; either has to read both."""
    both = versions_of([*things("v1", "v1", "v2"), *things("v2", "v2", "v3")])
    assert both == {NAME: KindVersions(("v2",), ("v1", "v2"))}


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        (things("v1", "v1"), things("v1", "v1", "v2"), ""),  # serve it first
        (things("v2", "v1", "v2"), things("v1", "v1", "v2"), ""),  # then store it
        (things("v2", "v1", "v2"), things("v1", "v1"), f"this server stores {NAME} in v2, which pod-a cannot read"),
        (things("v1", "v1"), things("v2", "v1", "v2"), f"pod-a stores {NAME} in v2, which this server cannot read"),
        (things("v2", "v1", "v2"), [], ""),  # who does not have the kind reads nothing of it
        ([], things("v2", "v1", "v2"), ""),
    ],
)
def test_what_goes_together(ours: list[ServedKind], theirs: list[ServedKind], said: str) -> None:
    found = conflict(versions_of(ours), "pod-a", versions_of(theirs))
    assert found.partition(";")[0] == said


def test_a_record_of_a_newer_release_can_be_read() -> None:
    value = b'{"kinds":{"things.example.com":{"reads":["v1"],"stores":["v1"],"more":1}},"beat":7,"zone":"a"}'
    assert read_record(value) == ReplicaRecord({NAME: KindVersions(["v1"], ["v1"])}, 7)
    for wrong in (b"", b"{}", b'{"kinds":[]}', b'{"kinds":{"a":{"reads":"v1","stores":[]}}}'):
        with pytest.raises(ValueError, match=r".*"):
            read_record(wrong)
