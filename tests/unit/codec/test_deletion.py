"""DeleteOptions: behaviour E45, E46, E50, E51."""

import json
from typing import Any

import pytest

from extapi.codec.deletion import DeleteOptions, delete_options
from extapi.errors import BadRequest, Invalid


def test_from_the_query_if_there_is_no_body() -> None:
    assert delete_options({}) == DeleteOptions()
    query = {"gracePeriodSeconds": ["5"], "propagationPolicy": ["Orphan"], "dryRun": ["All"]}
    assert delete_options(query) == DeleteOptions(dry_run=True, grace_period_seconds=5, propagation_policy="Orphan")
    assert delete_options({"orphanDependents": ["true"]}) == DeleteOptions(orphan_dependents=True)


def test_a_body_silences_the_query() -> None:
    query = {"propagationPolicy": ["Orphan"]}
    assert delete_options(query, b"{}") == DeleteOptions()
    assert delete_options(query, b"null") == DeleteOptions()


def test_every_field_of_a_body() -> None:
    body = {
        "kind": "DeleteOptions",
        "apiVersion": "any/v7",
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Foreground",
        "dryRun": ["All"],
        "preconditions": {"uid": "u", "resourceVersion": ""},
        "unknown": 1,
        "orphanDependents": None,
    }
    expected = DeleteOptions(True, 0, "Foreground", None, "u", "")
    assert delete_options({}, json.dumps(body).encode()) == expected
    assert delete_options({}, json.dumps(body).encode(), "yaml") == expected
    assert delete_options({}, b'{"orphanDependents":false}').orphan_dependents is False


def test_an_empty_precondition_in_a_body_is_one() -> None:
    """A pointer in Go: "" is given, and no object has it; in the query an empty one is as good as none."""
    options = delete_options({}, b'{"preconditions":{"uid":"","resourceVersion":""}}')
    assert (options.precondition_uid, options.precondition_resource_version) == ("", "")
    assert delete_options({"uid": [""], "resourceVersion": [""]}) == DeleteOptions()


def test_negative_grace_is_one_second() -> None:
    assert delete_options({"gracePeriodSeconds": ["-7"]}).grace_period_seconds == 1
    assert delete_options({}, b'{"gracePeriodSeconds":-7}').grace_period_seconds == 1


def test_another_kind() -> None:
    with pytest.raises(BadRequest) as raised:
        delete_options({}, b'{"kind":"Pod","apiVersion":"v1"}')
    assert str(raised.value) == ('no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"')


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"{", "json parse error: unexpected end of JSON input"),
        (b"[]", "json: cannot unmarshal array into v1.DeleteOptions"),
        (
            b'{"dryRun":"All"}',
            "json: cannot unmarshal string into Go struct field DeleteOptions.dryRun of type []string",
        ),
        (b'{"dryRun":[1]}', "json: cannot unmarshal number into Go struct field DeleteOptions.dryRun of type string"),
        (
            b'{"gracePeriodSeconds":"5"}',
            "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
        (b'{"gracePeriodSeconds":1.5}', "DeleteOptions.gracePeriodSeconds of type int64"),
        (b'{"gracePeriodSeconds":9223372036854775808}', "DeleteOptions.gracePeriodSeconds of type int64"),
        (b'{"orphanDependents":1}', "DeleteOptions.orphanDependents of type bool"),
        (b'{"propagationPolicy":{}}', "DeleteOptions.propagationPolicy of type v1.DeletionPropagation"),
        (b'{"preconditions":{"uid":1}}', "Preconditions.preconditions.uid of type types.UID"),
    ],
)
def test_undecodable_bodies_are_400(body: bytes, error: str) -> None:
    with pytest.raises(BadRequest) as raised:
        delete_options({}, body)
    assert error in str(raised.value)


@pytest.mark.parametrize(
    ("body", "causes"),
    [
        (
            {"orphanDependents": True, "propagationPolicy": "Orphan"},
            ['Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set'],
        ),
        (
            {"orphanDependents": False, "propagationPolicy": "Orphan"},
            ['Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set'],
        ),
        (
            {"propagationPolicy": "x"},
            ['Unsupported value: "x": supported values: "Foreground", "Background", "Orphan", "nil"'],
        ),
        ({"dryRun": ["x"]}, ['Unsupported value: ["x"]: supported values: "All"']),
    ],
)
def test_options_are_judged(body: dict[str, Any], causes: list[str]) -> None:
    with pytest.raises(Invalid) as raised:
        delete_options({}, json.dumps(body).encode())
    status = raised.value.status()
    assert (status["details"]["kind"], status["details"]["group"]) == ("DeleteOptions", "meta.k8s.io")
    assert [cause["message"] for cause in status["details"]["causes"]] == causes
