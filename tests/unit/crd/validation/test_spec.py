"""New definitions, judged as kube-apiserver 1.36.3 has judged them: ``messages.json`` has what it said of each."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.crd.defaults import set_defaults
from extapi.crd.validation import validate_create, validate_status_update
from extapi.schema.structural import MAX_DEPTH
from tests.differential.definitions.building import Manifest, changed, column, definition, field, root, version, whole
from tests.differential.definitions.ours import created, neutral
from tests.differential.definitions.recording import MANIFESTS, recorded

MESSAGES = recorded()


def errors(manifest: Manifest) -> list[str]:
    set_defaults(manifest)
    return [error.text() for error in validate_create(manifest)]


def test_every_case_is_recorded() -> None:
    assert MESSAGES.keys() == MANIFESTS.keys()
    assert sum(message is not None for message in MESSAGES.values()) >= 150


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_definition_is_judged_as_by_kube_apiserver(name: str) -> None:
    found = neutral(created(MANIFESTS[name]))
    assert (found and found["message"]) == MESSAGES[name]


def test_a_status_may_only_have_names_that_are_right() -> None:
    obj = definition()
    obj["status"] = {"acceptedNames": {"plural": "Things", "kind": "Thing"}}
    assert [error.path for error in validate_status_update(obj, definition())] == ["status.acceptedNames.plural"]
    obj["status"]["acceptedNames"]["plural"] = "things"
    assert validate_status_update(obj, definition()) == []


def test_stored_versions_are_those_of_the_spec() -> None:
    obj = definition()
    set_defaults(obj)
    missing = (
        "missing from spec.versions; v0 was previously a storage version, and must remain in spec.versions until a storage "
        "migration ensures no data remains persisted in v0 and removes v0 from status.storedVersions"
    )
    for stored, wanted in (
        ([], "status.storedVersions: Invalid value: null: must have at least one stored version"),
        (["v1", "v0"], f'status.storedVersions[1]: Invalid value: "v0": {missing}'),
    ):
        obj["status"]["storedVersions"] = stored
        assert [error.text() for error in validate_create(obj)] == [wanted]
    del obj["status"]["storedVersions"]
    (error,) = validate_create(obj)
    assert error.text() == "status.storedVersions: Invalid value: null: must have at least one stored version"


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


def test_a_schema_that_nests_too_deeply_is_refused_in_few_words() -> None:
    (error,) = errors(field(nested(MAX_DEPTH + 1)))
    assert f"must not nest deeper than {MAX_DEPTH} schemas" in error
    assert errors(field(nested(50))) == []
    deep = nested(150)
    (error,) = errors(field({"type": "array", "items": [deep]}))
    assert error.endswith("items must be a schema object and not an array")


def test_too_many_rules_are_refused_before_they_are_compiled() -> None:
    rules = [{"rule": "this does not compile"}] * 5001
    (error,) = errors(whole(root(**{"x-kubernetes-validations": rules})))
    assert error == "spec.validation.openAPIV3Schema: Too many: 5001: must have at most 5000 items"


def test_ten_thousand_versions_and_columns_are_judged_one_by_one() -> None:
    versions = [version(f"v{i}", storage=not i) for i in range(10_000)]
    assert errors(definition(versions=versions)) == []
    columns = [{"name": "a", "type": "x", "jsonPath": "b"}] * 10_000
    found = errors(versions_with(columns))
    assert len(found) == 20_000
    different = [version(f"V{i}", storage=not i, deprecationWarning=str(i)) for i in range(10_000)]
    assert len(errors(definition(versions=different))) >= 20_000


def versions_with(columns: list[dict[str, Any]]) -> Manifest:
    return changed(column(), "spec", "versions", 0, "additionalPrinterColumns", to=columns)
