"""A cluster's ValidatingAdmissionPolicies: the same ones, kept by kube-apiserver for a custom resource, and by us for the same kind.

Each conversation is held with both. Statuses, texts, reasons and warnings have to be the same.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from extapi.issuing import Signed
from tests.kubernetes import second
from tests.kubernetes.cafe import OURS, PLURAL, THEIRS, definitions
from tests.kubernetes.cafe_steps import Step, cafe, filled, neutral, path
from tests.kubernetes.calling import Answer, Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer
from tests.kubernetes.policies import ACCOUNT, LABEL, LIMIT, LIMIT_GROUP, Case, posted, rule, simple
from tests.kubernetes.policycases import CASES, LIMITS, PARAMS, STEADY, account
from tests.kubernetes.scraping import describe, described, families, known, values
from tests.waiting import until

pytestmark = pytest.mark.needs("crd")

REGISTRATION: Final = "/apis/admissionregistration.k8s.io/v1"
POLICIES, BINDINGS = (f"{REGISTRATION}/validatingadmission{each}" for each in ("policies", "policybindings"))
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
MARKER: Final = "zz-marker"

Obj = dict[str, Any]
_numbers = itertools.count(1)


FAILURE: Final = "validation.policy.admission.k8s.io/validation_failure"
READER: Final = "policy-params-reader"


@dataclass
class Both:
    """Both sides."""

    admin: Caller
    control_plane: ControlPlane
    server: second.SecondServer
    signed: Signed
    directory: Path

    def __post_init__(self) -> None:
        self._connection = self.admin.connect()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def send(self, method: str, path: str, body: bytes | None = None, content_type: str = "application/json") -> Answer:
        """Send a request over the connection that all of them share."""
        self._connection.request(method, path, body, {"Content-Type": content_type} if body is not None else {})
        answer = self._connection.getresponse()
        return Answer(answer.status, dict(answer.getheaders()), answer.read())

    def register(self, name: str, registered: Case) -> None:
        """Register a policy and its bindings."""
        for where, made in [
            (POLICIES, registered.policy(name)),
            *((BINDINGS, each) for each in registered.bound(name)),
        ]:
            answer = self.send("POST", where, json.dumps(made).encode())
            assert answer.status == 201, answer.message

    def remove(self, name: str, registered: Case) -> None:
        """Delete them."""
        for place in range(len(registered.bindings)):
            self.send("DELETE", f"{BINDINGS}/{name}-{place}")
        self.send("DELETE", f"{POLICIES}/{name}")

    def remove_all(self) -> None:
        """Delete all that tests have registered."""
        for each in (BINDINGS, POLICIES):
            self.send("DELETE", f"{each}?labelSelector={LABEL}")

    def marked(self) -> None:
        """Return once both sides know all that has been registered so far."""
        marker = f"{MARKER}-{next(_numbers)}"
        registered = Case(simple("false"))
        self.register(marker, registered)
        try:
            for group in (OURS, THEIRS):
                until(partial(self._denied, group, marker))
        finally:
            self.remove(marker, registered)

    def _denied(self, group: str, marker: str) -> bool:
        return self.ask(group, posted(marker, query="?dryRun=All"), "marked").status == 422

    def ask(self, group: str, step: Step, name: str) -> Answer:
        """Send one request."""
        fill = partial(filled, group=group, name=name)
        body = None if step.body is None else fill(json.dumps(step.body)).encode()
        return self.send(step.method, fill(step.path), body, step.content_type)

    def play(self, steps: list[Step], group: str, name: str) -> list[Any]:
        """Send requests; what was answered."""
        answers = []
        for step in steps:
            answer = self.ask(group, step, name)
            said = [answer.json, answer.headers.get("Warning")]
            answers.append((answer.status, *neutral(said, group, name)))
        self.send("DELETE", filled(path(rest=f"/{name}"), group=group, name=name))
        return answers


@pytest.fixture(scope="module")
def both(
    control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Both]:
    directory = tmp_path_factory.mktemp("policies")
    client, keys = control_plane.client, control_plane.certificates
    definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for made in (*definitions(), LIMITS):
        client.apply(f"{definition}/{made['metadata']['name']}", made)
    signed = user_certificate(authority(keys, "cluster-ca"), "policy-admin", "system:masters")
    admin = Caller(control_plane.cluster.port, tls_of(keys.certificate("cluster-ca"), signed, directory))
    allow_params(control_plane)
    for each in PARAMS:
        metadata = each["metadata"]
        client.apply(f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{metadata['name']}", each)
    with second.running(control_plane, "tests.kubernetes.cafe:api", directory, "memory:") as server:
        until(lambda: client.problem(f"/apis/{LIMIT_GROUP}/v1/limits") is None)
        for version in ("v1", "v2"):
            until(lambda version=version: client.problem(f"/apis/{THEIRS}/{version}/{PLURAL}") is None)  # type: ignore[misc]
        limit = {**LIMIT, "metadata": {"name": "two"}, "most": 2}
        client.apply(f"/apis/{LIMIT_GROUP}/v1/limits/two", limit)
        sides = Both(admin, control_plane, server, signed, directory)
        try:
            for name, registered in CASES.items():
                sides.register(name, registered)
            steady = cafe(tables=4)
            steady["metadata"]["name"] = "steady"
            for group in (OURS, THEIRS):
                assert sides.ask(group, Step("POST", path(), steady), "steady").status == 201
            sides.marked()
            yield sides
        finally:
            sides.remove_all()
            sides.close()
            client.delete(filled(STEADY, group=THEIRS, name=""))
            for each in PARAMS:
                metadata = each["metadata"]
                client.delete(f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{metadata['name']}")
            client.delete(f"{definition}/{LIMITS['metadata']['name']}")
            client.delete(f"{RBAC}/clusterrolebindings/{READER}")
            client.delete(f"{RBAC}/clusterroles/{READER}")


def allow_params(control_plane: ControlPlane) -> None:
    """Let the server read params, as an administrator has to."""
    rules = [
        {"apiGroups": [group], "resources": [resource], "verbs": ["list", "watch"]}
        for group, resource in (("", "serviceaccounts"), (LIMIT_GROUP, "limits"))
    ]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": READER}}
    control_plane.client.apply(f"{RBAC}/clusterroles/{READER}", {**role, "rules": rules})
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": READER},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": READER},
        "subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "system:serviceaccounts"}],
    }
    control_plane.client.apply(f"{RBAC}/clusterrolebindings/{READER}", binding)


@pytest.fixture
def same(both: Both) -> Callable[[list[Step]], list[Any]]:
    """Hold a conversation on both sides; fails if they differ. Returns what was answered."""

    def held(steps: list[Step]) -> list[Any]:
        name = f"p{next(_numbers)}x"
        theirs, ours = both.play(steps, THEIRS, name), both.play(steps, OURS, name)
        for step, their, our in zip(steps, theirs, ours, strict=True):
            assert our == their, f"{step}\nours:   {our}\ntheirs: {their}"
        return ours

    return held


@pytest.mark.parametrize("name", CASES)
def test_each_policy(name: str, same: Callable[[list[Step]], list[Any]]) -> None:
    same(list(CASES[name].steps))


def test_params_that_come_and_go(both: Both, same: Callable[[list[Step]], list[Any]]) -> None:
    """A write waits for nothing but the news."""
    spec = {"paramKind": ACCOUNT, "validations": [rule("object.spec.tables <= int(params.metadata.annotations.most)")]}
    binding = {"paramRef": {"name": "policy-coming", "parameterNotFoundAction": "Deny"}}
    client, where = both.control_plane.client, "/api/v1/namespaces/default/serviceaccounts/policy-coming"
    steps = [posted("coming", tables=4)]
    both.register("coming", Case(spec, [binding]))
    both.marked()

    def settles(status: int, text: str) -> None:
        def known() -> bool:
            answers = [
                both.ask(group, posted("coming", query="?dryRun=All", tables=4), "c") for group in (OURS, THEIRS)
            ]
            return all(answer.status == status and text in str(answer.json) for answer in answers)

        until(known)
        assert same(steps)[0][0] == status

    settles(422, "no params found for policy binding with `Deny` parameterNotFoundAction")
    client.apply(where, account("policy-coming", "3"))
    settles(422, "failed expression: object.spec.tables <= int(params.metadata.annotations.most)")
    client.apply(where, account("policy-coming", "4"))
    settles(201, "")
    client.delete(where)
    settles(422, "no params found")


def test_a_policy_that_changes_and_goes(both: Both, same: Callable[[list[Step]], list[Any]]) -> None:
    steps = [posted("changing", tables=4)]
    made = Case(simple("object.spec.tables < 4"))
    both.register("changing", made)
    both.marked()
    assert same(steps)[0][0] == 422
    changed = Case(simple("object.spec.tables < 5"))
    both.control_plane.client.apply(f"{POLICIES}/changing", changed.policy("changing"))
    both.marked()
    assert same(steps)[0][0] == 201
    both.control_plane.client.apply(f"{POLICIES}/changing", made.policy("changing"))
    both.marked()
    assert same(steps)[0][0] == 422
    both.send("DELETE", f"{BINDINGS}/changing-0")
    both.marked()
    assert same(steps)[0][0] == 201


def test_what_the_server_tells_of_policies(both: Both) -> None:
    """Audit annotations are in the log line of the request, and decisions are counted."""
    both.ask(OURS, posted("actions-audit", query="?dryRun=All", tables=4), "told")
    failure = {
        "message": "first",
        "policy": "actions-audit",
        "binding": "actions-audit-0",
        "expressionIndex": 0,
        "validationActions": ["Audit"],
    }

    def told() -> bool:
        lines = [json.loads(each) for each in both.server.log.read_text().splitlines() if FAILURE in each]
        notes = [each["annotations"][FAILURE] for each in lines if FAILURE in each.get("annotations", {})]
        return any(json.loads(each) == [failure] for each in notes)

    until(told)
    context = tls_of(both.control_plane.certificates.certificate("serving-ca"), both.signed, both.directory)
    counted = families(Caller(both.server.port, context)("GET", "/metrics").body.decode())
    checks = counted["apiserver_validating_admission_policy_check_total"]
    assert describe(checks) == described(known()["apiserver_validating_admission_policy_check_total"])
    labels = {"policy_binding": "actions-audit-0", "error_type": "invalid_error", "enforcement_action": "audit"}
    assert values(checks, policy="actions-audit", **labels) > 0
