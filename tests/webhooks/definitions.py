"""A definition whose objects a webhook converts: v1, which is stored, has a host and a port, v2 one text of both."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

GROUP, KIND, PLURAL = "hooks.example.com", "Hook", "hooks"


def text(**more: Any) -> dict[str, Any]:
    return {"type": "string", **more}


def schema(**spec: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}


def definition(
    url: str, ca: bytes, *, versions: Sequence[str] = ("v1",), group: str = GROUP, **members: Any
) -> dict[str, Any]:
    """The definition; ``versions``: of the reviews. ``members`` replace some of its spec."""
    client = {"url": url, "caBundle": base64.b64encode(ca).decode()}
    columns = [{"name": "Address", "type": "string", "jsonPath": ".spec.hostPort"}]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": PLURAL, "singular": "hook", "kind": KIND, "listKind": "HookList"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema(host=text(), port=text(), note=text(default="old"))},
                },
                {
                    "name": "v2",
                    "served": True,
                    "storage": False,
                    "schema": {"openAPIV3Schema": schema(hostPort=text(), color=text(default="blue"), note=text())},
                    "selectableFields": [{"jsonPath": ".spec.hostPort"}],
                    "additionalPrinterColumns": columns,
                },
            ],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"clientConfig": client, "conversionReviewVersions": list(versions)},
            },
            **members,
        },
    }


def hook(name: str, version: str = "v1", **spec: Any) -> dict[str, Any]:
    """An object."""
    given = spec or ({"host": "h", "port": "1"} if version == "v1" else {"hostPort": "h:1"})
    return {"apiVersion": f"{GROUP}/{version}", "kind": KIND, "metadata": {"name": name}, "spec": given}
