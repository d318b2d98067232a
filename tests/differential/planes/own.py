"""What each kind has of its own: namespaces, config maps, secrets, service accounts."""

from __future__ import annotations

from typing import Any

from tests.differential.planes.naming import Steps, named
from tests.differential.planes.samples import (
    ACCOUNT,
    CONFIG_MAP,
    NAMESPACE,
    PARTIAL,
    SECRET,
    STRATEGIC,
    TABLE,
    Sample,
)
from tests.differential.side import Step, delete, get, merge, post, put


def made(kind: Sample, *bodies: dict[str, Any], query: str = "") -> list[Step]:
    """Create objects named new with these bodies, one after the other, and read what has become of them."""
    return [
        *(post(kind.obj(f"new{number}", **body), kind.path + query) for number, body in enumerate(bodies)),
        kind.mine(),
        kind.mine("", TABLE),
    ]


NS = NAMESPACE.at("new")
NAMESPACES: dict[str, Steps] = {
    "create": (
        post(NAMESPACE.obj(), NAMESPACE.path),
        get(NS),
        get(NS, TABLE),
        get(NS, PARTIAL),
        NAMESPACE.mine("", TABLE),
    ),
    "create again": post({"metadata": {"name": "{ns}"}}, NAMESPACE.path),
    "create bad": [
        post(NAMESPACE.obj(meta={"name": name}), NAMESPACE.path) for name in ("a.b", "A", "", "-", "a" * 64)
    ],
    "create dry": (post(NAMESPACE.obj(), f"{NAMESPACE.path}?dryRun=All"), get(NS)),
    "create with a spec": [
        post(NAMESPACE.obj(spec={"finalizers": names}), f"{NAMESPACE.path}?dryRun=All")
        for names in ([], ["kubernetes"], ["a.b/c"], ["x"], ["a b"])
    ],
    "create with a status": post(NAMESPACE.obj(status={"phase": "Terminating"}), f"{NAMESPACE.path}?dryRun=All"),
    "create with a label of its name": post(
        NAMESPACE.obj(meta={"labels": {"kubernetes.io/metadata.name": "other"}}), f"{NAMESPACE.path}?dryRun=All"
    ),
    "label": (merge(NS0 := "/api/v1/namespaces/{ns}", {"metadata": {"labels": {"a": "b"}}}), get(NS0)),
    "label of its name": merge(NS0, {"metadata": {"labels": {"kubernetes.io/metadata.name": None}}}),
    "update": (put(NS0, {"metadata": {"name": "{ns}", "annotations": {"a": "b"}}}), get(NS0)),
    "update its finalizers": merge(NS0, {"spec": {"finalizers": ["a.b/c"]}}),
    "update its phase": merge(NS0, {"status": {"phase": "Terminating"}}),
    "update its status": merge(f"{NS0}/status", {"status": {"phase": "Terminating"}}),
    "a condition": merge(
        f"{NS0}/status", {"status": {"conditions": [{"type": "A", "status": "True", "reason": "b", "message": "c"}]}}
    ),
    "metadata with its status": (
        merge(f"{NS0}/status", {"metadata": {"annotations": {"a": "b"}, "labels": {"c": "d"}}}),
        put(f"{NS0}/status", {"metadata": {"name": "{ns}", "annotations": {"e": "f"}}, "status": {"phase": "Active"}}),
        merge(f"{NS0}/status", {"metadata": {"labels": {"a b": "c"}}}),
        get(NS0),
    ),
    "finalize": (
        put(f"{NS0}/finalize", {"metadata": {"name": "{ns}"}, "spec": {"finalizers": ["kubernetes", "a.b/c"]}}),
        put(f"{NS0}/finalize", {"metadata": {"name": "{ns}"}, "spec": {"finalizers": ["kubernetes"]}}),
    ),
    "finalize badly": [
        put(f"{NS0}/finalize", {"metadata": {"name": "{ns}"}, "spec": {"finalizers": ["a b"]}}),
        put(f"{NS0}/finalize", {"metadata": {"name": "other"}}),
        get(f"{NS0}/finalize"),
        merge(f"{NS0}/finalize", {"spec": {}}),
    ],
    "strategic conditions": (
        merge(f"{NS0}/status", {"status": {"conditions": [{"type": "A", "status": "True"}]}}, STRATEGIC),
        merge(f"{NS0}/status", {"status": {"conditions": [{"type": "B", "status": "True"}]}}, STRATEGIC),
        merge(f"{NS0}/status", {"status": {"conditions": [{"$patch": "delete", "type": "A"}]}}, STRATEGIC),
        merge(f"{NS0}/status", {"status": {"conditions": [{"status": "True"}]}}, STRATEGIC),
    ),
    "delete": delete(NS0),
    "delete dry": (delete(f"{NS0}?dryRun=All"), get(NS0)),
    "delete of a wrong uid": delete(NS0, {"preconditions": {"uid": "u"}}),
    "delete immortal": [delete(f"/api/v1/namespaces/{name}") for name in ("default", "kube-system", "kube-public")],
    "delete a missing one": delete("/api/v1/namespaces/none-{ns}"),
    "delete all": delete("/api/v1/namespaces?labelSelector=none%3D{ns}"),
    "create in one that goes": (
        merge(NS0, {"metadata": {"finalizers": ["a.b/c"]}}),
        delete(NS0),
        post(CONFIG_MAP.obj(), CONFIG_MAP.path),
        post(CONFIG_MAP.obj(), f"{CONFIG_MAP.path}?dryRun=All"),
    ),
    "create in a missing one": post(CONFIG_MAP.obj(), "/api/v1/namespaces/none-{ns}/configmaps"),
    "create across": post(CONFIG_MAP.obj(), "/api/v1/configmaps"),
    "list across": get("/api/v1/configmaps?labelSelector=space%3D{ns}"),
    "list in a missing one": get("/api/v1/namespaces/none-{ns}/configmaps"),
    "by phase": NAMESPACE.mine("&fieldSelector=status.phase%3DActive"),
    "by another field": NAMESPACE.mine("&fieldSelector=spec.finalizers%3DActive"),
}

CONFIG_MAPS: dict[str, Steps] = {
    "bodies": made(
        CONFIG_MAP,
        {"data": {}},
        {"data": None},
        {"data": {"a": ""}},
        {"data": {"a": None}},
        {"data": {"a": "\u00e4\u2028<>&"}, "binaryData": {"b": "AAEC"}},
        {"binaryData": {"b": ""}},
        {"immutable": False},
        {"immutable": True},
    ),
    "bad bodies": made(
        CONFIG_MAP,
        {"data": {"a b": "1"}},
        {"data": {"": "1"}},
        {"data": {"..": "1"}},
        {"data": {"..a": "1"}},
        {"data": {".": "1"}},
        {"data": {"a" * 254: "1"}},
        {"data": {"a": "1"}, "binaryData": {"a": "AA=="}},
        {"binaryData": {"a": "%"}},
        {"binaryData": {"a": "A"}},
        {"binaryData": {"a b": "AA=="}},
        {"data": {"a": "x" * 1048577}},
    ),
    "wrong types": [
        post(CONFIG_MAP.obj(data={"a": 1}), CONFIG_MAP.path),
        post(CONFIG_MAP.obj(data=[]), CONFIG_MAP.path),
        post(CONFIG_MAP.obj(immutable="a"), CONFIG_MAP.path),
    ],
    "immutable": (
        post(CONFIG_MAP.obj(immutable=True), CONFIG_MAP.path),
        merge(CONFIG_MAP.at("new"), {"data": {"a": "2"}}),
        merge(CONFIG_MAP.at("new"), {"immutable": False}),
        merge(CONFIG_MAP.at("new"), {"immutable": None, "binaryData": {"b": "AA=="}}),
        merge(CONFIG_MAP.at("new"), {"metadata": {"labels": {"a": "b"}}}),
        delete(CONFIG_MAP.at("new")),
    ),
}

SECRETS: dict[str, Steps] = {
    "bodies": made(
        SECRET,
        {"type": ""},
        {"stringData": {"a": "b", "c": "d"}},
        {"data": {"a": ""}},
        {"data": {"a": "MQ\r\n=="}},
        {"type": "example.com/own"},
        {"type": "kubernetes.io/basic-auth", "data": {"username": "MQ=="}},
        {"type": "kubernetes.io/tls", "data": {"tls.crt": "MQ==", "tls.key": "MQ=="}},
        {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": "e30="}},
        {"type": "bootstrap.kubernetes.io/token"},
    ),
    "bad bodies": made(
        SECRET,
        {"data": {"a": "%"}},
        {"data": {"a": "MQ"}},
        {"data": {"a b": "MQ=="}},
        {"type": "kubernetes.io/basic-auth", "data": {}},
        {"type": "kubernetes.io/ssh-auth"},
        {"type": "kubernetes.io/tls"},
        {"type": "kubernetes.io/dockercfg"},
        {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "MQ=="}},
        {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "Zm9v"}},
        {"type": "kubernetes.io/service-account-token"},
    ),
    "changed types": (
        post(SECRET.obj(), SECRET.path),
        merge(SECRET.at("new"), {"type": "other"}),
        merge(SECRET.at("new"), {"stringData": {"b": "c"}}),
        merge(SECRET.at("new"), {"data": {"a": None}}),
    ),
    "by type": [SECRET.mine(f"&fieldSelector=type%3D{each}") for each in ("Opaque", "other")],
}

TOKEN = ACCOUNT.at("new", "/token")
REQUEST = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
ACCOUNTS: dict[str, Steps] = {
    "bodies": made(
        ACCOUNT,
        {"secrets": [{"name": "a"}], "imagePullSecrets": [{"name": "b"}, {}]},
        {"automountServiceAccountToken": None},
        {"secrets": []},
    ),
    "secrets by name": (
        post(ACCOUNT.obj(secrets=[{"name": "a"}]), ACCOUNT.path),
        merge(ACCOUNT.at("new"), {"secrets": [{"name": "b"}]}, STRATEGIC),
        merge(ACCOUNT.at("new"), {"imagePullSecrets": [{"name": "b"}]}, STRATEGIC),
        merge(ACCOUNT.at("new"), {"imagePullSecrets": [{"name": "c"}]}, STRATEGIC),
        merge(ACCOUNT.at("new"), {"secrets": [{"$patch": "delete", "name": "a"}]}, STRATEGIC),
    ),
    "token": (
        post(ACCOUNT.obj(), ACCOUNT.path),
        post(REQUEST, TOKEN),
        post({"spec": {"audiences": ["a", "b"], "expirationSeconds": 600}}, TOKEN),
        post({"spec": {"expirationSeconds": 10**12}}, TOKEN),
        post({"spec": {"expirationSeconds": 599}}, TOKEN),
        post({"spec": {"expirationSeconds": 2**32}}, TOKEN),
        post("{}", TOKEN),
        post("", TOKEN),
        post({**REQUEST, "metadata": {"name": "other"}}, TOKEN),
        post({**REQUEST, "metadata": {"namespace": "other"}}, TOKEN),
        post({**REQUEST, "kind": "Other"}, TOKEN),
        post(REQUEST, f"{TOKEN}?dryRun=All"),
        get(TOKEN),
    ),
    "bound token": [
        post(ACCOUNT.obj(), ACCOUNT.path),
        post(SECRET.obj("one"), SECRET.path),
        *(
            post(
                {**REQUEST, "spec": {"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name, **more}}}, TOKEN
            )
            for kind, name, more in (
                ("Secret", "one", {}),
                ("Secret", "none", {}),
                ("Secret", "one", {"uid": "u"}),
                ("ConfigMap", "one", {}),
                ("Secret", "", {}),
            )
        ),
    ],
    "token of nobody": post(REQUEST, ACCOUNT.at("none", "/token")),
}

TOPICS = {
    "Namespace": NAMESPACES,
    "ConfigMap, own": CONFIG_MAPS,
    "Secret, own": SECRETS,
    "ServiceAccount, own": ACCOUNTS,
}
CASES = named(TOPICS)
