"""An API for ``extapi serve tests.kubernetes.letters:api``: a kind that says nothing about itself, behind a proxy."""

from __future__ import annotations

from extapi import Api, Group, Kind, Version

GROUP = "post.example.com"
api = Api(Group(GROUP, Kind("Letter", storage="v1", versions={"v1": Version({"type": "object"})})))


def letters_path(namespace: str) -> str:
    """The collection in a namespace."""
    return f"/apis/{GROUP}/v1/namespaces/{namespace}/letters"


def letter(name: str) -> dict[str, object]:
    """An object, as a client writes it."""
    return {"apiVersion": f"{GROUP}/v1", "kind": "Letter", "metadata": {"name": name}}
