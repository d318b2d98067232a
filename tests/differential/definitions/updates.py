"""Changes of definitions that are stored: what may not change, and what is judged anew."""

from __future__ import annotations

from typing import NamedTuple

from tests.differential.definitions.building import (
    Manifest,
    changed,
    converting,
    definition,
    field,
    rules,
    selecting,
    version,
)


class Update(NamedTuple):
    """A stored definition, and what it is changed to."""

    stored: Manifest
    change: Manifest


SERVICE = {"namespace": "a", "name": "b"}
TWO = definition(versions=[version(), version("v2", storage=False)])
STRING9 = {"type": "string", "maxLength": 9}

CASES: dict[str, Update] = {
    "nothing changes": Update(definition(), definition()),
    "another scope": Update(definition(), definition(scope="Cluster")),
    "another kind": Update(definition(), definition(names={"plural": "things", "kind": "Other"})),
    "another plural": Update(
        definition(), changed(definition(), "spec", "names", to={"plural": "others", "kind": "Thing"})
    ),
    "another group": Update(definition(), changed(definition(), "spec", "group", to="other.test")),
    "no group": Update(definition(), changed(definition(), "spec", "group", to=...)),
    "everything else": Update(
        definition(),
        changed(
            changed(definition(scope="Cluster"), "spec", "group", to="other.test"),
            "spec",
            "names",
            to={"plural": "others", "kind": "Other"},
        ),
    ),
    "another singular": Update(
        definition(), definition(names={"plural": "things", "kind": "Thing", "singular": "other", "shortNames": ["o"]})
    ),
    "the stored version goes": Update(definition(), definition(versions=[version("v2")])),
    "the storage version changes": Update(
        TWO, definition(versions=[version(storage=False), version("v2", storage=True)])
    ),
    "the storage version changes, the old one goes": Update(TWO, definition(versions=[version("v2")])),
    "no versions are left": Update(definition(), definition(versions=[])),
    "no schema is left": Update(definition(), definition(versions=[version(schema=...)])),
    "a wrong schema": Update(definition(), field({"type": "text"})),
    "a wrong default": Update(definition(), field({"type": "string", "default": 1})),
    "a rule that does not compile": Update(definition(), rules({"rule": "nothing"})),
    "preserves unknown fields": Update(definition(), definition(preserveUnknownFields=True)),
    "a webhook with a broken bundle": Update(definition(), converting({"service": SERVICE, "caBundle": "bm9uZQ=="})),
    "a webhook with an empty block": Update(
        definition(),
        converting(
            {
                "service": SERVICE,
                "caBundle": "LS0tLS1CRUdJTiBPVEhFUi0tLS0tCkFBPT0KLS0tLS1FTkQgT1RIRVItLS0tLQo=",
            }
        ),
    ),
    "a webhook with unknown reviews": Update(definition(), converting(reviews=("v2",))),
    "too many selectable fields": Update(definition(), selecting(".spec.color", ".spec.shape")),
    "a rule stays, another comes": Update(
        rules({"rule": "self != 'a'"}), rules({"rule": "self != 'a'"}, {"rule": "self != 1"}, of=STRING9)
    ),
    "the approval is no matter elsewhere": Update(
        definition(), changed(definition(), "metadata", "annotations", to={"api-approved.kubernetes.io": "x"})
    ),
}
