"""Temporary."""
from extapi import *
from extapi.api.definition import NAMESPACED
from tests.differential.crds.every import OURS, definitions

def kind(d):
    spec = d["spec"]; n = spec["names"]
    vs = {}
    for v in spec["versions"]:
        sub = v.get("subresources", {})
        sc = sub.get("scale")
        vs[v["name"]] = Version(
            v["schema"]["openAPIV3Schema"],
            deprecated=v.get("deprecationWarning") or v.get("deprecated", False),
            columns=[Column(c["name"], c["jsonPath"], c["type"], description=c.get("description", ""), priority=c.get("priority", 0)) for c in v.get("additionalPrinterColumns", [])],
            served=v["served"], selectable=[f["jsonPath"] for f in v.get("selectableFields", [])],
            status="status" in sub,
            scale=Scale(spec_replicas_path=sc["specReplicasPath"], status_replicas_path=sc["statusReplicasPath"], label_selector_path=sc.get("labelSelectorPath", "")) if sc else False)
    return Kind(n["kind"], versions=vs, storage=next(v["name"] for v in spec["versions"] if v["storage"]),
        scope=NAMESPACED if spec["scope"] == "Namespaced" else CLUSTER, plural=n["plural"], singular=n.get("singular", ""), list_kind=n.get("listKind", ""),
        short_names=n.get("shortNames", []), categories=n.get("categories", []))

api = Api(Group(OURS, *[kind(d) for d in definitions(OURS) if any(v["served"] for v in d["spec"]["versions"])]))
