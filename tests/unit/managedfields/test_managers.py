"""The entries of managedFields; facts of apimachinery's managedfields/internal/managedfields_test.go and conflict_test.go."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.managedfields.managers import Manager, is_reset, managed_of, manager_of

ENTRY = {
    "apiVersion": "v1",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:a": {}},
    "manager": "foo",
    "operation": "Update",
    "time": "2001-02-03T04:05:06Z",
}


@pytest.mark.parametrize(
    "entry",
    [
        ENTRY,
        {**ENTRY, "operation": "Apply"},
        {**ENTRY, "subresource": "status"},
        {name: value for name, value in ENTRY.items() if name not in {"time", "manager"}},
    ],
)
def test_round_trip(entry: dict[str, Any]) -> None:
    assert managed_of([entry]).to_json() == [entry]


def test_the_order_of_entries() -> None:
    """From TestSortEncodedManagedFields: operation, time, manager, version, subresource."""

    def entry(name: str, operation: str, time: str, **more: str) -> dict[str, Any]:
        return {**ENTRY, "manager": name, "operation": operation, "time": time, **more}

    early, late = "2001-01-01T01:00:00Z", "2002-01-01T01:00:00Z"
    expected = [
        entry("c", "Apply", early),
        entry("a", "Apply", late),
        entry("b", "Apply", late),
        entry("d", "Update", early),
        entry("a", "Update", late),
        entry("a", "Update", late, apiVersion="v2"),
        entry("a", "Update", late, apiVersion="v2", subresource="status"),
    ]
    assert managed_of(expected[::-1]).to_json() == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"operation": "RANDOM"}, "operation must be `Apply` or `Update`"),
        ({"operation": ""}, "operation must be `Apply` or `Update`"),
        ({"apiVersion": ""}, "apiVersion must not be empty"),
        ({"fieldsType": "RANDOM"}, "invalid fieldsType"),
        ({"fieldsV1": {"": {}}}, "key must be 2 characters long:"),
        ({"fieldsV1": []}, "must be an object"),
        ({"manager": 1}, "must be strings"),
        ({"time": 1}, "time must be a string"),
    ],
)
def test_malformed_entries(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"^") as caught:
        managed_of([{**ENTRY, **changes}])
    assert message in str(caught.value)


def test_an_entry_without_fields_type_is_read() -> None:
    """Unlike the original, see kubernetes#96351."""
    entry = {name: value for name, value in ENTRY.items() if name != "fieldsType"}
    assert managed_of([entry]).to_json() == [ENTRY]


def test_an_applier_has_one_entry_for_all_versions() -> None:
    entries = [{**ENTRY, "operation": "Apply", "apiVersion": version} for version in ("v1", "v2")]
    assert managed_of(entries).to_json() == entries[1:]


@pytest.mark.parametrize(
    ("entries", "reset"), [([], True), ([{}], True), (None, False), ([ENTRY], False), ([{}, {}], False)]
)
def test_what_forgets_all_managers(entries: Any, reset: bool) -> None:
    assert is_reset(entries) is reset


@pytest.mark.parametrize(
    ("manager", "text"),
    [
        (Manager("foo", "Update", "v1"), '"foo" using v1'),
        (Manager("bar", "Apply"), '"bar"'),
        (Manager("foo", "Update", "v1", "scale"), '"foo" with subresource "scale" using v1'),
        (manager_of("", "Apply", "v1", "status"), '"unknown" with subresource "status"'),
    ],
)
def test_as_conflicts_show_them(manager: Manager, text: str) -> None:
    assert str(manager) == text


def test_the_identifier_is_the_json_of_the_original() -> None:
    """BuildManagerIdentifier; conflicts and the cap of managers sort by it."""
    written = '{"manager":"a \\u003c","operation":"Update","apiVersion":"v1","subresource":"status"}'
    assert Manager("a <", "Update", "v1", "status").identifier == written
    assert Manager("", "Apply").identifier == '{"operation":"Apply"}'
