from __future__ import annotations

from typing import Any

import pytest

from extapi.doctor.addresses import addresses_of
from extapi.doctor.facts import ServiceFacts
from tests.unit.doctor.healthy import REFERENCE, reading, service, slices


@pytest.mark.parametrize(
    ("spec", "in_cluster", "expected"),
    [
        ({}, False, [("10.1.0.3", 8443)]),
        ({}, True, [("10.1.0.3", 8443), ("10.0.0.7", 443)]),
        ({"clusterIP": "None"}, True, [("10.1.0.3", 8443)]),
        ({"ports": [{"port": 6443}]}, True, []),
        ({"type": "ExternalName", "externalName": "localhost"}, False, [("localhost", 443)]),
        ({"type": "ExternalName"}, True, []),
    ],
)
def test_what_is_tried(spec: dict[str, Any], in_cluster: bool, expected: list[tuple[str, int]]) -> None:
    facts = ServiceFacts(reading(service(**spec)), reading(slices()))
    assert addresses_of(REFERENCE, facts, in_cluster=in_cluster) == expected


def test_not_everything_is_tried() -> None:
    many = slices()
    many["items"][0]["endpoints"] = [{"addresses": [f"10.1.0.{number}"]} for number in range(100)]
    facts = ServiceFacts(reading(service()), reading(many))
    found = addresses_of(REFERENCE, facts, in_cluster=True)
    assert found == [("10.1.0.0", 8443), ("10.1.0.1", 8443), ("10.0.0.7", 443)]
    found = addresses_of(REFERENCE, facts, in_cluster=False)
    assert found == [("10.1.0.0", 8443), ("10.1.0.1", 8443), ("10.1.0.2", 8443)]
