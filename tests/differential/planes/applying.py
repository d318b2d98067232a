"""Server-side apply to the control plane's kinds: with the schemas and merge keys of Kubernetes' types."""

from __future__ import annotations

from typing import Any

from tests.differential.cases import Case, Conversation
from tests.differential.planes.samples import (
    ACCOUNT,
    BINDING,
    CLUSTER_BINDING,
    CLUSTER_ROLE,
    CONFIG_MAP,
    EVENT,
    JANE,
    LEASE,
    NAMESPACE,
    ROLE,
    ROLE_REF,
    RULE,
    SECRET,
    SERVICE,
    STRATEGIC,
    TABLE,
    Sample,
)
from tests.differential.side import Step, apply, delete, get, json_patch, merge, post, put

KINDS = (CONFIG_MAP, SECRET, ACCOUNT, SERVICE, LEASE, NAMESPACE, ROLE, CLUSTER_ROLE, BINDING, CLUSTER_BINDING)


def want(kind: Sample, meta: Any = None, **body: Any) -> dict[str, Any]:
    """A configuration: an object called new with these parts only; its label lets the case find it."""
    metadata = {"name": kind.name("new"), "labels": {"space": "{ns}"}, **(meta or {})}
    return {"apiVersion": kind.version, "kind": kind.kind, "metadata": metadata, **body}


def of_each(kind: Sample) -> dict[str, Conversation]:
    """What can be asked of every kind."""
    at, whole = kind.at("new"), kind.obj()
    changed = kind.change if "metadata" not in kind.change else {}
    return {
        "creates": (apply(at, whole), get(at)),
        "again": (apply(at, whole), apply(at, whole), get(at)),
        "changes": (apply(at, whole), apply(at, {**whole, **changed}), get(at)),
        "conflicts": (post(whole, f"{kind.path}?fieldManager=u"), apply(at, {**whole, **changed}), apply(at, {**whole, **changed}, force=True)),
        "shares": (apply(at, whole, "a"), apply(at, whole, "b"), apply(at, want(kind), "a"), get(at)),
        "gives labels up": (apply(at, want(kind, {"labels": {"space": "{ns}", "x": "1", "y": "2"}}, **kind.body)), apply(at, want(kind, {"labels": {"space": "{ns}", "y": "2"}}, **kind.body))),
        "is updated": (apply(at, whole), merge(f"{at}?fieldManager=u", {**kind.change, "metadata": {"annotations": {"a": "b"}}}), apply(at, whole)),
        "is replaced": (apply(at, whole), put(f"{at}?fieldManager=u", kind.obj(meta={"labels": {"space": "{ns}", "new": "x"}}))),
        "is patched strategically": (apply(at, whole), merge(f"{at}?fieldManager=u", {"metadata": {"labels": {"s": "t"}}}, STRATEGIC)),
        "knows no such field": apply(at, {**whole, "nope": 1}),
        "dry": (apply(at, whole, more="&dryRun=All"), get(at)),
        "forgets": (post(whole, kind.path), merge(at, {"metadata": {"managedFields": [{}]}}), apply(at, want(kind, {"annotations": {"a": "b"}}, **kind.body))),
    }  # fmt: skip


def port(name: str, number: int, **more: Any) -> dict[str, Any]:
    """A port of a service."""
    return {"name": name, "port": number, **more}


def service(**spec: Any) -> dict[str, Any]:
    """A configuration of a service without an address, which differs between the sides."""
    return want(SERVICE, spec=spec)


NO_IP = {"clusterIP": "None"}
OWN: dict[str, Conversation] = {
    "ports of two": (apply(SERVICE.at("new"), service(**NO_IP, ports=[port("a", 80)]), "a"), apply(SERVICE.at("new"), service(ports=[port("b", 81)]), "b")),
    "ports, one number in two protocols": (apply(SERVICE.at("new"), service(**NO_IP, ports=[port("a", 53, protocol="TCP"), port("b", 53, protocol="UDP")])), apply(SERVICE.at("new"), service(**NO_IP, ports=[port("b", 53, protocol="UDP")]))),
    "ports, conflict": (apply(SERVICE.at("new"), service(**NO_IP, ports=[port("a", 80)]), "a"), apply(SERVICE.at("new"), service(ports=[port("b", 80)]), "b")),
    "ports, a default of the key": (apply(SERVICE.at("new"), service(**NO_IP, ports=[port("a", 80)]), "a"), apply(SERVICE.at("new"), service(ports=[{"port": 80, "protocol": "TCP", "targetPort": 8080}]), "b"), apply(SERVICE.at("new"), service(ports=[{"port": 80, "protocol": "TCP", "targetPort": 8080}]), "b", force=True)),
    "ports twice": apply(SERVICE.at("new"), service(**NO_IP, ports=[port("a", 80), port("b", 80)])),
    "selector of two": (apply(SERVICE.at("new"), service(**NO_IP, selector={"a": "1"}), "a"), apply(SERVICE.at("new"), service(selector={"b": "2"}), "b")),
    "another type of service": (apply(SERVICE.at("new"), service(type="ExternalName", externalName="a.b")), apply(SERVICE.at("new"), service(type="ExternalName", externalName="c.d"))),
    "status of a service": (post(SERVICE.obj(), SERVICE.path), apply(SERVICE.at("new", "/status"), want(SERVICE, status={"conditions": [{"type": "A", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}))),
    "data of two": (apply(CONFIG_MAP.at("new"), want(CONFIG_MAP, data={"a": "1"}), "a"), apply(CONFIG_MAP.at("new"), want(CONFIG_MAP, data={"b": "2"}), "b"), apply(CONFIG_MAP.at("new"), want(CONFIG_MAP), "a")),
    "data, conflict": (apply(CONFIG_MAP.at("new"), want(CONFIG_MAP, data={"a": "1"}), "a"), apply(CONFIG_MAP.at("new"), want(CONFIG_MAP, data={"a": "2"}), "b")),
    "data, all given up": (apply(CONFIG_MAP.at("new"), want(CONFIG_MAP, data={"a": "1"})), apply(CONFIG_MAP.at("new"), want(CONFIG_MAP))),
    "data, odd keys": apply(CONFIG_MAP.at("new"), want(CONFIG_MAP, data={"a.b-c_D": "x"}, binaryData={"z": "AA=="})),
    "data of a wrong type": apply(CONFIG_MAP.at("new"), want(CONFIG_MAP, data={"a": 1})),
    "data, removed by JSON patch": (apply(CONFIG_MAP.at("new"), want(CONFIG_MAP, data={"a": "1", "b": "2"})), json_patch(f"{CONFIG_MAP.at('new')}?fieldManager=u", ("remove", "/data/a"))),
    "immutable": (apply(CONFIG_MAP.at("new"), want(CONFIG_MAP, data={"a": "1"}, immutable=True)), apply(CONFIG_MAP.at("new"), want(CONFIG_MAP, data={"a": "2"}, immutable=True))),
    "stringData": (apply(SECRET.at("new"), want(SECRET, stringData={"a": "x"})), get(SECRET.at("new"))),
    "rules are atomic": (apply(ROLE.at("new"), want(ROLE, rules=[RULE]), "a"), apply(ROLE.at("new"), want(ROLE, rules=[RULE, {**RULE, "verbs": ["list"]}]), "b")),
    "rules are atomic, forced": (apply(ROLE.at("new"), want(ROLE, rules=[RULE]), "a"), apply(ROLE.at("new"), want(ROLE, rules=[{**RULE, "verbs": ["list"]}]), "b", force=True)),
    "subjects are atomic": (apply(BINDING.at("new"), want(BINDING, subjects=[JANE], roleRef=ROLE_REF), "a"), apply(BINDING.at("new"), want(BINDING, subjects=[{**JANE, "name": "joe-{ns}"}], roleRef=ROLE_REF), "b")),
    "roleRef is one": (apply(BINDING.at("new"), want(BINDING, subjects=[JANE], roleRef=ROLE_REF)), apply(BINDING.at("new"), want(BINDING, subjects=[JANE], roleRef={**ROLE_REF, "name": "edit"}))),
    "roleRef without a group": apply(BINDING.at("new"), want(BINDING, subjects=[{"kind": "User", "name": "jane-{ns}"}], roleRef={"kind": "ClusterRole", "name": "view"})),
    "owners of two": (
        apply(CONFIG_MAP.at("new"), want(CONFIG_MAP, {"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u"}]}), "a"),
        apply(CONFIG_MAP.at("new"), want(CONFIG_MAP, {"ownerReferences": [{"apiVersion": "v1", "kind": "B", "name": "b", "uid": "w"}]}), "b"),
        apply(CONFIG_MAP.at("new"), want(CONFIG_MAP), "a"),
    ),
    "finalizers": (apply(CONFIG_MAP.at("new"), want(CONFIG_MAP, {"finalizers": ["a.b/c"]})), delete(CONFIG_MAP.at("new")), apply(CONFIG_MAP.at("new"), want(CONFIG_MAP)), get(CONFIG_MAP.at("new"))),
    "as a table": apply(CONFIG_MAP.at("new"), CONFIG_MAP.obj(), accept=TABLE),
    "a time that is none": apply(CONFIG_MAP.at("new"), want(CONFIG_MAP, {"creationTimestamp": "null"})),
    "another kind": apply(CONFIG_MAP.at("new"), {**CONFIG_MAP.obj(), "kind": "Secret"}),
    "no name": apply(CONFIG_MAP.at("new"), {"apiVersion": "v1", "kind": "ConfigMap"}),
    "into a missing namespace": apply("/api/v1/namespaces/missing/configmaps/new", CONFIG_MAP.obj()),
    "a namespace with a spec": apply(NAMESPACE.at("new"), want(NAMESPACE, spec={"finalizers": ["a.b/c"]})),
    "a condition of a namespace": (apply(NAMESPACE.at("new"), want(NAMESPACE)), apply(NAMESPACE.at("new", "/status"), want(NAMESPACE, status={"conditions": [{"type": "A", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}))),
    "by a stranger": Step("PATCH", f"{CONFIG_MAP.at('new')}?fieldManager=m", CONFIG_MAP.obj(), {"Content-Type": "application/apply-patch+yaml"}, stranger=True),
    "to nobody's object": (post(CONFIG_MAP.obj(), CONFIG_MAP.path), merge(CONFIG_MAP.at("new"), {"metadata": {"managedFields": []}}), apply(CONFIG_MAP.at("new"), want(CONFIG_MAP, data={"a": "9"})), apply(CONFIG_MAP.at("new"), want(CONFIG_MAP, data={"a": "9"}), force=True)),
}  # fmt: skip


NEWER = "/apis/events.k8s.io/v1/namespaces/{ns}/events"
"""Where the events of the core group are, too: one object in two groups, each of which forgets the managers of the other."""
REGARDING = {"regarding": {"kind": "ConfigMap", "namespace": "{ns}", "name": "one", "apiVersion": "v1"}}
NOTE: dict[str, Any] = {
    **REGARDING,
    "eventTime": "2026-01-01T00:00:00.000001Z",
    "reportingController": "example.com/oven",
    "reportingInstance": "oven-1",
    "action": "Burn",
    "reason": "Burnt",
    "type": "Normal",
    "note": "It is black.",
}


def noted(meta: Any = None, **body: Any) -> dict[str, Any]:
    """An event of the newer group, or a configuration of one."""
    return want(EVENT, meta, **body) | {"apiVersion": "events.k8s.io/v1"}


LABELLED = {"metadata": {"labels": {"l": "m"}}}
EVENTS: dict[str, Conversation] = {
    "is updated in the other": (post(EVENT.obj(), f"{EVENT.path}?fieldManager=c"), merge(f"{NEWER}/new?fieldManager=u", LABELLED), get(EVENT.at("new")), get(f"{NEWER}/new")),
    "is updated in the older": (post(noted(**NOTE), f"{NEWER}?fieldManager=c"), merge(f"{EVENT.at('new')}?fieldManager=u", LABELLED), get(f"{NEWER}/new")),
    "is counted in both": (post(EVENT.obj(), f"{EVENT.path}?fieldManager=c"), merge(f"{EVENT.at('new')}?fieldManager=c", {"count": 4}), merge(f"{NEWER}/new?fieldManager=d", {"deprecatedCount": 5}), merge(f"{EVENT.at('new')}?fieldManager=c", {"count": 6})),
    "is applied in both": (apply(EVENT.at("new"), EVENT.obj(), "a"), apply(f"{NEWER}/new", noted({"labels": {"l": "m"}}), "b"), apply(EVENT.at("new"), EVENT.obj(), "a"), get(EVENT.at("new"))),
    "is applied in both, by one": (apply(EVENT.at("new"), EVENT.obj(), "a"), apply(f"{NEWER}/new", noted({"labels": {"l": "m"}}, **REGARDING), "a"), get(EVENT.at("new"))),
    "never conflicts over groups": (post(EVENT.obj(), f"{EVENT.path}?fieldManager=c"), apply(f"{NEWER}/new", noted({"labels": {"app": "b"}}), "b"), get(EVENT.at("new"))),
    "is immutable in both": (apply(EVENT.at("new"), EVENT.obj(), "a"), apply(f"{NEWER}/new", noted(note="Two"), "b")),
    "is replaced in the other": (post(noted(**NOTE), f"{NEWER}?fieldManager=c"), put(f"{NEWER}/new?fieldManager=d", noted({"labels": {"l": "m"}}, **NOTE)), put(f"{EVENT.at('new')}?fieldManager=u", EVENT.obj())),
}  # fmt: skip


def _case(steps: Conversation) -> Case:
    return Case([steps] if isinstance(steps, Step) else steps)


CASES = {
    **{f"Apply {kind.kind}: {name}": _case(steps) for kind in KINDS for name, steps in of_each(kind).items()},
    **{f"Apply, own: {name}": _case(steps) for name, steps in OWN.items()},
    **{f"Apply Event: {name}": _case(steps) for name, steps in EVENTS.items()},
}
