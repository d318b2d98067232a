"""MutatingAdmissionPolicy: the same policies for a custom resource of kube-apiserver's and for the same kind of ours.

Each conversation is held with both. Objects, statuses, texts and warnings have to be the same.
"""

from __future__ import annotations

import base64
import http.client
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from tests.kubernetes import second
from tests.kubernetes.calling import Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer
from tests.kubernetes.menu import OURS, PLURAL, THEIRS, definition
from tests.kubernetes.mutations import (
    CASES,
    DRY,
    HOOKS,
    LABEL,
    LENIENT,
    PARAM,
    REGISTERED,
    Case,
    Step,
    apply,
    path,
    spec,
)
from tests.waiting import until
from tests.webhooks.admission import counted
from tests.webhooks.server import Webhook, certified, serving

pytestmark = pytest.mark.needs("crd")

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{REGISTRATION}/mutatingadmissionpolicies"
BINDINGS = f"{REGISTRATION}/mutatingadmissionpolicybindings"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
READER = "menu-params"
MARKER = "zz-marker"
"""The policy that is registered last, and seen last."""
UID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
GOT = re.compile(r"(?<=, )got (?:[^\"\\]|\\.)*")
"""Go's form of a value, with the fields of its structs."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")

Obj = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    json: Any
    warning: str | None


class Both:
    """Both sides, through one connection to kube-apiserver."""

    def __init__(self, admin: Caller, webhook: Webhook) -> None:
        self._admin = admin
        self.webhook = webhook
        self._connection: http.client.HTTPSConnection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def send(self, method: str, path_: str, body: Any = None, content_type: str = "application/json") -> Answer:
        if self._connection is None:
            self._connection = self._admin.connect()
        content = None if body is None else json.dumps(body).encode()
        self._connection.request(method, path_, content, {"Content-Type": content_type})
        answer = self._connection.getresponse()
        return Answer(answer.status, json.loads(answer.read() or b"{}"), answer.getheader("Warning"))

    def ask(self, group: str, step: Step, policy: str) -> Answer:
        def filled(text: str) -> str:
            return text.replace("{group}", group).replace("{name}", f"{policy}-x").replace("{policy}", policy)

        body = None if step.body is None else json.loads(filled(json.dumps(step.body)))
        return self.send(step.method, filled(step.path), body, step.content_type)

    def play(self, case: Case, group: str, policy: str) -> list[Any]:
        heard = []
        for step in case.steps:
            answer = self.ask(group, step, policy)
            heard.append((answer.status, neutral(answer.json, group), answer.warning))
        if any("dryRun" not in step.path for step in case.steps):
            self.ask(group, Step("DELETE", path(rest="/{name}")), policy)
        return heard


def neutral(value: Any, group: str) -> Any:
    """What was said, without what differs from one server to another."""
    text = json.dumps(value).replace(group, "GROUP")
    return _plain(json.loads(GOT.sub("got VALUE", UID.sub("UID", TIME.sub("TIME", text)))))


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    made = {key: _plain(each) for key, each in value.items()}
    made.pop("managedFields", None)  # the names of their managers and the times of their versions differ
    if "generateName" in made:
        made.pop("name", None)
    if "resourceVersion" in made:
        made["resourceVersion"] = "RV"
    return made


def _prerequisites() -> Iterator[tuple[str, Obj]]:
    for text in ("one", "two"):
        metadata = {"name": f"menu-{text}", "labels": {"menu": "yes"}}
        yield LEASES, {**PARAM, "metadata": metadata, "spec": {"holderIdentity": text}}
    api, group = "rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io"
    rules = [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list", "watch"]}]
    yield (
        f"{RBAC}/clusterroles",
        {"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": READER}, "rules": rules},
    )
    binding = {
        "apiVersion": api,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": READER},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": READER},
        "subjects": [{"kind": "Group", "apiGroup": group, "name": "system:serviceaccounts"}],
    }
    yield f"{RBAC}/clusterrolebindings", binding


def _webhooks(webhook: Webhook, ca: bytes) -> Obj:
    """One for each reinvocation policy and the objects of the cases that are named after it."""
    rule = {"operations": ["*"], "apiGroups": [OURS, THEIRS], "apiVersions": ["*"], "resources": [PLURAL]}
    made = [
        {
            "name": f"{again.lower()}.menu.test",
            "clientConfig": {"url": webhook.url("count"), "caBundle": base64.b64encode(ca).decode()},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "reinvocationPolicy": again,
            "objectSelector": {
                "matchExpressions": [
                    {
                        "key": LABEL,
                        "operator": "In",
                        "values": [f"hook-{policy}-{hook}".lower() for policy, hook in HOOKS if hook == again],
                    }
                ]
            },
        }
        for again in ("Never", "IfNeeded")
    ]
    kind = "MutatingWebhookConfiguration"
    api = "admissionregistration.k8s.io/v1"
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "menu"}, "webhooks": made}


def _registered(webhooks: Obj) -> Iterator[tuple[str, Obj]]:
    yield from _prerequisites()
    yield f"{REGISTRATION}/mutatingwebhookconfigurations", webhooks
    for name, case in {**CASES, MARKER: Case([apply(spec("title: 'marked'"))], [DRY])}.items():
        policies, bindings = case.registered(name)
        yield from ((POLICIES, each) for each in policies)
        yield from ((BINDINGS, each) for each in bindings)


@pytest.fixture(scope="module")
def both(
    control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Both]:
    directory = tmp_path_factory.mktemp("menus")
    client, keys, certificates = control_plane.client, control_plane.certificates, certified()
    made = definition()
    client.apply(f"{DEFINITIONS}/{made['metadata']['name']}", made)
    signed = user_certificate(authority(keys, "cluster-ca"), "menu-admin", "system:masters")
    admin = Caller(control_plane.cluster.port, tls_of(keys.certificate("cluster-ca"), signed, directory))
    with (
        serving({"count": counted}, certificates.context(directory)) as webhook,
        second.running(control_plane, "tests.kubernetes.menu:api", directory, "memory:"),
    ):
        found, registered = Both(admin, webhook), list(_registered(_webhooks(webhook, certificates.ca.pem)))
        try:
            for where, each in registered:
                answer = found.send("POST", where, each)
                assert answer.status == 201, answer.json
            for group in (OURS, THEIRS):
                until(partial(_marked, found, group))
            yield found
        finally:
            for where in (BINDINGS, POLICIES):
                found.send("DELETE", f"{where}?labelSelector={REGISTERED}")
            for where, each in registered:
                if where not in {BINDINGS, POLICIES}:
                    found.send("DELETE", f"{where}/{each['metadata']['name']}")
            found.send("DELETE", f"{DEFINITIONS}/{made['metadata']['name']}")
            found.close()


def _marked(both: Both, group: str) -> bool:
    answer = both.ask(group, DRY, MARKER)
    return bool(answer.status == 201 and answer.json["spec"].get("title") == "marked")


@pytest.mark.parametrize("name", [each for each in CASES if not each.startswith(("hook-", "lenient-"))])
def test_pairs(name: str, both: Both) -> None:
    case = CASES[name]
    theirs, ours = both.play(case, THEIRS, name), both.play(case, OURS, name)
    for step, their, our in zip(case.steps, theirs, ours, strict=True):
        assert our == their, f"{step}\nours:   {our}\ntheirs: {their}"


@pytest.mark.parametrize("name", LENIENT)
def test_lists_and_maps_inside_of_others(name: str, both: Both) -> None:
    case = CASES[f"lenient-{name}"]
    assert [each[0] for each in both.play(case, THEIRS, f"lenient-{name}")] == [403]
    assert [each[0] for each in both.play(case, OURS, f"lenient-{name}")] == [201]


@pytest.mark.parametrize(("policy", "hook"), HOOKS)
def test_webhooks_after_policies(policy: str, hook: str, both: Both) -> None:
    """Who is asked once more sees what the others have changed."""
    name = f"hook-{policy}-{hook}".lower()
    heard = []
    for group in (THEIRS, OURS):
        both.webhook.calls.clear()
        answers = both.play(CASES[name], group, name)
        heard.append((answers, [each.review["request"]["object"]["spec"] for each in both.webhook.calls]))
    assert heard[1] == heard[0]
