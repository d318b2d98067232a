"""Reviews of rights and identities, and the tokens of service accounts; how somebody else is spoken for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.differential.planes.naming import Steps, named
from tests.differential.planes.samples import (
    ACCOUNT,
    CONFIG_MAP,
    SECRET,
    TABLE,
)
from tests.differential.side import Step, get, post

AUTHENTICATION, AUTHORIZATION = "/apis/authentication.k8s.io/v1", "/apis/authorization.k8s.io/v1"


def as_user(step: Step, user: str = "jane-{ns}", *groups: str, **more: str) -> Step:
    """The same on behalf of somebody."""
    told = {"Impersonate-User": user, **({"Impersonate-Group": groups[0]} if groups else {})}
    return replace(
        step, headers={**step.headers, **told, **{key.replace("_", "-"): text for key, text in more.items()}}
    )


def stranger(step: Step, **headers: str) -> Step:
    """The same without a certificate."""
    return replace(step, headers={**step.headers, **headers}, stranger=True)


def review(kind: str, spec: Any = None, *, where: str = "", group: str = AUTHORIZATION, **more: Any) -> Step:
    """Ask for a verdict."""
    plural = kind.lower() + "s"
    path = f"{group}/namespaces/{where}/{plural}" if where else f"{group}/{plural}"
    body = {
        "apiVersion": group.removeprefix("/apis/"),
        "kind": kind,
        **({} if spec is None else {"spec": spec}),
        **more,
    }
    return post(body, path)


READ = {"verb": "get", "resource": "configmaps", "namespace": "{ns}"}
SUBJECT = {"user": "jane-{ns}", "resourceAttributes": READ}
BOTH = {"resourceAttributes": READ, "nonResourceAttributes": {"path": "/", "verb": "get"}}

REVIEWS: dict[str, Steps] = {
    "of an administrator": review("SubjectAccessReview", {**SUBJECT, "groups": ["system:masters"]}),
    "of nobody": review("SubjectAccessReview", SUBJECT),
    "of authenticated": review(
        "SubjectAccessReview",
        {"user": "jane", "groups": ["system:authenticated"], "nonResourceAttributes": {"path": "/api", "verb": "get"}},
    ),
    "of health": [
        review(
            "SubjectAccessReview",
            {"user": "a", "groups": ["system:unauthenticated"], "nonResourceAttributes": {"path": path, "verb": "get"}},
        )
        for path in ("/healthz", "/version", "/api", "/metrics")
    ],
    "bad": [
        review("SubjectAccessReview", spec)
        for spec in (
            None,
            {},
            {"user": "a"},
            {"resourceAttributes": READ},
            {"user": "a", **BOTH},
            {"user": "a", "resourceAttributes": {}},
            {"user": "a", "resourceAttributes": {"verb": "get", "fieldSelector": {}}},
            {
                "user": "a",
                "resourceAttributes": {"verb": "list", "labelSelector": {"rawSelector": "a=b", "requirements": []}},
            },
            {
                "user": "a",
                "resourceAttributes": {
                    "verb": "list",
                    "labelSelector": {
                        "rawSelector": "a=b",
                        "requirements": [{"key": "a", "operator": "In", "values": ["b"]}],
                    },
                },
            },
            {
                "user": "a",
                "resourceAttributes": {
                    "verb": "list",
                    "labelSelector": {"requirements": [{"key": "a", "operator": "Some"}]},
                },
            },
            {
                "user": "a",
                "resourceAttributes": {
                    "verb": "list",
                    "fieldSelector": {"requirements": [{"key": "", "operator": "In"}]},
                },
            },
        )
    ],
    "named": [
        review("SubjectAccessReview", SUBJECT, metadata={"name": "a"}),
        review("SubjectAccessReview", SUBJECT, metadata={"labels": {"a": "b"}}),
        review("SubjectAccessReview", SUBJECT, metadata={"namespace": "a"}),
    ],
    "of another kind": post(
        {"kind": "Other", "apiVersion": "authorization.k8s.io/v1"}, f"{AUTHORIZATION}/subjectaccessreviews"
    ),
    "empty": [post(body, f"{AUTHORIZATION}/subjectaccessreviews") for body in ("", "{}", "[]", "x")],
    "dry": post({"spec": SUBJECT}, f"{AUTHORIZATION}/subjectaccessreviews?dryRun=All"),
    "as a table": post({"spec": SUBJECT}, f"{AUTHORIZATION}/subjectaccessreviews", accept=TABLE),
    "unknown fields": post(
        {"spec": {**SUBJECT, "x": 1}}, f"{AUTHORIZATION}/subjectaccessreviews?fieldValidation=Strict"
    ),
    "read": [get(f"{AUTHORIZATION}/subjectaccessreviews"), get(f"{AUTHORIZATION}/subjectaccessreviews/a")],
    "local": [
        review("LocalSubjectAccessReview", SUBJECT, where="{ns}"),
        review("LocalSubjectAccessReview", {**SUBJECT, "groups": ["system:masters"]}, where="{ns}"),
        review(
            "LocalSubjectAccessReview",
            {"user": "a", "resourceAttributes": {**READ, "namespace": "other"}},
            where="{ns}",
        ),
        review("LocalSubjectAccessReview", {"user": "a", "resourceAttributes": {"verb": "get"}}, where="{ns}"),
        review("LocalSubjectAccessReview", {"user": "a", "nonResourceAttributes": {"path": "/"}}, where="{ns}"),
        review("LocalSubjectAccessReview", SUBJECT, where="none-{ns}"),
        review("LocalSubjectAccessReview", {}, where="{ns}"),
    ],
    "self": [
        review("SelfSubjectAccessReview", {"resourceAttributes": READ}),
        as_user(review("SelfSubjectAccessReview", {"resourceAttributes": READ})),
        review("SelfSubjectAccessReview", {}),
        review("SelfSubjectAccessReview", BOTH),
        stranger(review("SelfSubjectAccessReview", {"resourceAttributes": READ})),
    ],
    "rules": [
        review("SelfSubjectRulesReview", {"namespace": "{ns}"}),
        as_user(review("SelfSubjectRulesReview", {"namespace": "{ns}"})),
        review("SelfSubjectRulesReview", {}),
        review("SelfSubjectRulesReview", {"namespace": "none"}),
    ],
    "who am I": [
        review("SelfSubjectReview", group=AUTHENTICATION),
        as_user(
            review("SelfSubjectReview", group=AUTHENTICATION), "jane", "g", Impersonate_Uid="1", Impersonate_Extra_a="b"
        ),
        as_user(review("SelfSubjectReview", group=AUTHENTICATION), "system:serviceaccount:{ns}:default"),
        stranger(review("SelfSubjectReview", group=AUTHENTICATION)),
    ],
    "tokens": [
        review("TokenReview", spec, group=AUTHENTICATION)
        for spec in (None, {}, {"token": ""}, {"token": "x"}, {"token": "a.b.c"}, {"token": "x", "audiences": ["a"]})
    ],
}

TOKEN = ACCOUNT.at("new", "/token")
BEARER = {"Authorization": "Bearer {token}"}
WHO = review("SelfSubjectReview", group=AUTHENTICATION)
TOKENS: dict[str, Steps] = {
    "is used": (
        post(ACCOUNT.obj(), ACCOUNT.path),
        post("{}", TOKEN),
        stranger(WHO, **BEARER),
        stranger(get(CONFIG_MAP.path), **BEARER),
        stranger(get("/api/v1/namespaces/{ns}/nothing"), **BEARER),
        review("TokenReview", {"token": "{token}"}, group=AUTHENTICATION),
        review("TokenReview", {"token": "{token}", "audiences": ["other"]}, group=AUTHENTICATION),
    ),
    "is for others": (
        post(ACCOUNT.obj(), ACCOUNT.path),
        post({"spec": {"audiences": ["other", "more"]}}, TOKEN),
        stranger(WHO, **BEARER),
        review("TokenReview", {"token": "{token}"}, group=AUTHENTICATION),
        review("TokenReview", {"token": "{token}", "audiences": ["more", "none"]}, group=AUTHENTICATION),
    ),
    "is bound": (
        post(ACCOUNT.obj(), ACCOUNT.path),
        post(SECRET.obj("one"), SECRET.path),
        post({"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Secret", "name": "one"}}}, TOKEN),
        stranger(WHO, **BEARER),
        review("TokenReview", {"token": "{token}"}, group=AUTHENTICATION),
    ),
    "is impersonated beside": (
        post(ACCOUNT.obj(), ACCOUNT.path),
        post("{}", TOKEN),
        stranger(WHO, **BEARER, **{"Impersonate-User": "system:serviceaccount:{ns}:new"}),
        replace(WHO, headers={**WHO.headers, **BEARER}),
        stranger(get(CONFIG_MAP.path), Authorization="Bearer {token}x"),
    ),
}

TOPICS = {"Review": REVIEWS, "Token": TOKENS}
CASES = named(TOPICS)
