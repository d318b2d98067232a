"""What both control planes say about themselves: of discovery and OpenAPI, what has to be the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

GROUP_VERSIONS = (
    "api/v1",
    "apis/admissionregistration.k8s.io/v1",
    "apis/apiregistration.k8s.io/v1",
    "apis/authentication.k8s.io/v1",
    "apis/authorization.k8s.io/v1",
    "apis/coordination.k8s.io/v1",
    "apis/events.k8s.io/v1",
    "apis/rbac.authorization.k8s.io/v1",
)
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
FORMS = ("application/json", "application/yaml")
PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)

Document = Mapping[str, Any]


DEFINITIONS = "apiextensions.k8s.io/v1/customresourcedefinitions"


def resources(document: Document) -> dict[str, Any]:
    """Resources of an APIResourceList by name; their hashes tell stores apart."""
    return {
        each["name"]: {key: value for key, value in each.items() if key != "storageVersionHash"}
        for each in document["resources"]
    }


def aggregated(document: Document) -> dict[str, Any]:
    """Versions and resources of aggregated discovery by group, version and resource.

    A kind of the same group and version is named without them by kube-apiserver, and in full by us.
    """
    found: dict[str, Any] = {}
    for group in document["items"]:
        name = group["metadata"].get("name", "")
        for version in group["versions"]:
            for resource in version["resources"]:
                found[f"{name}/{version['version']}/{resource['resource']}"] = _told(resource, name, version["version"])
            found[f"{name}/{version['version']}"] = version.get("freshness")
    return found


def _told(resource: Document, group: str, version: str) -> dict[str, Any]:
    kind = resource["responseKind"]
    shown = {key: value for key, value in resource.items() if key not in {"responseKind", "subresources"}}
    shown["kind"] = (kind["group"] or group, kind["version"] or version, kind["kind"])
    for below in resource.get("subresources", ()):
        shown[f"/{below['subresource']}"] = _told(below, group, version)
    return shown


def operations(document: Document) -> dict[str, Any]:
    """Operations of an OpenAPI document of version 3 by method and path."""
    return {
        f"{method} {path}": dict(_operation(operation, item.get("parameters", ())))
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if method != "parameters"
    }


def _operation(operation: Document, shared: Any) -> Iterator[tuple[str, Any]]:
    for key, value in operation.items():
        if key == "responses":
            yield key, {code: _content(answer, FORMS) for code, answer in value.items()}
        elif key == "requestBody":
            yield key, _content(value, (*FORMS, *PATCHES, "*/*"))
        elif key not in {"parameters", "description"}:
            yield key, value
    known = {(each["name"], each["in"]) for each in (*operation.get("parameters", ()), *shared)}
    yield "parameters", sorted(known)


def _content(body: Document, forms: tuple[str, ...]) -> dict[str, Any]:
    return {form: body["content"][form] for form in forms if form in body.get("content", {})}


def schemas(document: Document) -> dict[str, Any]:
    """The kinds of an OpenAPI document, each with the fields that can be reached from it, whatever they are named."""
    known = document["components"]["schemas"]
    return {
        name: dict(_fields(schema, known, ()))
        for name, schema in known.items()
        if any(kind["kind"] in name for kind in schema.get("x-kubernetes-group-version-kind", ()))
    }


def _fields(schema: Document, known: Document, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Fields by path: the type, and how lists are merged. Formats and defaults are told apart by the conversations."""
    merged = {}
    for part in (schema, *schema.get("allOf", ())):
        merged.update(known[part["$ref"].rpartition("/")[2]] if "$ref" in part else part)
    rules = {key: value for key, value in {**merged, **schema}.items() if key.startswith("x-kubernetes-")}
    # kube-apiserver says int-or-string by the format, and calls bytes a list though they are text.
    if merged.get("type") != "array":
        rules.pop("x-kubernetes-list-type", None)
    rules = {key: value for key, value in rules.items() if not key.endswith(("-kind", "-int-or-string"))}
    yield ".".join(path), (merged.get("type"), rules)
    for name, found in merged.get("properties", {}).items():
        yield from _fields(found, known, (*path, name))
    for name in ("items", "additionalProperties"):
        if isinstance(merged.get(name), dict):
            yield from _fields(merged[name], known, (*path, "*"))
