"""What a stored definition breaks may stay broken: the cases of upstream's ``TestValidateCustomResourceDefinitionUpdate``.

kube-apiserver stores no such definitions any more, so that they cannot be compared with it.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from extapi.crd.defaults import set_defaults
from extapi.crd.validation import validate_create, validate_update
from tests.differential.definitions.building import (
    Manifest,
    changed,
    converting,
    definition,
    field,
    root,
    rules,
    selecting,
    version,
    versioned,
    whole,
)

STRING = {"type": "string"}
BUNDLE = {"service": {"namespace": "a", "name": "b"}, "caBundle": "bm9uZQ=="}
LIST = "x-kubernetes-list-type"


def errors(obj: Manifest, old: Manifest, *, established: bool = True) -> list[str]:
    obj, old = copy.deepcopy(obj), copy.deepcopy(old)
    set_defaults(obj)
    set_defaults(old)
    old["status"]["conditions"] = [{"type": "Established", "status": str(established)}]
    obj["status"] = old["status"]
    return [error.text() for error in validate_update(obj, old)]


def described(manifest: Manifest) -> Manifest:
    """The same with a description, so that the schema has changed."""
    path = ("spec", "versions", 0, "schema", "openAPIV3Schema", "description")
    return changed(manifest, *path, to="more")


SETS = {"type": "array", LIST: "set", "items": {"type": "object", "properties": {"a": STRING}}}
MAPS = {
    "type": "array",
    LIST: "map",
    "x-kubernetes-list-map-keys": ["a"],
    "items": {"type": "object", "properties": {"a": STRING}},
}
NULLS = {"type": "array", LIST: "set", "items": {**STRING, "nullable": True}}
UNPRUNED = {"type": "object", "properties": {"a": STRING}, "default": {"b": 1}}


@pytest.mark.parametrize("schema", [SETS, MAPS, NULLS, UNPRUNED, {"type": "text"}], ids=str)
def test_what_newer_checks_refuse_may_stay_and_come_again(schema: dict[str, Any]) -> None:
    bad = field(schema)
    assert errors(bad, definition()) != []
    assert errors(described(bad), bad) == []
    elsewhere = whole(root(properties={"f": schema}))
    assert errors(elsewhere, bad) == []


def test_one_kind_of_mistake_does_not_allow_another() -> None:
    (error,) = errors(field(UNPRUNED), field(SETS))
    assert error.endswith('default: Invalid value: {"b":1}: must not have unknown fields')


def test_a_schema_that_is_not_structural_may_stay_so_while_unknown_fields_are_preserved() -> None:
    loose = changed(field({}), "spec", "preserveUnknownFields", to=True)
    assert errors(described(loose), loose) == []
    (error,) = errors(field({}), loose)  # pruning needs structural schemas
    assert error.endswith("type: Required value: must not be empty for specified object fields")
    with_extension = changed(field({"nullable": True, LIST: "atomic"}), "spec", "preserveUnknownFields", to=True)
    assert any("must not be empty for specified object fields" in text for text in errors(with_extension, loose))


def test_preserving_unknown_fields_may_stay_but_not_come() -> None:
    keeps = definition(preserveUnknownFields=True)
    assert errors(keeps, keeps) == []
    (error,) = errors(keeps, definition())
    assert error == (
        "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to "
        "true in spec.versions[*].schema instead"
    )


def test_a_schema_that_was_never_there_is_asked_for_where_fields_would_be_pruned() -> None:
    without = changed(versioned(schema=...), "spec", "preserveUnknownFields", to=True)
    assert errors(without, without) == []
    (error,) = errors(versioned(schema=...), without)
    path = "spec.versions[0].schema.openAPIV3Schema"
    assert error == f"{path}: Required value: because otherwise all fields are pruned"
    assert errors(versioned(schema=..., served=False), without) == []


def test_reviews_of_unknown_versions_may_stay() -> None:
    unknown = converting(reviews=("v9",))
    assert errors(converting(reviews=("v8",)), unknown) == []
    assert errors(unknown, converting()) != []
    assert errors(unknown, converting(reviews=())) != []


@pytest.mark.parametrize(
    ("old", "established", "wanted"),
    [
        (definition(), True, 1),
        (definition(), False, 0),
        (converting(BUNDLE), True, 0),
        (converting({**BUNDLE, "caBundle": ""}), True, 1),
    ],
)
def test_a_broken_bundle_may_stay_or_come_early(old: Manifest, established: bool, wanted: int) -> None:
    found = errors(converting(BUNDLE), old, established=established)
    assert len(found) == wanted
    for error in found:
        assert error == (
            'spec.conversion.webhookClientConfig.caBundle: Invalid value: "bm9uZQ==": unable to load root certificates: unable '
            "to parse bytes as PEM block"
        )


def test_a_scope_and_a_kind_are_free_until_the_definition_is_established() -> None:
    other = definition(scope="Cluster", names={"plural": "things", "kind": "Other"})
    assert errors(other, definition(), established=False) == []
    assert errors(other, definition()) == [
        'spec.scope: Invalid value: "Cluster": field is immutable',
        'spec.names.kind: Invalid value: "Other": field is immutable',
    ]


def nine(**more: Any) -> Manifest:
    fields = {f"a{i}": STRING for i in range(9)}
    schema = {"openAPIV3Schema": root(properties={"spec": {"type": "object", "properties": fields}})}
    return selecting(*(f".spec.a{i}" for i in range(9)), schema=schema, **more)


def test_too_many_selectable_fields_may_stay_as_they_are() -> None:
    assert errors(nine(), nine()) == []
    fewer = changed(nine(), "spec", "versions", 0, "selectableFields", 8, to=...)
    assert errors(fewer, nine()) == []
    (error,) = errors(nine(), fewer)
    assert error == "spec.selectableFields: Too many: 9: must have at most 8 items"


COSTLY = {"rule": "self.all(x, self.all(y, x == y))"}
ITEMS = {"type": "array", "items": STRING}


def test_a_rule_may_cost_what_it_did_while_the_schema_is_the_same() -> None:
    costly = rules(COSTLY, of=ITEMS)
    renamed = changed(costly, "spec", "names", to={"plural": "things", "kind": "Thing", "shortNames": ["t"]})
    (total, whole_schema) = errors(renamed, costly)  # but not all together
    assert "contributed to estimated rule cost total" in total
    assert "estimated rule cost total for entire OpenAPIv3 schema exceeds budget" in whole_schema
    assert any("estimated rule cost exceeds budget" in text for text in errors(described(costly), costly))
    mild = {**ITEMS, "maxItems": 3300, "items": {**STRING, "maxLength": 5}}
    once = rules({"rule": "self.all(x, self.exists(y, x == y))"}, of=mild)
    set_defaults(once)
    assert any("estimated rule cost exceeds budget by factor of" in error.text() for error in validate_create(once))
    assert errors(once, once) == []


def test_the_schema_of_one_version_says_nothing_of_another() -> None:
    costly = {"openAPIV3Schema": root(properties={"a": {**ITEMS, "x-kubernetes-validations": [COSTLY]}})}
    old = definition(versions=[version(schema=costly), version("v2", storage=False)])
    new = definition(versions=[version(schema=costly), version("v2", storage=False, schema=costly)])
    found = errors(new, old)
    # One schema for all is judged by the first version's.
    assert not any("estimated rule cost exceeds budget" in text for text in found)
    swapped = definition(versions=[version("v2", schema=costly), version("v3", storage=False)])
    assert any("estimated rule cost exceeds budget" in text for text in errors(swapped, old))
