"""What is sent and how: protobuf, large bodies, watches of the past, paths and methods that nobody serves."""

from __future__ import annotations

from tests.differential.planes.naming import Steps, named
from tests.differential.planes.samples import (
    ACCOUNT,
    BINDING,
    CONFIG_MAP,
    LEASE,
    NAMESPACE,
    PARTIAL,
    PROTOBUF,
    SECRET,
    TABLE,
)
from tests.differential.side import Step, delete, get, merge, post, put


def _field(number: int, content: bytes) -> bytes:
    """A field of protobuf's wire format with a length before it, of less than 128 bytes."""
    return bytes([number << 3 | 2, len(content)]) + content


def _message(kind: str, raw: bytes, version: str = "v1") -> bytes:
    """A body as clients send it: a magic number and a ``runtime.Unknown``."""
    about = _field(1, version.encode()) + _field(2, kind.encode())
    return b"k8s\x00" + _field(1, about) + _field(2, raw) + _field(3, b"") + _field(4, b"")


NAMED = _field(1, _field(1, b"new"))
ENTRY = _field(2, _field(1, b"a") + _field(2, b"1"))


def _binary(body: bytes, path: str = CONFIG_MAP.path, accept: str = "application/json") -> Step:
    return post(body, path, PROTOBUF, accept)


PROTO: dict[str, Steps] = {
    "a config map": (_binary(_message("ConfigMap", NAMED + ENTRY)), get(CONFIG_MAP.at("new"))),
    "a config map as YAML": _binary(_message("ConfigMap", NAMED), accept="application/yaml"),
    "a secret": _binary(_message("Secret", NAMED + ENTRY), SECRET.path),
    "a service account": _binary(_message("ServiceAccount", NAMED), ACCOUNT.path),
    "an update": (
        post(CONFIG_MAP.obj(), CONFIG_MAP.path),
        put(CONFIG_MAP.at("new"), _message("ConfigMap", NAMED + ENTRY), PROTOBUF, "application/json"),
    ),
    "options of a deletion": (
        post(CONFIG_MAP.obj(), CONFIG_MAP.path),
        delete(CONFIG_MAP.at("new"), _message("DeleteOptions", b""), PROTOBUF),
    ),
    "a review": _binary(
        _message("SubjectAccessReview", _field(2, _field(3, b"jane")), "authorization.k8s.io/v1"),
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    ),
    "another kind": _binary(_message("Secret", NAMED)),
    "an unknown kind": _binary(_message("Nothing", NAMED)),
    "another version": _binary(_message("ConfigMap", NAMED, "v9")),
    "no kind": _binary(_message("", NAMED, "")),
    "an unknown field": _binary(_message("ConfigMap", NAMED + _field(15, b"x"))),
    "an unknown field, strictly": _binary(
        _message("ConfigMap", NAMED + _field(15, b"x")), f"{CONFIG_MAP.path}?fieldValidation=Strict"
    ),
    "cut off": _binary(_message("ConfigMap", NAMED)[:-8]),
    "cut off inside": _binary(_message("ConfigMap", NAMED[:-1])),
    "JSON": _binary(b"{}"),
    "nothing": _binary(b""),
    "only the magic": _binary(b"k8s\x00"),
    "for a patch": merge(CONFIG_MAP.at("new"), b"k8s\x00", PROTOBUF),
    "asked for or JSON": get("/api/v1/namespaces/{ns}", f"{PROTOBUF},application/json"),
    "asked for in a table or JSON": get(
        "/api/v1/namespaces/{ns}", f"{TABLE.replace('json', 'vnd.kubernetes.protobuf')},{TABLE}"
    ),
}

APPLY = "application/apply-patch+yaml"
APPLIED: dict[str, Steps] = {
    "a config map": merge(f"{CONFIG_MAP.at('new')}?fieldManager=a", CONFIG_MAP.obj(), APPLY),
    "a role": merge(f"{BINDING.at('new')}?fieldManager=a&force=true", BINDING.obj(), APPLY),
    "without a manager": merge(CONFIG_MAP.at("new"), CONFIG_MAP.obj(), APPLY),
}

SECOND = "watch=true&timeoutSeconds=1"
WATCHES: dict[str, Steps] = {
    "at zero": get(f"{LEASE.path}?{SECOND}&resourceVersion=0"),
    "of one": (
        post(CONFIG_MAP.obj("one"), CONFIG_MAP.path),
        post(CONFIG_MAP.obj("two"), CONFIG_MAP.path),
        get(f"{CONFIG_MAP.path}?{SECOND}&fieldSelector=metadata.name%3Dtwo"),
        get(f"{CONFIG_MAP.at('one')}?{SECOND}"),
    ),
    "of a namespace": get("/api/v1/namespaces?" + SECOND + "&fieldSelector=metadata.name%3D{ns}"),
    "of what leaves a selector": (
        LEASE.mine(),
        post(LEASE.obj(), LEASE.path),
        merge(LEASE.at("new"), {"metadata": {"labels": {"app": "b"}}}),
        merge(LEASE.at("new"), {"metadata": {"labels": {"app": "a"}}}),
        delete(LEASE.at("new")),
        get(f"{LEASE.path}?{SECOND}&labelSelector=app%3Da&resourceVersion={{list}}"),
        get(f"{LEASE.path}?{SECOND}&labelSelector=app%3Da&resourceVersion={{list}}", PARTIAL),
    ),
    "with initial events": [
        get(f"{LEASE.path}?{SECOND}&sendInitialEvents=true"),
        get(f"{LEASE.path}?{SECOND}&sendInitialEvents=true&resourceVersionMatch=Exact"),
        get(f"{LEASE.path}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
        get(f"{LEASE.path}?{SECOND}&resourceVersionMatch=NotOlderThan"),
    ],
    "at garbage": get(f"{LEASE.path}?{SECOND}&resourceVersion=abc"),
    "by an old path": get("/api/v1/watch/namespaces/{ns}/configmaps?timeoutSeconds=1&labelSelector=none"),
    "of reviews": get(f"/apis/authorization.k8s.io/v1/subjectaccessreviews?{SECOND}"),
}

PATHS: dict[str, Steps] = {
    "of nobody": [
        get(path)
        for path in (
            "/api/v2",
            "/api/v1/nothing",
            "/api/v1/namespaces/{ns}/nothing",
            "/api/v1/namespaces/{ns}/configmaps/a/b/c",
            "/apis/none.test",
            "/apis/none.test/v1",
            "/apis/none.test/v1/things",
            "/apis/rbac.authorization.k8s.io/v2",
            "/apis/rbac.authorization.k8s.io/v1/nothing",
            "/nothing",
            "/api/v1/namespaces/{ns}/leases/",
        )
    ],
    "in a wrong scope": [
        get(path)
        for path in (
            "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/clusterroles",
            "/api/v1/configmaps/a",
            "/api/v1/namespaces/{ns}/namespaces",
        )
    ],
    "odd methods": [Step(method, CONFIG_MAP.path) for method in ("OPTIONS", "PUT", "PATCH", "TRACE")],
    "methods that reviews lack": [
        Step(method, "/apis/authorization.k8s.io/v1/subjectaccessreviews") for method in ("PUT", "PATCH", "DELETE")
    ],
    "too large": [
        post(b"x" * (3 * 1024 * 1024 + 1), CONFIG_MAP.path),
        post({**CONFIG_MAP.obj(), "data": {"a": "x" * 3_200_000}}, CONFIG_MAP.path),
    ],
    "bad names": [
        get(f"/api/v1/namespaces/{{ns}}/configmaps/{name}") for name in ("A_b", "..", ".", "%2e%2e", "a%2fb", "%00")
    ],
    "bad parameters": [
        CONFIG_MAP.mine(text)
        for text in (
            "&limit=x",
            "&limit=-1",
            "&timeoutSeconds=x",
            "&watch=x&timeoutSeconds=1",
            "&resourceVersion=x",
            "&continue=x",
            "&pretty=x",
            "&allowWatchBookmarks=x",
        )
    ],
    "namespaces that are no names": [get(f"/api/v1/namespaces/{name}/configmaps") for name in ("A_b", "a.b")],
    "bindings of a missing name": get(BINDING.at("none"), TABLE),
    "a namespace": [get("/api/v1/namespaces/{ns}", accept) for accept in (TABLE, PARTIAL, "application/yaml")],
    "namespaces by page": (NAMESPACE.mine("&limit=1"), get("/api/v1/namespaces?limit=1", PARTIAL)),
}

TOPICS = {"Protobuf": PROTO, "Apply": APPLIED, "Watch": WATCHES, "Path": PATHS}
CASES = named(TOPICS)
