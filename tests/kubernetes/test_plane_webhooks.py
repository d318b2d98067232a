"""Admission webhooks of both control planes: asked about built-in kinds and custom resources, each conversation held with both.

Statuses, texts, warnings and the reviews that the webhooks get have to be the same.
"""

from __future__ import annotations

import base64
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.kubernetes.cafe import PLURAL, THEIRS, definitions
from tests.kubernetes.cafe_steps import APPLY, MERGE, Step, last_try, neutral, path, posted
from tests.kubernetes.calling import Answer, Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, running
from tests.kubernetes.test_admission_webhooks import (
    CONDITIONS,
    CONFIGURATIONS,
    EVERYTHING,
    LIFE,
    REGISTRATION,
    RULES,
    Heard,
    Obj,
    hook,
)
from tests.waiting import until
from tests.webhooks.admission import ALLOWED, EVERY, REFUSED, WRONG, denies
from tests.webhooks.server import Certified, Webhook, certified, serving

pytestmark = pytest.mark.needs("crd")  # the one that is there is kube-apiserver, the other is started here

USER = "hooks-admin"
GENERATED = re.compile("g-[a-z0-9]{5}")
CREDENTIAL = re.compile("X509SHA256=[0-9a-f]+")
CORE = "/api/v1/namespaces/default"
STRATEGIC = "application/strategic-merge-patch+json"
OURS = {"objectSelector": {"matchLabels": {"hooked": "yes"}}}
"""Webhooks are shown the objects of the test alone: controllers write, too."""


@dataclass
class Plane:
    """One control plane, with webhooks of its own."""

    admin: Caller
    webhook: Webhook
    ca: bytes
    control_plane: ControlPlane
    number: int = 0

    def configure(self, hooks: dict[str, Sequence[Obj]]) -> None:
        """Register webhooks, and wait until they are known."""
        self.number += 1
        number = f"{self.number}"
        for kind in CONFIGURATIONS:
            rule = {"operations": ["CREATE"], "apiGroups": [""], "resources": ["configmaps"]}
            marker = hook(f"marker-{kind}", objectSelector={"matchLabels": {f"marker-{kind}": number}}, rule=rule)
            made = {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": CONFIGURATIONS[kind],
                "metadata": {"name": "hooks"},
                "webhooks": [self._registered(each) for each in (*hooks.get(kind, ()), marker)],
            }
            self.control_plane.client.apply(f"{REGISTRATION}/{kind}webhookconfigurations/hooks", made)
        for kind in CONFIGURATIONS:
            until(partial(self._knows, kind, number))
        self.webhook.calls.clear()

    def _registered(self, each: Obj) -> Obj:
        made = {name: value for name, value in each.items() if name != "path"}
        config = {"url": self.webhook.url(each["path"]), "caBundle": base64.b64encode(self.ca).decode()}
        return {"clientConfig": config, **made}

    def _knows(self, kind: str, number: str) -> bool:
        obj = {"metadata": {"name": "marker", "labels": {f"marker-{kind}": number}}}
        answer = self.admin("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", obj)
        wanted = f'admission webhook "marker-{kind}.webhook.test" denied the request: here'
        return bool(answer.json.get("message") == wanted)

    def ask(self, step: Step, name: str) -> Answer:
        body = None if step.body is None else _filled(json.dumps(step.body), name).encode()
        return self.admin(step.method, _filled(step.path, name), body, content_type=step.content_type)

    def play(self, steps: Sequence[Step], name: str) -> Heard:
        """Hold a conversation."""
        heard = Heard()
        self.webhook.calls.clear()
        for step in steps:
            answer = self.ask(step, name)
            body = self._neutral(answer.json, name)
            heard.answers.append(
                (
                    answer.status,
                    _without_nothing(body),
                    answer.headers.get("Warning"),
                    answer.headers.get("Retry-After"),
                )
            )
            calls = [(call.target, call.review) for call in self.webhook.calls]
            self.webhook.calls.clear()
            mine = [self._neutral(call, name) for call in calls if call[1]["request"]["userInfo"]["username"] == USER]
            heard.reviews.append([_seen(each) for each in mine])
        self.admin("DELETE", _filled(path(rest="/{name}"), name))
        return heard

    def _neutral(self, value: Any, name: str) -> Any:
        """What was said, without what differs from one control plane to the other."""
        text = GENERATED.sub("g-GENERATED", json.dumps(value).replace(f":{self.webhook.port}/", ":PORT/"))
        return neutral(json.loads(CREDENTIAL.sub("CREDENTIAL", text)), THEIRS, name)


def _filled(text: str, name: str) -> str:
    return text.replace("{group}", THEIRS).replace("{name}", name)


@pytest.fixture(scope="module")
def planes(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Plane, Plane]]:
    """Ours, and kube-apiserver."""
    directory, certificates = tmp_path_factory.mktemp("hooks"), certified()
    with ExitStack() as stack:
        ours = stack.enter_context(running(tmp_path_factory.mktemp("builtin"), "builtin"))
        found = [_plane(each, stack, certificates, directory) for each in (ours, control_plane)]
        try:
            yield found[0], found[1]
        finally:
            for kind in CONFIGURATIONS:
                control_plane.client.delete(f"{REGISTRATION}/{kind}webhookconfigurations/hooks")


def _plane(control_plane: ControlPlane, stack: ExitStack, certificates: Certified, directory: Path) -> Plane:
    client, keys = control_plane.client, control_plane.certificates
    for made in definitions():
        client.apply(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{made['metadata']['name']}", made)
    signed = user_certificate(authority(keys, "cluster-ca"), USER, "system:masters")
    admin = Caller(control_plane.cluster.port, tls_of(keys.certificate("cluster-ca"), signed, directory))
    markers = {f"marker-{kind}": denies(message="here") for kind in CONFIGURATIONS}
    webhook = stack.enter_context(serving({**EVERY, **markers}, certificates.context(directory)))
    for version in ("v1", "v2"):
        until(lambda version=version: client.problem(f"/apis/{THEIRS}/{version}/{PLURAL}") is None)  # type: ignore[misc]
    return Plane(admin, webhook, certificates.ca.pem, control_plane)


def _without_nothing(value: Any) -> Any:
    """Without what is empty, and without tokens."""
    if not isinstance(value, dict):
        return [_without_nothing(each) for each in value] if isinstance(value, list) else value
    return {name: _without_nothing(each) for name, each in value.items() if each is not None and name != "token"}


def _differences(ours: Any, theirs: Any, at: str) -> Iterator[str]:
    """Where two answers differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs}):
            yield from _differences(ours.get(key, "nothing"), theirs.get(key, "nothing"), f"{at}.{key}")
    elif isinstance(ours, list | tuple) and isinstance(theirs, list | tuple) and len(ours) == len(theirs):
        for index, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from _differences(*pair, f"{at}[{index}]")
    elif ours != theirs:
        yield f"{at}: ours {json.dumps(ours)}, theirs {json.dumps(theirs)}"


@pytest.fixture(scope="module")
def both(planes: tuple[Plane, Plane]) -> Iterator[Both]:
    """Both of them, asked at the same time."""
    with ThreadPoolExecutor(2) as pool:
        yield Both(planes, pool)


class Both:
    """Configures both planes alike, and holds each conversation with both."""

    def __init__(self, planes: tuple[Plane, Plane], pool: ThreadPoolExecutor) -> None:
        self._planes = planes
        self._pool = pool
        self._numbers = itertools.count(1)

    def configure(self, mutating: Sequence[Obj] = (), validating: Sequence[Obj] = ()) -> None:
        """Register webhooks with both."""
        hooks = {"mutating": mutating, "validating": validating}
        list(self._pool.map(lambda plane: plane.configure(hooks), self._planes))

    def hold(self, steps: Sequence[Step]) -> tuple[Heard, list[str]]:
        """What was heard of ours, and where the two differ."""
        name = f"k{next(self._numbers)}x"  # a name that no other test has: some leave objects whose deletion a webhook refuses
        ours, theirs = self._pool.map(lambda plane: plane.play(steps, name), self._planes)
        found = []
        pairs = zip(ours.answers, theirs.answers, ours.reviews, theirs.reviews, strict=True)
        for step, (our, their, asked, their_asked) in zip(steps, pairs, strict=True):
            differences = [
                *_differences(our, their, "answer"),
                *_differences(asked, last_try(their_asked), "reviews"),
            ]
            found += [f"{step.method} {step.path} {step.body}: {each}" for each in differences]
        return ours, found

    def delete(self, where: str) -> None:
        """Delete something of both."""
        for plane in self._planes:
            plane.admin("DELETE", where)

    def same(self, steps: Sequence[Step]) -> Heard:
        """What was heard of both; fails if they differ."""
        heard, found = self.hold(steps)
        assert not found, "\n".join(found)
        return heard

    def same_each(self, conversations: Mapping[str, Sequence[Step]]) -> dict[str, Heard]:
        """What was heard in several conversations; fails if one differs."""
        held = {name: self.hold(steps) for name, steps in conversations.items()}
        found = [f"{name}: {each}" for name, (_, several) in held.items() for each in several]
        assert not found, "\n".join(found)
        return {name: heard for name, (heard, _) in held.items()}


def _seen(call: Any) -> Any:
    """A review without what differs on purpose."""
    target, review = call
    request = review["request"]
    obj = request.get("object") or {}
    if request["operation"] == "CREATE" and obj.get("apiVersion") != "GROUP/v1":
        obj.pop("status", None)  # what has no values is left out, and strategies run after mutating webhooks
    if request["resource"]["resource"] in {"customresourcedefinitions", "namespaces"}:
        (request["options"] or {}).pop("preconditions", None)  # the uid that was found
    if request.get("subResource") == "token":
        request["object"] = None  # there, validating webhooks see what will be answered, but for the token
    return target, review


def only(case: str, **members: Any) -> Obj:
    """A webhook that is asked about objects with a label of this value."""
    return hook(members.pop("answer", case), objectSelector={"matchLabels": {"case": case}}, **members)


def labelled(name: str, **members: Any) -> Step:
    """A new custom resource with that label."""
    return posted(labels={"case": name}, tables=3, **members)


# -- custom resources


def test_reviews_of_a_custom_resource(both: Both) -> None:
    hooks = [hook("allow", rule=EVERYTHING)]
    both.configure(hooks, hooks)
    heard = both.same(LIFE)
    assert [status for status, *_ in heard.answers] == [201, 422, 200, 200, 200, 200, 201, 200]
    # A PUT without a resourceVersion is refused after its mutating webhooks, and before its validating ones.
    assert [len(each) for each in heard.reviews] == [2, 1, 2, 2, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("kind", "answers"), [("mutating", [*ALLOWED, *REFUSED, *WRONG]), ("validating", list(REFUSED))], ids=CONFIGURATIONS
)
def test_each_answer_about_a_custom_resource(kind: str, answers: list[str], both: Both) -> None:
    both.configure(**{kind: [only(each) for each in answers]})
    heard = both.same_each({each: [labelled(each)] for each in answers})
    assert heard["deny"].answers[0][0] == 400


def test_match_conditions_of_a_custom_resource(both: Both) -> None:
    hooks = [
        only(
            name, answer="deny", matchConditions=[{"name": "condition", "expression": text.replace("cafe-admin", USER)}]
        )
        for name, text in CONDITIONS.items()
    ]
    both.configure(validating=[{**each, "name": f"c{place}.webhook.test"} for place, each in enumerate(hooks)])
    heard = both.same_each({name: [labelled(name)] for name in CONDITIONS})
    assert heard["true"].answers[0][0] == 400
    assert heard["false"].answers[0][0] == 201


@pytest.mark.parametrize("policy", ["Exact", "Equivalent"])
def test_rules_of_a_custom_resource(policy: str, both: Both) -> None:
    hooks = [
        {**only(name, answer="allow", rule=rule, matchPolicy=policy), "name": f"r{place}.webhook.test"}
        for place, (name, rule) in enumerate(RULES.items())
    ]
    both.configure(hooks, hooks)
    parts = [
        Step("PATCH", path("v2", "/{name}/status"), {"status": {"open": True}}, MERGE),
        Step("PATCH", path(rest="/{name}/scale"), {"spec": {"replicas": 9}}, MERGE),
        Step("PATCH", path("v2", rest="/{name}"), {"spec": {"tables": 9}}, MERGE),
        Step("DELETE", path(rest="/{name}")),
    ]
    both.same_each({name: [labelled(name), *parts] for name in RULES})


def test_changes_in_another_version_and_again(both: Both) -> None:
    again = {"reinvocationPolicy": "IfNeeded"}
    other = {"rule": {"apiVersions": ["v2"]}}
    both.configure([hook("count", **again), hook("patch-label", **other), hook("patch-tables")], [hook("allow")])
    both.same([posted(tables=3), Step("PATCH", path(rest="/{name}"), {"spec": {"tables": 5}}, MERGE)])


def test_a_webhook_that_hangs(both: Both) -> None:
    """It is waited for as long as it says; others are served meanwhile."""
    hooks = [
        only("hang", timeoutSeconds=1, failurePolicy=policy, name=f"{policy.lower()}.webhook.test")
        for policy in ("Fail", "Ignore")
    ]
    both.configure(hooks[1:], hooks[:1])
    both.same_each({"hang": [labelled("hang")], "other": [posted()]})


# -- built-in kinds


def about(resources: str, answer: str = "allow", group: str = "", **members: Any) -> Obj:
    """A webhook of built-in kinds."""
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "resources": resources.split(), **members.pop("rule", {})}
    return hook(answer, rule=rule, **{**OURS, **members})


def thing(kind: str, group: str = "", name: str = "{name}", **body: Any) -> Obj:
    """An object of a built-in kind."""
    api_version = f"{group}/v1" if group else "v1"
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "labels": {"hooked": "yes"}}, **body}


MAPS = f"{CORE}/configmaps"
MAP = thing("ConfigMap", data={"a": "1"})
LABEL = {"metadata": {"labels": {"x": "y"}}}
MAP_LIFE = [
    Step("POST", MAPS, MAP),
    Step("PUT", f"{MAPS}/{{name}}", {**MAP, "data": {"a": "2"}}),
    Step("PATCH", f"{MAPS}/{{name}}", {"data": {"b": "3"}}, MERGE),
    Step("PATCH", f"{MAPS}/{{name}}?fieldManager=me", {"data": {"c": "4"}}, STRATEGIC),
    Step("PATCH", f"{MAPS}/{{name}}", [{"op": "remove", "path": "/data/c"}], "application/json-patch+json"),
    Step("PATCH", f"{MAPS}/{{name}}?fieldManager=me&force=true", {**MAP, "data": {"d": "5"}}, APPLY),
    Step("PATCH", f"{MAPS}/{{name}}-new?fieldManager=me", thing("ConfigMap", name="{name}-new"), APPLY),
    Step("POST", f"{MAPS}?dryRun=All", {**MAP, "metadata": {"generateName": "g-", "labels": {"hooked": "yes"}}}),
    Step("GET", f"{MAPS}/{{name}}"),
    Step("DELETE", f"{MAPS}/{{name}}?propagationPolicy=Background"),
    Step("DELETE", f"{MAPS}?labelSelector=hooked"),
]
NS = "/api/v1/namespaces"
RBAC = "rbac.authorization.k8s.io"
RULE = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
REFERENCE = {"apiGroup": RBAC, "kind": "Role", "name": "{name}"}
DEFINITION = {
    "group": "{name}.hooks.test",
    "names": {"plural": "things", "kind": "Thing"},
    "scope": "Namespaced",
    "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}],
}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TOKEN = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
ROLES = f"/apis/{RBAC}/v1/namespaces/default"
LIVES: dict[str, tuple[Obj, list[Step]]] = {
    "configmaps": (about("configmaps"), MAP_LIFE),
    "namespaces": (
        about("namespaces"),
        [
            Step("POST", NS, thing("Namespace")),
            Step("PATCH", f"{NS}/{{name}}", LABEL, MERGE),
            Step("PUT", f"{NS}/{{name}}", thing("Namespace")),
            Step("DELETE", f"{NS}/{{name}}"),
        ],
    ),
    "status of namespaces": (
        about("namespaces/status namespaces/finalize"),
        [
            Step("POST", NS, thing("Namespace", metadata={"name": "{name}", "labels": {"hooked": "yes"}, "finalizers": ["a.test/b"]})),
            Step("PATCH", f"{NS}/{{name}}/status", LABEL, MERGE),
            Step("PATCH", f"{NS}/{{name}}", {"metadata": {"finalizers": None}}, MERGE),
            Step("DELETE", f"{NS}/{{name}}"),
        ],
    ),
    "secrets": (
        about("secrets"),
        [
            Step("POST", f"{CORE}/secrets", thing("Secret", stringData={"a": "b"})),
            Step("PATCH", f"{CORE}/secrets/{{name}}", {"stringData": {"c": "d"}}, MERGE),
            Step("DELETE", f"{CORE}/secrets/{{name}}"),
        ],
    ),
    "services": (
        about("services services/status"),
        [
            Step("POST", f"{CORE}/services", thing("Service", spec={"type": "ExternalName", "externalName": "a.test"})),
            Step("PATCH", f"{CORE}/services/{{name}}/status", LABEL, MERGE),
            Step("DELETE", f"{CORE}/services/{{name}}"),
        ],
    ),
    "leases": (
        about("leases", group="coordination.k8s.io"),
        [
            Step("POST", LEASES, thing("Lease", "coordination.k8s.io", spec={"holderIdentity": "a"})),
            Step("PATCH", f"{LEASES}/{{name}}", {"spec": {"holderIdentity": "b"}}, MERGE),
            Step("DELETE", f"{LEASES}/{{name}}"),
        ],
    ),
    "roles": (
        about("*", group=RBAC),
        [
            Step("POST", f"{ROLES}/roles", thing("Role", RBAC, rules=[RULE])),
            Step("POST", f"{ROLES}/rolebindings", thing("RoleBinding", RBAC, roleRef=REFERENCE)),
            Step("DELETE", f"{ROLES}/roles/{{name}}"),
            Step("DELETE", f"{ROLES}/rolebindings/{{name}}"),
            Step("POST", f"/apis/{RBAC}/v1/clusterroles", thing("ClusterRole", RBAC, rules=[RULE])),
            Step("DELETE", f"/apis/{RBAC}/v1/clusterroles/{{name}}"),
        ],
    ),
    "definitions": (
        about("customresourcedefinitions", group="apiextensions.k8s.io"),
        [
            Step("POST", DEFINITIONS, thing("CustomResourceDefinition", "apiextensions.k8s.io", "things.{name}.hooks.test", spec=DEFINITION)),
        ],
    ),
    "tokens": (
        about("serviceaccounts/token", objectSelector={}),
        [
            Step("POST", f"{CORE}/serviceaccounts", thing("ServiceAccount")),
            Step("POST", f"{CORE}/serviceaccounts/{{name}}/token", TOKEN),
            Step("DELETE", f"{CORE}/serviceaccounts/{{name}}"),
        ],
    ),
    "reviews": (
        about("selfsubjectaccessreviews", group="authorization.k8s.io", objectSelector={}),
        [
            Step(
                "POST",
                "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                {"spec": {"resourceAttributes": {"verb": "get", "resource": "configmaps"}}},
            )
        ],
    ),
    "configurations, which are exempt": (
        about("*", group="*", objectSelector={"matchLabels": {"exempt": "yes"}}),
        [
            Step("POST", f"{REGISTRATION}/{kind}webhookconfigurations?dryRun=All", {"metadata": {"name": "{name}", "labels": {"exempt": "yes"}}})
            for kind in CONFIGURATIONS
        ],
    ),
}  # fmt: skip


def test_reviews_of_built_in_kinds(both: Both) -> None:
    hooks = [{**about_it, "name": f"l{place}.webhook.test"} for place, (about_it, _) in enumerate(LIVES.values())]
    both.configure(hooks, hooks)
    heard = both.same_each({name: steps for name, (_, steps) in LIVES.items()})
    both.delete(f"{DEFINITIONS}?labelSelector=hooked")
    unasked = {name for name, each in heard.items() if not any(each.reviews)}
    assert unasked == {"configurations, which are exempt"}
    assert [len(each) for each in heard["configmaps"].reviews] == [2, 2, 2, 2, 2, 2, 2, 2, 0, 2, 2]


ABOUT_MAPS = (
    "allow",
    "deny",
    "patch-label",
    "label-once",
    "patch-nothing",
    "patch-missing-path",
    "warn",
    "code-500",
    "closed",
)


def test_answers_about_a_config_map(both: Both) -> None:
    rule = {"apiGroups": [""], "resources": ["configmaps"]}
    fails = [only(each, rule=rule) for each in ABOUT_MAPS]
    ignores = [
        {
            **only(f"ignored-{each}", answer=each, rule=rule, failurePolicy="Ignore"),
            "name": f"ignored-{each}.webhook.test",
        }
        for each in ABOUT_MAPS
    ]
    both.configure([*fails, *ignores], fails[:2])

    def life(case: str) -> list[Step]:
        made = {**MAP, "metadata": {"name": "{name}", "labels": {"case": case}}}
        return [
            Step("POST", MAPS, made),
            Step("PATCH", f"{MAPS}/{{name}}", {"data": {"b": "2"}}, STRATEGIC),
            Step(
                "PATCH",
                f"{MAPS}/{{name}}-applied?fieldManager=me",
                {**made, "metadata": {**made["metadata"], "name": "{name}-applied"}},
                APPLY,
            ),
            Step("DELETE", f"{MAPS}/{{name}}"),
        ]

    both.same_each({case: life(case) for each in ABOUT_MAPS for case in (each, f"ignored-{each}")})


def test_a_namespace_that_goes_is_refused_before_webhooks_are_asked(both: Both) -> None:
    held = {"metadata": {"name": "{name}", "labels": {"hooked": "yes"}, "finalizers": ["a.test/b"]}}
    both.configure([about("configmaps")], [about("configmaps")])
    heard = both.same(
        [
            Step("POST", NS, held),
            Step("DELETE", f"{NS}/{{name}}"),
            Step("POST", f"{NS}/{{name}}/configmaps", MAP),
            Step("POST", f"{NS}/nowhere/configmaps", MAP),
        ]
    )
    assert [len(each) for each in heard.reviews] == [0] * 4
    assert [status for status, *_ in heard.answers] == [201, 200, 403, 404]
