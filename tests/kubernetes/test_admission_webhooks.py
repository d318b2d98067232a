"""A cluster's admission webhooks: the same ones, asked by kube-apiserver about a custom resource, and by us about the same kind.

Each conversation is held with both. Statuses, texts, warnings and the reviews that the webhooks get have to be the same.
"""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from tests.kubernetes import policyengines, second
from tests.kubernetes.cafe import OURS, PLURAL, THEIRS, definitions
from tests.kubernetes.cafe_steps import APPLY, MERGE, Step, cafe, filled as filled_in, last_try, neutral, path, posted
from tests.kubernetes.calling import Answer, Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer
from tests.kubernetes.scraping import families
from tests.waiting import until
from tests.webhooks.admission import ALLOWED, BROKEN, EVERY, REFUSED, WRONG, denies
from tests.webhooks.server import Webhook, certified, serving
from tests.webhooks.texts import DIFFERENT, TEXTS

compared = pytest.mark.needs("crd")
"""Of tests that ask much: beside kube-apiserver alone. The others also show that the built-in control plane has configurations for
extension servers, and asks the same of its own custom resources."""

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS = {"mutating": "MutatingWebhookConfiguration", "validating": "ValidatingWebhookConfiguration"}

Obj = dict[str, Any]
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Case:
    """A conversation, and the webhooks that see it."""

    steps: Sequence[Step]
    mutating: Sequence[Obj] = ()
    validating: Sequence[Obj] = ()


def hook(path: str, **members: Any) -> Obj:
    """A webhook; ``rule`` replaces members of its only rule."""
    rule = {
        "operations": ["*"],
        "apiGroups": [OURS, THEIRS],
        "apiVersions": ["*"],
        "resources": [PLURAL],
        **members.pop("rule", {}),
    }
    return {
        "name": f"{path}.webhook.test",
        "path": path,
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "objectSelector": {"matchExpressions": [{"key": kind, "operator": "DoesNotExist"} for kind in CONFIGURATIONS]},
        **members,
    }


@dataclass
class Heard:
    """What came of a conversation on one side."""

    answers: list[Any] = field(default_factory=list)
    reviews: list[Any] = field(default_factory=list)


@dataclass
class Both:
    """Both sides, and the webhooks."""

    admin: Caller
    webhook: Webhook
    ca: bytes
    control_plane: ControlPlane
    direct: Caller
    """The same user at our server itself."""

    def configure(self, case: Case) -> None:
        """Register the webhooks of a case; returns once both sides know them."""
        number = str(next(_numbers))
        for kind, hooks in (("mutating", case.mutating), ("validating", case.validating)):
            marker = hook(
                f"marker-{kind}", objectSelector={"matchLabels": {kind: number}}, rule={"operations": ["CREATE"]}
            )
            made = {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": CONFIGURATIONS[kind],
                "metadata": {"name": "cafe"},
                "webhooks": [self._registered(each) for each in (*hooks, marker)],
            }
            self.control_plane.client.apply(f"{REGISTRATION}/{kind}webhookconfigurations/cafe", made)
        for kind in CONFIGURATIONS:
            for group in (OURS, THEIRS):
                until(partial(self._knows, group, kind, number))
        self.webhook.calls.clear()

    def _registered(self, each: Obj) -> Obj:
        made = {name: value for name, value in each.items() if name != "path"}
        config = {"url": self.webhook.url(each["path"]), "caBundle": base64.b64encode(self.ca).decode()}
        return {"clientConfig": config, **made}

    def _knows(self, group: str, kind: str, number: str) -> bool:
        obj = cafe(labels={kind: number})
        obj["metadata"]["name"] = "marker"
        answer = self.ask(group, Step("POST", path(rest="?dryRun=All"), obj), "marker")
        wanted = f'admission webhook "marker-{kind}.webhook.test" denied the request: here'
        return bool(answer.json.get("message") == wanted)

    def ask(self, group: str, step: Step, name: str) -> Answer:
        filled = partial(filled_in, group=group, name=name)
        body = None if step.body is None else filled(json.dumps(step.body)).encode()
        return self.admin(step.method, filled(step.path), body, content_type=step.content_type)

    def play(self, case: Case, group: str, name: str) -> Heard:
        heard = Heard()
        self.webhook.calls.clear()
        for step in case.steps:
            answer = self.ask(group, step, name)
            body = neutral(answer.json, group, name)
            heard.answers.append(
                (answer.status, body, answer.headers.get("Warning"), answer.headers.get("Retry-After"))
            )
            calls = [(call.target, call.review) for call in self.webhook.calls if _mentions(call.review, group)]
            self.webhook.calls.clear()
            asked = [neutral(each, group, name) for each in calls]
            heard.reviews.append(sorted(last_try(asked) if group == THEIRS else asked, key=_order))
        self.admin("DELETE", filled_in(path(rest=f"/{name}"), group=group, name=name))
        return heard


def _mentions(review: Any, group: str) -> bool:
    """Others write too, and some webhooks want to see everything."""
    return bool(review["request"]["resource"]["group"] == group)


def _order(call: Any) -> str:
    target, review = call
    return f"{target} {json.dumps(review, sort_keys=True)}"


@pytest.fixture(scope="module")
def both(
    control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Both]:
    directory = tmp_path_factory.mktemp("cafes")
    client, keys, certificates = control_plane.client, control_plane.certificates, certified()
    for made in definitions():
        client.apply(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{made['metadata']['name']}", made)
    signed = user_certificate(authority(keys, "cluster-ca"), "cafe-admin", "system:masters")
    admin = Caller(control_plane.cluster.port, tls_of(keys.certificate("cluster-ca"), signed, directory))
    markers = {f"marker-{kind}": denies(message="here") for kind in CONFIGURATIONS}
    with (
        serving({**EVERY, **BROKEN, **policyengines.ANSWERS, **markers}, certificates.context(directory)) as webhook,
        second.running(control_plane, "tests.kubernetes.cafe:api", directory, "memory:") as server,
    ):
        direct = Caller(server.port, tls_of(keys.certificate("serving-ca"), signed, directory))
        for version in ("v1", "v2"):
            until(lambda version=version: client.problem(f"/apis/{THEIRS}/{version}/{PLURAL}") is None)  # type: ignore[misc]
        try:
            yield Both(admin, webhook, certificates.ca.pem, control_plane, direct)
        finally:
            for kind in CONFIGURATIONS:
                client.delete(f"{REGISTRATION}/{kind}webhookconfigurations/cafe")
            # The webhooks of some cases also refuse that the case's object is deleted.
            until(lambda: admin("DELETE", filled_in(path(), group=THEIRS, name="")).status == 200)


@pytest.fixture
def same(both: Both) -> Callable[[Case], Heard]:
    """Hold a conversation on both sides; fails if they differ. Returns what was heard of ours."""

    def held(case: Case) -> Heard:
        both.configure(case)
        name = f"c{next(_numbers)}x"
        theirs, ours = both.play(case, THEIRS, name), both.play(case, OURS, name)
        for step, their, our in zip(case.steps, theirs.answers, ours.answers, strict=True):
            assert our == their, f"{step}\nours:   {our}\ntheirs: {their}"
        for step, their, our in zip(case.steps, theirs.reviews, ours.reviews, strict=True):
            assert our == their, f"{step}\nours:   {our}\ntheirs: {their}"
        return ours

    return held


LIFE = [
    posted(tables=3),
    Step("PUT", path(rest="/{name}"), cafe(tables=5)),
    Step("PATCH", path(rest="/{name}?fieldManager=me"), {"spec": {"notes": ["a"]}}, MERGE),
    Step("PATCH", path("v2", "/{name}/status"), {"status": {"open": True}}, MERGE),
    Step("PATCH", path(rest="/{name}/scale"), {"spec": {"replicas": 9}}, MERGE),
    Step("PATCH", path(rest="/{name}?fieldManager=me&force=true"), cafe(tables=2), APPLY),
    Step("POST", path(rest="?dryRun=All"), {**cafe(), "metadata": {"name": "{name}-dry"}}),
    Step("DELETE", path(rest="/{name}?propagationPolicy=Background")),
]
EVERYTHING = {"resources": [PLURAL, f"{PLURAL}/*"]}


@pytest.mark.parametrize("kind", CONFIGURATIONS)
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_reviews_of_a_life(kind: str, version: str, same: Callable[[Case], Heard]) -> None:
    hooks = [hook("allow", rule=EVERYTHING, admissionReviewVersions=[version])]
    heard = same(Case(LIFE, **{kind: hooks}))
    assert [status for status, *_ in heard.answers] == [201, 422, 200, 200, 200, 200, 201, 200]
    # A PUT without a resourceVersion is refused after its mutating webhooks, and before its validating ones.
    assert [len(each) for each in heard.reviews] == [1, int(kind == "mutating"), 1, 1, 1, 1, 1, 1]


@compared
@pytest.mark.parametrize("answer", [each for each in (*ALLOWED, *REFUSED, *WRONG) if each != "patch-label-type"])
@pytest.mark.parametrize("kind", CONFIGURATIONS)
def test_each_answer(kind: str, answer: str, same: Callable[[Case], Heard]) -> None:
    heard = same(Case([posted(tables=3)], **{kind: [hook(answer)]}))
    allowed = answer in ALLOWED and (kind == "mutating" or not answer.startswith(("patch", "count", "label")))
    lenient = {"patch-nothing", "empty-type"}  # a patch without operations is none
    if answer not in lenient:
        assert (heard.answers[0][0] == 201) is allowed


@compared
def test_a_label_that_is_no_text(both: Both) -> None:
    """A custom resource loses its labels. A kind with types in Go, as ours are, cannot be decoded."""
    both.configure(Case([], [hook("patch-label-type")]))
    step = posted(tables=3)
    assert both.ask(THEIRS, step, "typeless").status == 201
    assert both.ask(OURS, step, "typeless").status == 500
    both.ask(THEIRS, Step("DELETE", path(rest="/{name}")), "typeless")


NO_MARKER = [{"key": kind, "operator": "DoesNotExist"} for kind in CONFIGURATIONS]


def only(expression: str, **members: Any) -> Obj:
    """A webhook with a match condition. Those for the markers do not get so far."""
    return hook("deny", matchConditions=[{"name": "condition", "expression": expression}], **members)


CONDITIONS = {
    "true": "true",
    "false": "false",
    "object": "object.spec.tables == 3",
    "old": "oldObject == null",
    "request": "request.operation == 'CREATE' && request.resource.resource == 'cafes' && !request.dryRun",
    "user": "request.userInfo.username == 'cafe-admin' && 'system:masters' in request.userInfo.groups",
    "names": "request.name == object.metadata.name && request.namespace == 'default'",
    "kinds": "request.kind.kind == 'Cafe' && request.requestKind.version == 'v1'",
    "options": "request.options.kind == 'CreateOptions'",
    "missing": "object.spec.missing == 1",
    "missing-or": "object.spec.missing == 1 || true",
    "missing-and-false": "object.spec.missing == 1 && false",
    "type": "object.spec.tables == 'x'",
    "authorizer": "authorizer.group('').resource('pods').namespace('default').check('get').allowed()",
    "authorizer-twice": "authorizer.path('/a').check('get').allowed() && authorizer.path('/b').check('get').allowed()",
    "request-resource": "authorizer.requestResource.check('delete').allowed()",
    "account": "authorizer.serviceAccount('default', 'nobody').group('').resource('secrets').check('get').allowed()",
    "too-many-checks": "[1, 2, 3].all(i, authorizer.path('/a').check('get').allowed())",
    "dear": "[1, 2, 3, 4, 5, 6, 7, 8, 9].all(a, [1, 2, 3, 4, 5, 6, 7, 8, 9].all(b, [1, 2, 3, 4, 5, 6, 7, 8, 9].all(c, "
    "[1, 2, 3, 4, 5, 6, 7, 8, 9].all(d, [1, 2, 3, 4, 5, 6, 7, 8, 9].all(e, [1, 2, 3, 4, 5, 6, 7, 8, 9].all(f, a + b + c + d > 0))))))",
}


@compared
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
@pytest.mark.parametrize("name", CONDITIONS)
def test_match_conditions(name: str, policy: str, same: Callable[[Case], Heard]) -> None:
    hooks = [only(CONDITIONS[name], failurePolicy=policy)]
    same(Case([posted(tables=3)], hooks))
    same(Case([posted(tables=3)], validating=hooks))


@compared
def test_several_match_conditions(same: Callable[[Case], Heard]) -> None:
    """One that is false outweighs errors; errors are told together."""

    def conditions(*expressions: str) -> Obj:
        found = [{"name": f"c{place}", "expression": each} for place, each in enumerate(expressions)]
        return hook("deny", matchConditions=found)

    missing, other = "object.spec.missing == 1", "object.spec.other == 1"
    for several in ((missing, "false"), (missing, other), ("true", missing), ("true", "true")):
        same(Case([posted(tables=3)], [conditions(*several)]))


RULES: dict[str, Obj] = {
    "group": {"apiGroups": ["other.test"]},
    "any-group": {"apiGroups": ["*"]},
    "version": {"apiVersions": ["v1"]},
    "other-version": {"apiVersions": ["v2"]},
    "unknown-version": {"apiVersions": ["v7"]},
    "operations": {"operations": ["UPDATE", "DELETE"]},
    "status": {"resources": [f"{PLURAL}/status"]},
    "scale": {"resources": [f"{PLURAL}/scale"]},
    "subresources": {"resources": [f"{PLURAL}/*"]},
    "any-status": {"resources": ["*/status"]},
    "namespaced": {"scope": "Namespaced"},
    "cluster": {"scope": "Cluster"},
    "any": {"scope": "*"},
}


@compared
@pytest.mark.parametrize("policy", ["Exact", "Equivalent"])
@pytest.mark.parametrize("rule", RULES)
def test_rules(rule: str, policy: str, same: Callable[[Case], Heard]) -> None:
    hooks = [hook("allow", rule=RULES[rule], matchPolicy=policy)]
    same(Case(LIFE, hooks, hooks))


def test_selectors(same: Callable[[Case], Heard]) -> None:
    def selected(**labels: str) -> Obj:
        return {"objectSelector": {"matchLabels": labels, "matchExpressions": NO_MARKER}}

    steps = [
        posted(labels={"a": "1"}),
        Step("PATCH", path(rest="/{name}"), {"metadata": {"labels": {"a": "2"}}}, MERGE),
        Step("PATCH", path(rest="/{name}"), {"metadata": {"labels": {"b": "2"}}}, MERGE),
        Step("DELETE", path(rest="/{name}")),
    ]
    heard = same(Case(steps, validating=[hook("allow", **selected(a="1"))]))
    assert [len(each) for each in heard.reviews] == [1, 1, 0, 0]
    for name, expected in (("default", 1), ("elsewhere", 0)):
        selector = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}
        heard = same(Case([posted()], [hook("allow", **selector)]))
        assert [len(each) for each in heard.reviews] == [expected]


@compared
def test_a_webhook_sees_what_the_one_before_it_has_changed(same: Callable[[Case], Heard]) -> None:
    labelled = {"objectSelector": {"matchLabels": {"patched": "yes"}}}
    other = {"rule": {"apiVersions": ["v2"]}}
    hooks = [hook("patch-label"), hook("count", **other), hook("allow", **labelled), hook("patch-tables")]
    heard = same(Case([posted(tables=3)], hooks, [hook("allow", **labelled)]))
    assert heard.answers[0][1]["spec"] == {"notes": ["first"], "tables": 7}


@compared
def test_reinvocation(same: Callable[[Case], Heard]) -> None:
    again = {"reinvocationPolicy": "IfNeeded"}
    for hooks in (
        [hook("count", **again), hook("patch-label")],
        [hook("label-once", **again), hook("count", **again), hook("patch-tables")],
        [hook("allow", **again), hook("patch-label", **again)],
        [hook("count"), hook("label-once", **again)],
    ):
        same(Case([posted(tables=3), Step("PATCH", path(rest="/{name}"), {"spec": {"tables": 5}}, MERGE)], hooks))


@compared
def test_dry_run(same: Callable[[Case], Heard]) -> None:
    steps = [posted(query="?dryRun=All", tables=3)]
    for effects in ("None", "NoneOnDryRun"):
        same(Case(steps, [hook("allow", sideEffects=effects)], [hook("allow", sideEffects=effects)]))


@compared
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
@pytest.mark.parametrize("answer", ["hang", "half", "closed", "code-500", "deny", "other-uid", "patch-missing-path"])
def test_failures(answer: str, policy: str, same: Callable[[Case], Heard]) -> None:
    hooks = [hook(answer, failurePolicy=policy, timeoutSeconds=1)]
    same(Case([posted(tables=3)], hooks))
    if answer != "patch-missing-path":
        same(Case([posted(tables=3)], validating=hooks))


@compared
def test_generated_names(same: Callable[[Case], Heard]) -> None:
    obj = cafe()
    obj["metadata"] = {"generateName": "{name}-"}
    heard = same(Case([Step("POST", path(rest="?dryRun=All"), obj)], [hook("patch-label")]))
    ((_, review),) = heard.reviews[0]
    assert "name" not in review["request"]
    assert review["request"]["object"]["metadata"] == {"generateName": "NAME-", "namespace": "default"}


@compared
def test_unreachable(both: Both, same: Callable[[Case], Heard]) -> None:
    same(Case([posted()], [hook("allow", clientConfig={"url": "https://127.0.0.1:1/x"})]))
    service = {"service": {"namespace": "default", "name": "nowhere", "path": "/x"}}
    both.configure(Case([], [hook("allow", clientConfig=service)]))
    for group, why in (
        (OURS, "dial tcp: lookup nowhere.default.svc: no such host"),  # as a server in a pod: its DNS knows Services
        (THEIRS, 'service "nowhere" not found'),
    ):
        text = both.ask(group, posted(), "unreachable").message
        assert text == (
            'Internal error occurred: failed calling webhook "allow.webhook.test": failed to call webhook: '
            f'Post "https://nowhere.default.svc:443/x?timeout=10s": {why}'
        )


COUNTED = [
    *(
        "allow",
        "patch-label",
        "deny",
        "deny-200",
        "deny-code",
        "deny-code-reason",
        "patch-to-list",
        "no-response",
    ),
    *("other-uid", "bad-base64", "patch-no-json", "patch-missing-path", "other-type", "empty", "yaml", "text-code"),
    *("code-500", "code-404", "code-418", "code-403-status", "closed"),
]
FIGURES = "apiserver_admission_webhook_"


@compared
def test_calls_are_counted_alike(both: Both) -> None:
    """Each webhook is asked once about each side's object, which has its label."""
    hooks: dict[str, list[Obj]] = {kind: [] for kind in CONFIGURATIONS}
    asked = []
    for kind, policy in itertools.product(CONFIGURATIONS, ("Fail", "Ignore")):
        for answer in COUNTED:
            which = f"{kind}-{policy.lower()}-{answer}"
            selector = {"matchLabels": {"which": which}}
            hooks[kind].append(
                hook(answer, name=f"{which}.figures.test", failurePolicy=policy, objectSelector=selector)
            )
            asked.append(which)
    both.configure(Case([], hooks["mutating"], hooks["validating"]))
    assert (figures(both.admin), figures(both.direct)) == ({}, {})
    for which, group in itertools.product(asked, (OURS, THEIRS)):
        both.ask(group, posted(query="?dryRun=All", labels={"which": which}, tables=3), "figure")
    theirs = figures(both.admin)
    assert figures(both.direct) == theirs
    assert len({labels for labels in theirs if "rejection_count" in labels[0]}) > len(COUNTED)


def figures(caller: Caller) -> dict[tuple[str, ...], float]:
    """What is counted of the webhooks of this test, by metric and labels; of durations only how many there are."""
    lines = [line for line in caller("GET", "/metrics").body.decode().splitlines() if FIGURES in line]
    found: dict[tuple[str, ...], float] = {}
    for name, family in families("\n".join([*lines, ""])).items():
        for sample in family.samples:
            if ".figures.test" in sample.labels["name"] and sample.name.endswith(("_total", "_count")):
                labels = (f"{key}={value}" for key, value in sorted(sample.labels.items()))
                found[name, sample.name, *labels] = sample.value
    return found


@compared
@pytest.mark.parametrize("answer", BROKEN)
def test_answers_that_are_none(answer: str, both: Both, same: Callable[[Case], Heard]) -> None:
    """The texts are those of conversion webhooks, with their differences: Go and llhttp find different mistakes."""
    both.configure(Case([], validating=[hook(answer)]))
    for group, text in ((THEIRS, TEXTS[answer]), (OURS, DIFFERENT.get(answer, TEXTS[answer]))):
        assert text is not None
        said = text.removeprefix("WEBHOOK failed: ").replace("URL", f"{both.webhook.url(answer)}?timeout=10s")
        assert both.ask(group, posted(), answer).message == (
            f'Internal error occurred: failed calling webhook "{answer}.webhook.test": failed to call webhook: {said}'
        )
    heard = same(Case([posted()], [hook(answer, failurePolicy="Ignore")]))
    assert heard.answers[0][0] == 201


def test_an_expired_certificate(
    both: Both, same: Callable[[Case], Heard], tmp_path_factory: pytest.TempPathFactory
) -> None:
    expired = certified(expired=True)
    with serving(ALLOWED, expired.context(tmp_path_factory.mktemp("expired"))) as webhook:
        config = {"url": webhook.url("allow"), "caBundle": base64.b64encode(expired.ca.pem).decode()}
        heard = same(Case([posted()], [hook("allow", clientConfig=config)]))
        assert not webhook.calls
    assert "certificate has expired or is not yet valid: current time" in heard.answers[0][1]["message"]


ENGINES = {
    "gatekeeper": (policyengines.GATEKEEPER_MUTATING, policyengines.GATEKEEPER_VALIDATING),
    "kyverno": policyengines.kyverno(f"{OURS} {THEIRS}", f"{PLURAL} {PLURAL}/scale {PLURAL}/status"),
}


@pytest.mark.parametrize(("engine", "label"), [("gatekeeper", "assigned"), ("kyverno", "mutated")])
def test_a_life_under_a_policy_engine(engine: str, label: str, same: Callable[[Case], Heard]) -> None:
    refused = {"gatekeeper": 403, "kyverno": 400}[engine]
    bad = Step("PATCH", path("v2", "/{name}?fieldManager=me"), {"metadata": {"labels": {"bad": "1"}}}, MERGE)
    heard = same(Case([*LIFE[:-1], bad, posted("v2", labels={"bad": "1"}), LIFE[-1]], *ENGINES[engine]))
    assert [status for status, *_ in heard.answers] == [201, 422, 200, 200, 200, 200, 201, refused, refused, 200]
    assert heard.answers[0][1]["metadata"]["labels"] == {label: "yes"}
    unasked = {"gatekeeper": [3, 4, 9], "kyverno": []}[engine]  # subresources and deletion
    assert [number for number, each in enumerate(heard.reviews) if not each] == unasked


def test_namespaces_that_policy_engines_leave_out(both: Both, same: Callable[[Case], Heard]) -> None:
    made = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "ignored", "labels": {policyengines.IGNORED: ""}},
    }
    both.control_plane.client.apply("/api/v1/namespaces/ignored", made)
    obj = cafe(labels={"bad": "1"})
    for engine, namespace in (("gatekeeper", "ignored"), ("kyverno", "kube-system")):
        heard = same(
            Case(
                [
                    Step("POST", path(namespace=namespace), obj),
                    Step("DELETE", path(rest="/{name}", namespace=namespace)),
                ],
                *ENGINES[engine],
            )
        )
        assert [status for status, *_ in heard.answers] == [201, 200]
        assert heard.reviews == [[], []]
