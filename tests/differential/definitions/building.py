"""How the definitions of the cases are made: a good one, changed in one place."""

from __future__ import annotations

import copy
from typing import Any

Manifest = dict[str, Any]
GROUP = "wrong.test"


def version(name: str = "v1", *, storage: bool = True, **more: Any) -> dict[str, Any]:
    """A version; what is given as ``...`` is left out."""
    made = {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": root()}, **more}
    return {key: value for key, value in made.items() if value is not ...}


def root(**more: Any) -> dict[str, Any]:
    """The schema of a whole object; what is given as ``...`` is left out."""
    made = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"color": {"type": "string"}, "size": {"type": "integer"}, "on": {"type": "boolean"}},
            },
            "status": {"type": "object", "properties": {"size": {"type": "integer"}}},
        },
        **more,
    }
    return {key: value for key, value in made.items() if value is not ...}


def definition(**spec: Any) -> Manifest:
    """A good definition with other members of its spec; what is given as ``...`` is left out."""
    made = {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [version()],
        **spec,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{(made['names'] or {}).get('plural', 'things')}.{made['group']}"},
        "spec": {key: value for key, value in made.items() if value is not ...},
    }


def named(**names: Any) -> Manifest:
    """A definition with other names."""
    made = {"plural": "things", "kind": "Thing", **names}
    return definition(names={key: value for key, value in made.items() if value is not ...})


def meta(**metadata: Any) -> Manifest:
    """A definition with other metadata."""
    made = definition()
    made["metadata"] |= metadata
    return made


def versioned(**more: Any) -> Manifest:
    """A definition with one version that has something else."""
    return definition(versions=[version(**more)])


def whole(schema: Any, **more: Any) -> Manifest:
    """A definition with another schema."""
    return versioned(schema={"openAPIV3Schema": schema}, **more)


def field(schema: Any, **more: Any) -> Manifest:
    """A definition whose spec has one field of a schema."""
    return whole(root(properties={"spec": {"type": "object", "properties": {"f": schema}}}), **more)


def column(**more: Any) -> Manifest:
    """A definition with a printer column."""
    made = {"name": "Color", "type": "string", "jsonPath": ".spec.color", **more}
    return versioned(additionalPrinterColumns=[{key: value for key, value in made.items() if value is not ...}])


def selecting(*paths: Any, **more: Any) -> Manifest:
    """A definition with selectable fields."""
    return versioned(selectableFields=[{} if each is ... else {"jsonPath": each} for each in paths], **more)


def scaling(**more: Any) -> Manifest:
    """A definition with the subresource scale."""
    made = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size", **more}
    return versioned(subresources={"scale": {key: value for key, value in made.items() if value is not ...}})


def converting(client: Any = None, reviews: Any = ("v1",), **more: Any) -> Manifest:
    """A definition that a webhook converts."""
    webhook: dict[str, Any] = {"clientConfig": client or {"service": {"namespace": "a", "name": "b"}}}
    if reviews is not ...:
        webhook["conversionReviewVersions"] = list(reviews)
    if client is ...:
        del webhook["clientConfig"]
    return definition(conversion={"strategy": "Webhook", "webhook": webhook, **more})


def rules(*written: dict[str, Any], of: Any = None) -> Manifest:
    """A definition with rules of a string, or of another field."""
    return field({**(of or {"type": "string", "maxLength": 9}), "x-kubernetes-validations": list(written)})


def changed(made: Manifest, *path: Any, to: Any) -> Manifest:
    """A copy in which one value is another; ``...`` removes it."""
    made = copy.deepcopy(made)
    at: Any = made
    for step in path[:-1]:
        at = at[step]
    if to is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = to
    return made
