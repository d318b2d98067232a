"""What all documents of a server must say together, whatever was replaced before."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.attack.replacedkinds import SLOTS, Catalog, declared_generations, generations
from tests.unit.server.generations import Place

AGGREGATED = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}


def check_documents(place: Place, served: Catalog) -> None:
    """Check that all documents are of one catalogue: each names the generations that are served, and no others."""
    core = {name for name in served if not SLOTS[name].group}
    assert generations(_text(place, "/openapi/v2")) == declared_generations(served.values())
    named = [served[name] for name in served if name not in core]
    assert generations(_text(place, "/apis", AGGREGATED)) == declared_generations(named)
    assert place.request("GET", "/api").status == (200 if core else 404)
    if core:
        assert generations(_text(place, "/api", AGGREGATED)) == declared_generations(served[name] for name in core)
    roots = _roots(served)
    _check_lists(place, roots)
    index = json.loads(_text(place, "/openapi/v3"))["paths"]
    assert set(index) == set(roots)
    for root, wanted in roots.items():
        assert generations(_text(place, f"/{root}")) == wanted
        url = index[root]["serverRelativeURL"]
        answer = place.request("GET", f"/openapi/v3/{root}", {"hash": url.partition("hash=")[2]})
        assert answer.headers["cache-control"] == "public, immutable"  # the index names the document as it is
        assert generations(answer.body.decode()) == wanted


def _roots(served: Catalog) -> dict[str, set[int]]:
    """The generations in each group and version, by its path."""
    found: dict[str, set[int]] = {}
    for name, declared in served.items():
        group = SLOTS[name].group
        for version in declared.versions:
            found.setdefault(f"apis/{group}/{version}" if group else f"api/{version}", set()).add(declared.generation)
    return found


def _check_lists(place: Place, roots: Mapping[str, set[int]]) -> None:
    """Check the list of paths, and that of groups."""
    listed = json.loads(_text(place, "/"))["paths"]
    paths = {f"/{root}" for root in roots} | {f"/openapi/v3/{root}" for root in roots}
    assert paths <= set(listed)
    assert [path for path in listed if "example.com/" in path] == sorted(
        path for path in paths if "example.com" in path
    )
    groups = {
        group["name"]: [version["version"] for version in group["versions"]]
        for group in json.loads(_text(place, "/apis"))["groups"]
    }
    versions: dict[str, list[str]] = {}
    for root in sorted(roots, reverse=True):
        if root.startswith("apis/"):
            versions.setdefault(root.split("/")[1], []).append(root.split("/")[2])
    assert groups == versions


def _text(place: Place, path: str, headers: Mapping[str, str] | None = None) -> str:
    answer = place.request("GET", path, headers=headers)
    assert answer.status == 200, (path, answer)
    return answer.body.decode()
