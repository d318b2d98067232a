"""Policies on both control planes: what type checking says of them, who may write which, and what becomes of writes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from tests.kubernetes.calling import Answer, Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, running
from tests.kubernetes.policytypes import DEFINITION, GROUP, POLICIES, policy
from tests.waiting import until

pytestmark = pytest.mark.needs("crd")  # the one that is there is kube-apiserver, the other is started here

BASE = "/apis/admissionregistration.k8s.io/v1"
PATH = f"{BASE}/validatingadmissionpolicies"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
AUTHOR = "policy-author"
Both = Callable[..., tuple[Answer, Answer]]


@pytest.fixture(scope="module")
def planes(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ControlPlane, ControlPlane]]:
    """The built-in control plane and kube-apiserver, both running."""
    with running(tmp_path_factory.mktemp("builtin"), "builtin") as builtin:
        yield builtin, control_plane


def _asking(planes: tuple[ControlPlane, ControlPlane], directory: Any, user: str, *groups: str) -> Both:
    callers = []
    for plane in planes:
        signed = user_certificate(authority(plane.certificates, "cluster-ca"), user, *groups)
        callers.append(
            Caller(plane.cluster.port, tls_of(plane.certificates.certificate("cluster-ca"), signed, directory))
        )

    def both(method: str, path: str, body: Any = None) -> tuple[Answer, Answer]:
        form = "application/json-patch+json" if method == "PATCH" else "application/json"
        ours, theirs = (caller(method, path, body, content_type=form) for caller in callers)
        return ours, theirs

    return both


@pytest.fixture(scope="module")
def admin(planes: tuple[ControlPlane, ControlPlane], tmp_path_factory: pytest.TempPathFactory) -> Both:
    """Ask both, as administrator; the built-in one first."""
    return _asking(planes, tmp_path_factory.mktemp("admin"), "e2e-admin", "system:masters")


@pytest.fixture(scope="module")
def statuses(admin: Both) -> Iterator[dict[str, tuple[Any, Any]]]:
    """The status of each policy on both, once its types are checked."""
    name = DEFINITION["metadata"]["name"]
    admin("POST", DEFINITIONS, DEFINITION)
    for version in ("v1", "v1beta1"):
        document = f"/openapi/v3/apis/{GROUP}/{version}"
        until(partial(_there, admin, document))
    for obj in POLICIES:
        assert [answer.status for answer in admin("POST", PATH, obj)] == [201, 201]
    yield {obj["metadata"]["name"].partition(".")[0]: _status(admin, obj["metadata"]["name"]) for obj in POLICIES}
    for obj in POLICIES:
        admin("DELETE", f"{PATH}/{obj['metadata']['name']}")
    admin("DELETE", f"{DEFINITIONS}/{name}")


def _there(admin: Both, path: str) -> bool | None:
    return all(answer.status == 200 for answer in admin("GET", path)) or None


def _status(admin: Both, name: str) -> tuple[Any, Any]:
    def checked() -> list[Any] | None:
        found = [json.loads(answer.body)["status"] for answer in admin("GET", f"{PATH}/{name}")]
        return found if all(each.get("observedGeneration") for each in found) else None

    ours, theirs = until(checked)
    return ours, theirs


def _neutral(status: Any) -> Any:
    """Without the nanoseconds at the end of the names of types."""
    return json.loads(re.sub(r"\b([A-Z]\w*?[A-Za-z])\d{1,9}\b", r"\1#", json.dumps(status)))


@pytest.mark.parametrize("name", [obj["metadata"]["name"].partition(".")[0] for obj in POLICIES])
def test_types_are_checked_as_kube_controller_manager_checks_them(
    statuses: dict[str, tuple[Any, Any]], name: str
) -> None:
    ours, theirs = (_neutral(status) for status in statuses[name])
    assert ours == theirs


def test_a_policy_is_checked_again_when_it_changes(admin: Both) -> None:
    obj = policy("again", {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]})
    obj["spec"]["validations"] = [{"expression": "object.nothing == 1"}]
    name = obj["metadata"]["name"]
    admin("POST", PATH, obj)
    try:
        assert all(status["typeChecking"]["expressionWarnings"] for status in _status(admin, name))
        patch = [{"op": "replace", "path": "/spec/validations/0/expression", "value": "object.data.a == 'b'"}]
        changed = admin("PATCH", f"{PATH}/{name}", patch)
        assert [answer.status for answer in changed] == [200, 200]

        def seen() -> bool | None:
            read = [json.loads(answer.body)["status"] for answer in admin("GET", f"{PATH}/{name}")]
            assert read == [{"observedGeneration": 2}] * 2
            return True

        until(seen)
    finally:
        admin("DELETE", f"{PATH}/{name}")


@pytest.fixture(scope="module")
def author(
    planes: tuple[ControlPlane, ControlPlane], admin: Both, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Both]:
    """Ask both as somebody who may write policies, and read the ConfigMaps of one namespace and all Secrets."""
    named = {"metadata": {"name": AUTHOR}}
    whole = {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["*"]}
    secrets = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}
    maps = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": AUTHOR}
    space = f"{ROLES}/namespaces/default"
    admin("POST", f"{ROLES}/clusterroles", {**named, "rules": [whole, secrets]})
    admin("POST", f"{space}/roles", {**named, "rules": [maps]})
    for path, kind in ((ROLES, "ClusterRole"), (space, "Role")):
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": AUTHOR}
        admin("POST", f"{path}/{kind.lower()}bindings", {**named, "subjects": [subject], "roleRef": reference})
    for kind in ("Validating", "Mutating"):
        for short, params in (("maps", "ConfigMap"), ("secrets", "Secret"), ("nothing", "Nothing"), ("none", "")):
            made = admin("POST", f"{BASE}/{kind.lower()}admissionpolicies", _policy(kind, short, params))
            assert [answer.status for answer in made] == [201, 201], made
    asking = _asking(planes, tmp_path_factory.mktemp("author"), AUTHOR)
    dry = f"{PATH}?dryRun=All"
    until(lambda: all(each.status == 201 for each in asking("POST", dry, _policy("Validating", "dry", ""))) or None)
    yield asking
    for kind in ("validating", "mutating"):
        for short in ("maps", "secrets", "nothing", "none"):
            admin("DELETE", f"{BASE}/{kind}admissionpolicies/{short}.access.test")
    for path, kind in ((ROLES, "clusterrole"), (space, "role")):
        admin("DELETE", f"{path}/{kind}bindings/{AUTHOR}")
        admin("DELETE", f"{path}/{kind}s/{AUTHOR}")


def _policy(kind: str, short: str, params: str) -> dict[str, Any]:
    obj = policy("x", {"apiGroups": ["none.test"], "apiVersions": ["v1"], "resources": ["nothings"]})
    spec = obj["spec"]
    if kind == "Validating":
        spec["validations"] = [{"expression": "true"}]
    else:
        patch = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
        spec |= {"mutations": [patch], "reinvocationPolicy": "Never"}
    if params:
        spec["paramKind"] = {"apiVersion": "v1", "kind": params}
    return {**obj, "kind": f"{kind}AdmissionPolicy", "metadata": {"name": f"{short}.access.test"}}


def _binding(kind: str, of: str, **reference: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"policyName": f"{of}.access.test"}
    if reference:
        spec["paramRef"] = {"parameterNotFoundAction": "Deny", **reference}
    if kind == "Validating":
        spec["validationActions"] = ["Deny"]
    return {"metadata": {"name": "new.access.test"}, "spec": spec}


REFERENCES: tuple[dict[str, Any], ...] = (
    {},
    {"name": "a"},
    {"name": "a", "namespace": "default"},
    {"selector": {}},
    {"selector": {}, "namespace": "default"},
)


@pytest.mark.parametrize("kind", ["Validating", "Mutating"])
def test_who_writes_policies_has_to_be_allowed_to_read_their_params(author: Both, kind: str) -> None:
    path, dry = f"{BASE}/{kind.lower()}admissionpolicies", "?dryRun=All"
    asked = [
        ("POST", f"{path}{dry}", _policy(kind, "new", params)) for params in ("ConfigMap", "Secret", "Nothing", "")
    ]
    asked += [
        ("POST", f"{BASE}/{kind.lower()}admissionpolicybindings{dry}", _binding(kind, name, **reference))
        for name in ("maps", "secrets", "nothing", "none", "missing")
        for reference in REFERENCES
    ]
    answers = [author(*each) for each in asked]
    ours, theirs = ([_told(answer) for answer in side] for side in zip(*answers, strict=True))
    assert ours == theirs
    assert {status for status, _ in ours} == {201, 422}


def _told(answer: Answer) -> tuple[int, Any]:
    """Status and message, without the hash of the certificate."""
    found = json.loads(answer.body)
    return answer.status, re.sub(r"X509SHA256=[0-9a-f]+", "X509SHA256=#", found.get("message", ""))


MADE = "/api/v1/namespaces/default/configmaps"
BAKED = f"/apis/{GROUP}/v1/namespaces/default/ovens"
KEPT: dict[str, Any] = {
    "apiGroups": ["", GROUP],
    "apiVersions": ["v1"],
    "resources": ["configmaps", "ovens"],
    "operations": ["CREATE", "UPDATE", "DELETE"],
}
MARKED = {"matchLabels": {"kept": "yes"}}
"""Only objects with this label, for others write at the same time."""
EXPRESSION = (
    "Object{metadata: Object.metadata{annotations: {'heat': has(object.spec) ? string(object.spec.heat) : 'none'}}}"
)
RULES: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "validating",
        {
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "variables": [{"name": "bad", "expression": "object.metadata.name.startsWith(params.data.start)"}],
            "validations": [
                {
                    "expression": "request.operation == 'DELETE' || !variables.bad",
                    "messageExpression": "object.metadata.name + ' is bad, says ' + request.userInfo.username",
                    "reason": "Forbidden",
                },
                {
                    "expression": "oldObject == null || request.operation != 'DELETE' || oldObject.metadata.name != 'stays'"
                },
            ],
        },
    ),
    (
        "validating",
        {
            "matchConditions": [{"name": "baked", "expression": "request.resource.resource == 'ovens'"}],
            "validations": [{"expression": "object == null || object.spec.heat < 300", "message": "too hot"}],
        },
    ),
    (
        "mutating",
        {
            "reinvocationPolicy": "IfNeeded",
            "mutations": [
                {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": EXPRESSION}},
                {
                    "patchType": "JSONPatch",
                    "jsonPatch": {
                        "expression": "[JSONPatch{op: 'add', path: '/metadata/labels/patched', value: 'yes'}]"
                    },
                },
            ],
        },
    ),
)


def _registered(number: int, kind: str, spec: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """A policy and its binding, with the paths of their collections."""
    name, rule = f"kept-{number}.{GROUP}", KEPT
    if kind == "mutating":
        rule = {**KEPT, "operations": ["CREATE", "UPDATE"]}
    whole = {"matchConstraints": {"resourceRules": [rule], "objectSelector": MARKED}, **spec}
    yield f"{BASE}/{kind}admissionpolicies", {"metadata": {"name": name}, "spec": whole}
    binding: dict[str, Any] = {"policyName": name}
    if "paramKind" in spec:
        binding["paramRef"] = {"name": "kept-params", "namespace": "default", "parameterNotFoundAction": "Deny"}
    if kind == "validating":
        binding["validationActions"] = ["Deny", "Audit"] if number == 0 else ["Warn"]
    yield f"{BASE}/{kind}admissionpolicybindings", {"metadata": {"name": name}, "spec": binding}


@pytest.fixture
def kept(admin: Both, statuses: object) -> Iterator[None]:
    """Policies about ConfigMaps and ovens, of which both control planes know."""
    del statuses  # they come with the definition of ovens
    admin("POST", MADE, {"metadata": {"name": "kept-params"}, "data": {"start": "evil"}})
    made = [each for number, (kind, spec) in enumerate(RULES) for each in _registered(number, kind, spec)]
    for path, obj in made:
        assert [answer.status for answer in admin("POST", path, obj)] == [201, 201]
    until(partial(_are_kept, admin))
    yield
    for path, obj in reversed(made):
        admin("DELETE", f"{path}/{obj['metadata']['name']}")
    admin("DELETE", f"{MADE}/kept-params")


def _are_kept(admin: Both) -> bool:
    """Whether all policies are kept by both."""
    obj = {"metadata": {"name": "evil-probe", "labels": {"kept": "yes"}}, "spec": {"heat": 400}}
    refused = all(answer.status == 403 for answer in admin("POST", f"{BAKED}?dryRun=All", {**OVEN, **obj}))
    obj["metadata"] = {"name": "probe", "labels": {"kept": "yes"}}
    made = admin("POST", f"{BAKED}?dryRun=All", {**OVEN, **obj})
    return refused and all(answer.headers.get("Warning") and b"patched" in answer.body for answer in made)


OVEN = {"apiVersion": f"{GROUP}/v1", "kind": "Oven"}


def _marked(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"kept": "yes"}}, **more}


WRITES: tuple[tuple[str, str, Any], ...] = (
    ("POST", MADE, _marked("evil-map")),
    ("POST", MADE, {"metadata": {"name": "evil-unmarked"}}),
    ("POST", MADE, _marked("good-map", data={"a": "b"})),
    ("PATCH", f"{MADE}/good-map", [{"op": "add", "path": "/data/c", "value": "d"}]),
    ("POST", BAKED, {**OVEN, **_marked("evil", spec={"heat": 1})}),
    ("POST", BAKED, {**OVEN, **_marked("hot", spec={"heat": 400})}),
    ("POST", BAKED, {**OVEN, **_marked("stays", spec={"heat": 100})}),
    ("PATCH", f"{BAKED}/stays", [{"op": "replace", "path": "/spec/heat", "value": 500}]),
    ("PATCH", f"{BAKED}/stays", [{"op": "replace", "path": "/metadata/labels", "value": {}}]),
    ("PATCH", f"{BAKED}/stays", [{"op": "add", "path": "/metadata/labels", "value": {"kept": "yes"}}]),
    ("DELETE", f"{BAKED}/stays", None),
    ("DELETE", f"{BAKED}/hot", None),
    ("DELETE", BAKED, None),
    ("DELETE", f"{MADE}/evil-unmarked", None),
    ("DELETE", f"{MADE}/good-map", None),
    ("PATCH", f"{BAKED}/stays", [{"op": "remove", "path": "/metadata/labels"}]),
    ("DELETE", f"{BAKED}/stays", None),
)


def test_policies_are_kept_for_own_kinds_and_custom_resources(admin: Both, kept: None) -> None:
    del kept
    for write in WRITES:
        ours, theirs = (_becomes(answer) for answer in admin(*write))
        assert ours == theirs, write


def _becomes(answer: Answer) -> Any:
    """What became of a write: status, refusal and warnings, and what policies make of an object."""
    found = json.loads(answer.body)
    details = {key: value for key, value in found.get("details", {}).items() if key != "uid"}
    metadata = {key: found.get("metadata", {}).get(key) for key in ("labels", "annotations")}
    told = [found.get(key) for key in ("status", "reason", "message") if isinstance(found.get(key), str)]
    return answer.status, told, details, metadata, found.get("spec"), answer.headers.get("Warning")
