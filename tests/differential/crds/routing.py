"""Where resources of a manifest are found: scopes, methods, names; and how discovery describes them."""

from __future__ import annotations

from typing import Any

from tests.differential.crds.talking import Resource, told
from tests.differential.side import Step, get, post

KEEPER = Resource("keepers", "Keeper")
SHUT = Resource("shuts", "Shut", cluster=True)
G = "/apis/{g}/v1"
NS = f"{G}/namespaces/{{ns}}"

PATHS = {
    "cluster path of a namespaced object": f"{G}/keepers/one",
    "across namespaces": f"{G}/keepers?fieldSelector=metadata.namespace%3D{{ns}}",
    "namespaced path of the cluster": f"{NS}/shuts",
    "namespaced object of the cluster": f"{NS}/shuts/one",
    "kind for a resource": f"{NS}/Keeper",
    "singular": f"{NS}/keeper",
    "short name": f"{NS}/kp",
    "unknown subresource": f"{NS}/keepers/one/nothing",
    "scale that is not there": f"{NS}/keepers/one/scale",
    "status of the cluster": f"{G}/shuts/one/status",
    "status of nothing": f"{NS}/keepers/none/status",
    "slash at the end": f"{NS}/keepers/",
    "watch of old": f"{G}/watch/keepers?timeoutSeconds=1&fieldSelector=metadata.name%3Dnone",
    "watch of old, one": f"{G}/watch/namespaces/{{ns}}/keepers/one?timeoutSeconds=1",
    "empty namespace": f"{G}/namespaces//keepers?fieldSelector=metadata.namespace%3D{{ns}}",
    "another namespace": f"{G}/namespaces/none-{{ns}}/keepers",
}
OBJECT = KEEPER.obj("new")
TALKS: dict[str, Any] = {
    **{f"GET {name}": (KEEPER.make(), get(path)) for name, path in PATHS.items()},
    **{
        f"{method} {name}": (KEEPER.make(), Step(method, path, OBJECT if method != "DELETE" else None, {"Content-Type": "application/json"}))
        for method in ("POST", "PUT", "DELETE", "PATCH")
        for name, path in {
            "cluster path of a namespaced object": f"{G}/keepers/one",
            "cluster path of namespaced objects": f"{G}/keepers",
            "namespaced path of the cluster": f"{NS}/shuts/one",
            "scale that is not there": f"{NS}/keepers/one/scale",
        }.items()
    },
    "create in a namespace that is not there": post({**OBJECT, "metadata": {"name": "new"}}, f"{G}/namespaces/none-{{ns}}/keepers"),
    "create for another namespace": post({**OBJECT, "metadata": {"name": "new", "namespace": "other"}}, KEEPER.path),
    "create of the cluster for a namespace": post({**SHUT.obj("new"), "metadata": {"name": "{ns}-new", "namespace": "x"}}, SHUT.path),
    "names": [KEEPER.make(name) for name in ("A", "a_b", "a.b", "-a", "a" * 253, "a" * 254, "", "1")],
    "kinds": [post({**OBJECT, "kind": kind}, KEEPER.path) for kind in ("", "keeper", "KeeperList", "Shut", None, 1)],
    "groups": [post({**OBJECT, "apiVersion": text}, KEEPER.path) for text in ("", "v1", "other/v1", "{g}/v2", "{g}", None)],
    "discovery": get(G),
    "list kinds": (get(f"{G}/globals?labelSelector=a%3D{{ns}}"), get(f"{G}/keepers?labelSelector=a%3D{{ns}}"), get(f"{G}/rows?labelSelector=a%3D{{ns}}")),
}  # fmt: skip

CASES = told(KEEPER, TALKS)
