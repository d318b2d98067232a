"""Who may what: RBAC and its escalation checks, rights that are granted or not, impersonation, strangers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.differential.planes.naming import Steps, named
from tests.differential.planes.reviews import READ, SUBJECT, as_user, review, stranger
from tests.differential.planes.samples import (
    ACCOUNT,
    BINDING,
    CLUSTER_BINDING,
    CLUSTER_ROLE,
    CONFIG_MAP,
    JANE,
    MINE,
    RBAC,
    ROLE,
    ROLE_REF,
    SECRET,
    STRATEGIC,
    TABLE,
)
from tests.differential.side import delete, get, merge, post, put

GRANT = (
    post(ROLE.obj("reader"), ROLE.path),
    post(
        BINDING.obj("reader", subjects=[JANE], roleRef={**ROLE_REF, "kind": "Role", "name": "reader"}),
        BINDING.path,
    ),
)
"""The steps by which jane may get config maps; the reader's role is seen a moment later."""
RULES = {
    "get secrets": {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]},
    "all": {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
}
ODD_RULES: tuple[list[dict[str, Any]] | None, ...] = (
    [],
    None,
    [{"verbs": ["get"], "nonResourceURLs": ["/a", "/b/*", "*"]}],
    [{"verbs": ["get"], "apiGroups": [""], "resources": ["a/*"], "resourceNames": ["x"]}],
    [{}],
    [{"verbs": []}],
    [{"verbs": ["get"]}],
    [{"verbs": ["get"], "apiGroups": [""]}],
    [{"verbs": ["get"], "resources": ["a"]}],
    [{"verbs": ["get"], "nonResourceURLs": ["a"]}],
    [{"verbs": ["get"], "nonResourceURLs": ["/a*b"]}],
    [{"verbs": ["get"], "nonResourceURLs": ["/a"], "apiGroups": [""], "resources": ["a"]}],
)
ROLES: dict[str, Steps] = {
    "rules": [
        *(
            post(CLUSTER_ROLE.obj(meta={"name": f"new{number}-{{ns}}"}, rules=rules), f"{CLUSTER_ROLE.path}?dryRun=All")
            for number, rules in enumerate(ODD_RULES)
        ),
        post(ROLE.obj(rules=[{"verbs": ["get"], "nonResourceURLs": ["/a"]}]), ROLE.path),
        post(ROLE.obj(rules=[{"verbs": []}]), ROLE.path),
    ],
    "aggregation": [
        post(
            CLUSTER_ROLE.obj(aggregationRule={"clusterRoleSelectors": selectors}, rules=[]),
            f"{CLUSTER_ROLE.path}?dryRun=All",
        )
        for selectors in (
            [{"matchLabels": {"a": "b"}}],
            [],
            [{"matchLabels": {"a b": "c"}}],
            [{"matchExpressions": [{"key": "a", "operator": "In"}]}],
        )
    ],
    "subjects": [
        post(BINDING.obj(subjects=[subject]), f"{BINDING.path}?dryRun=All")
        for subject in (
            {"kind": "User", "name": "a"},
            {"kind": "Group", "name": "a", "apiGroup": "other"},
            {"kind": "ServiceAccount", "name": "a"},
            {"kind": "ServiceAccount", "name": "a", "namespace": "b"},
            {"kind": "ServiceAccount", "name": "A b", "namespace": "b"},
            {"kind": "ServiceAccount", "name": "a", "namespace": "b", "apiGroup": RBAC},
            {"kind": "Robot", "name": "a"},
            {"kind": "User", "name": ""},
            {},
        )
    ],
    "subjects of the cluster": [
        post(CLUSTER_BINDING.obj(subjects=[subject]), f"{CLUSTER_BINDING.path}?dryRun=All")
        for subject in ({"kind": "ServiceAccount", "name": "a"}, {"kind": "User", "name": "a"}, {"kind": "Group"})
    ],
    "role references": [
        *(
            post(BINDING.obj(roleRef=reference), f"{BINDING.path}?dryRun=All")
            for reference in (
                {"kind": "Role", "name": "none"},
                {"kind": "Role", "name": ""},
                {"kind": "Other", "name": "a"},
                {"apiGroup": "other", "kind": "Role", "name": "a"},
                {},
            )
        ),
        post(CLUSTER_BINDING.obj(roleRef={"kind": "Role", "name": "a"}), f"{CLUSTER_BINDING.path}?dryRun=All"),
    ],
    "another role": (
        post(BINDING.obj(), BINDING.path),
        merge(BINDING.at("new"), {"roleRef": {"name": "edit"}}),
        merge(BINDING.at("new"), {"subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "b"}]}, STRATEGIC),
        get(BINDING.at("new"), TABLE),
        get(BINDING.path + "?labelSelector=space%3D{ns}", TABLE),
    ),
    "bootstrap roles": [
        get(f"{CLUSTER_ROLE.path}/{name}")
        for name in (
            "cluster-admin",
            "system:discovery",
            "system:basic-user",
            "system:public-info-viewer",
            "system:auth-delegator",
        )
    ],
    "bootstrap bindings": [
        get(f"{CLUSTER_BINDING.path}/{name}")
        for name in ("cluster-admin", "system:discovery", "system:basic-user", "system:public-info-viewer")
    ],
    "bootstrap role of a namespace": [
        get(f"/apis/{RBAC}/v1/namespaces/kube-system/{name}/extension-apiserver-authentication-reader")
        for name in ("roles",)
    ],
}

NOBODY: dict[str, Steps] = {
    "reads": [
        as_user(get(path))
        for path in (
            CONFIG_MAP.at("one"),
            CONFIG_MAP.path,
            "/api/v1/configmaps",
            "/api/v1/namespaces",
            "/api/v1/namespaces/{ns}",
            CLUSTER_ROLE.at("one"),
            f"{CONFIG_MAP.path}?watch=true",
            "/metrics",
            "/logs",
            "/api/v1/nodes",
            "/apis/none.test/v1/things",
            SECRET.at("one", "/nothing"),
            "/nothing",
        )
    ],
    "writes": [
        as_user(post(CONFIG_MAP.obj(), CONFIG_MAP.path)),
        as_user(put(CONFIG_MAP.at("one"), CONFIG_MAP.obj("one"))),
        as_user(merge(CONFIG_MAP.at("one"), {})),
        as_user(delete(CONFIG_MAP.at("one"))),
        as_user(delete(CONFIG_MAP.path)),
        as_user(post("garbage", "/api/v1/namespaces")),
        as_user(post({}, ACCOUNT.at("one", "/token"))),
        as_user(merge("/api/v1/namespaces/{ns}/status", {})),
    ],
    "escalates": [
        post(
            CLUSTER_ROLE.obj(
                "writer",
                rules=[{"apiGroups": [RBAC], "resources": ["*"], "verbs": ["create", "update", "patch", "get"]}],
            ),
            CLUSTER_ROLE.path,
        ),
        post(
            CLUSTER_BINDING.obj("writer", subjects=[JANE], roleRef={**ROLE_REF, "name": "writer-{ns}"}),
            CLUSTER_BINDING.path,
        ),
        get(f"{CONFIG_MAP.path}?{MINE}&watch=true&timeoutSeconds=1"),  # the role is seen a moment later
        as_user(post(ROLE.obj(rules=[RULES["get secrets"]]), ROLE.path)),
        as_user(post(ROLE.obj(rules=[RULES["all"]]), ROLE.path)),
        as_user(post(ROLE.obj(rules=[]), ROLE.path)),
        as_user(merge(ROLE.at("new"), {"rules": [RULES["get secrets"]]})),
        as_user(post(BINDING.obj(roleRef={**ROLE_REF, "name": "system:auth-delegator"}), BINDING.path)),
        as_user(post(BINDING.obj(roleRef={**ROLE_REF, "name": "none-{ns}"}), BINDING.path)),
        as_user(post(CLUSTER_ROLE.obj(rules=[{"nonResourceURLs": ["/x"], "verbs": ["get"]}]), CLUSTER_ROLE.path)),
        as_user(post(CLUSTER_ROLE.obj(rules=[], aggregationRule={"clusterRoleSelectors": [{}]}), CLUSTER_ROLE.path)),
        delete(CLUSTER_BINDING.at("writer")),
    ],
    "is granted": [
        *GRANT,
        get(f"{CONFIG_MAP.path}?{MINE}&watch=true&timeoutSeconds=1"),  # the role is seen a moment later
        as_user(get(CONFIG_MAP.at("one"))),
        as_user(get(CONFIG_MAP.path)),
        as_user(get(SECRET.at("one"))),
        review("SubjectAccessReview", SUBJECT),
        as_user(review("SelfSubjectRulesReview", {"namespace": "{ns}"})),
        as_user(review("SelfSubjectAccessReview", {"resourceAttributes": READ})),
    ],
    "is granted by a group": [
        post(
            CLUSTER_ROLE.obj(
                "many",
                rules=[
                    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "resourceNames": ["one"]},
                    {"apiGroups": [""], "resources": ["secrets", "namespaces/status"], "verbs": ["*"]},
                    {"apiGroups": [RBAC], "resources": ["*"], "verbs": ["get", "list"]},
                    {"apiGroups": [""], "resources": ["*/token"], "verbs": ["create"]},
                    {"nonResourceURLs": ["/metrics", "/debug/*"], "verbs": ["get"]},
                ],
            ),
            CLUSTER_ROLE.path,
        ),
        post(
            CLUSTER_BINDING.obj(
                "many",
                subjects=[
                    {"kind": "Group", "name": "g-{ns}"},
                    {"kind": "ServiceAccount", "name": "robot", "namespace": "{ns}"},
                ],
                roleRef={**ROLE_REF, "name": "many-{ns}"},
            ),
            CLUSTER_BINDING.path,
        ),
        get(f"{CONFIG_MAP.path}?{MINE}&watch=true&timeoutSeconds=1"),  # the role is seen a moment later
        *(
            as_user(get(path), "jill", "g-{ns}")
            for path in (
                CONFIG_MAP.at("one"),
                CONFIG_MAP.at("two"),
                CONFIG_MAP.path,
                f"{CONFIG_MAP.path}?fieldSelector=metadata.name%3Done",
                SECRET.path,
                f"{SECRET.path}?watch=true&timeoutSeconds=1",
                "/api/v1/secrets?labelSelector=none",
                "/api/v1/namespaces/{ns}",
                "/api/v1/namespaces/{ns}/status",
                ROLE.path,
                f"{ROLE.path}?watch=true",
                "/debug",
            )
        ),
        as_user(post({}, ACCOUNT.at("none", "/token")), "jill", "g-{ns}"),
        as_user(delete(f"{SECRET.path}?labelSelector=none"), "system:serviceaccount:{ns}:robot"),
        as_user(delete(f"{ROLE.path}?labelSelector=none"), "system:serviceaccount:{ns}:robot"),
        *(
            review("SubjectAccessReview", {"user": "jill", "groups": ["g-{ns}"], "resourceAttributes": asked})
            for asked in (
                {"verb": "get", "resource": "configmaps", "name": "one", "namespace": "a"},
                {"verb": "get", "resource": "configmaps", "namespace": "a"},
                {"verb": "patch", "resource": "namespaces", "subresource": "status"},
                {"verb": "create", "resource": "pods", "subresource": "token", "version": "v1"},
                {"verb": "list", "group": RBAC, "resource": "roles", "version": "*"},
                {"verb": "*", "resource": "*"},
                {"verb": "*", "resource": "secrets"},
            )
        ),
        *(
            review(
                "SubjectAccessReview",
                {"user": "jill", "groups": ["g-{ns}"], "nonResourceAttributes": {"path": path, "verb": "get"}},
            )
            for path in ("/metrics", "/metrics/x", "/debug/x", "/debug")
        ),
        as_user(review("SelfSubjectRulesReview", {"namespace": "{ns}"}), "jill", "g-{ns}"),
        delete(CLUSTER_BINDING.at("many")),
    ],
    "is a stranger": [
        stranger(get(path))
        for path in (
            "/api",
            "/apis",
            "/healthz",
            "/livez",
            "/readyz",
            "/openapi/v2",
            "/openapi/v3",
            "/metrics",
            "/",
            CONFIG_MAP.path,
            "/api/v1/namespaces/{ns}",
            "/apis/none.test",
            "/nothing",
        )
    ],
    "writes as a stranger": [
        stranger(post(CONFIG_MAP.obj(), CONFIG_MAP.path)),
        stranger(delete(CONFIG_MAP.at("one"))),
        stranger(review("SubjectAccessReview", SUBJECT)),
    ],
    "has a bad token": [
        stranger(get(CONFIG_MAP.path), Authorization=text)
        for text in ("Bearer x", "Bearer a.b.c", "Bearer ", "Bearer", "Basic YTpi", "Bearer x y", "bearer x", "")
    ],
    "impersonates": [
        as_user(get("/api/v1/namespaces/{ns}"), "jane", "system:masters"),
        replace(get("/api/v1/namespaces/{ns}"), headers={"Impersonate-Group": "g"}),
        replace(get("/api/v1/namespaces/{ns}"), headers={"Impersonate-Extra-a": "g"}),
        replace(get("/api/v1/namespaces/{ns}"), headers={"Impersonate-Uid": "g"}),
        as_user(get("/api/v1/namespaces/{ns}"), ""),
        as_user(stranger(get("/api/v1/namespaces/{ns}")), "jane"),
        as_user(get("/api/v1/namespaces/{ns}"), "system:anonymous"),
        as_user(get("/api/v1/namespaces/{ns}"), "system:serviceaccount:{ns}:default"),
        as_user(get("/api/v1/namespaces/{ns}"), "system:serviceaccount:{ns}"),
        as_user(get("/api/v1/namespaces/{ns}"), "jane", "system:masters", Impersonate_Extra_Example_com_2fkey="v"),
    ],
}

TOPICS = {"RBAC": ROLES, "Somebody": NOBODY}
CASES = named(TOPICS)
