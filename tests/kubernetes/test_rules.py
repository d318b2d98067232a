"""Rules with kubectl: the patterns of immutability, and what a user is told; word by word as of a custom resource.

Kubernetes 1.36 prints the value that broke a rule if it is a scalar, where older ones printed its type.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from extapi.schema.check import check
from extapi.schema.structural import from_openapi
from tests.kubernetes import second
from tests.kubernetes.calling import Caller
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer, Kubectl
from tests.kubernetes.rulekinds import KINDS, OURS, THEIRS, definition, definitions
from tests.waiting import until

CREATED, CONFIGURED = "created", "configured"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="module")
def groups(
    control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, ...]]:
    """The groups with the kinds: ours, and, where there are any, that of custom resources."""
    found = (OURS, THEIRS) if control_plane.has("crd") else (OURS,)
    if THEIRS in found:
        for each in definitions():
            control_plane.client.apply(f"{CRDS}/{each['metadata']['name']}", each)
    directory = tmp_path_factory.mktemp("rules")
    with second.running(control_plane, "tests.kubernetes.rulekinds:api", directory, "memory:"):
        for group in found:
            for kind in KINDS:
                until(partial(_served, control_plane, f"/apis/{group}/v1/{kind.plural}"))
        until(lambda: all(f"apis/{group}/v1" in _published(control_plane) for group in found))
        yield found
    if THEIRS in found:
        for each in definitions():
            control_plane.client.delete(f"{CRDS}/{each['metadata']['name']}")


def _served(control_plane: ControlPlane, path: str) -> bool:
    return control_plane.client.problem(path) is None


def _published(control_plane: ControlPlane) -> Any:
    return json.loads(control_plane.client.request("GET", "/openapi/v3"))["paths"]


UNCHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation"
)
REQUIRED = "<nil>: Invalid value: Value is required once set"
KEYS = "values: Invalid value: Keys may not be removed and their values must stay the same"
ADDED = "value: Invalid value: Values may only be added"
SPEC = {"minReplicas": 0, "replicas": 5, "maxReplicas": 10}
ONE, TWO = (
    {"name": f"container{number}", "image": image} for number, image in ((1, "nginx/nginx"), (2, "mongodb/mongodb"))
)


def toppings(*quantities: int) -> dict[str, Any]:
    """A pizza with so many of each topping."""
    return {"spec": {"toppings": [{"name": f"t{number}", "quantity": each} for number, each in enumerate(quantities)]}}


CONVERSATIONS: dict[str, tuple[str, list[tuple[dict[str, Any], list[str]]]]] = {
    "immutable since the first write": (
        "ImmutableSinceFirstWrite",
        [
            ({}, [CREATED]),
            ({"value": "Hello, world!"}, [CONFIGURED]),
            ({"value": "Hello, new world!"}, ['value: Invalid value: "Hello, new world!": Value is immutable']),
            ({}, [REQUIRED]),
        ],
    ),
    "immutable since the creation": (
        "ImmutableSinceCreation",
        [
            ({}, ["value: Required value", UNCHECKED]),
            ({"value": "Hello, world!"}, [CREATED]),
            ({"value": "Hello, new world!"}, ['value: Invalid value: "Hello, new world!": Value is immutable']),
            ({}, ["value: Required value", UNCHECKED]),
        ],
    ),
    "a list that only grows": (
        "AppendOnlyList",
        [
            ({"value": [ONE]}, [CREATED]),
            ({"value": [ONE, TWO]}, [CONFIGURED]),
            ({"value": [TWO, ONE]}, [CONFIGURED]),
            ({"value": [ONE]}, [ADDED]),
            ({}, [REQUIRED]),
        ],
    ),
    "a map whose keys stay": (
        "MapAppendOnlyKeys",
        [
            ({"values": {"key1": "value1"}}, [CREATED]),
            ({"values": {"key1": "value1", "key2": "value2"}}, [CONFIGURED]),
            ({"values": {"key1": "value1"}}, [KEYS]),
            ({"values": {"key1": "value1", "key2": "other"}}, [KEYS]),
            ({}, [REQUIRED]),
        ],
    ),
    "rules about several fields": (
        "Timetable",
        [
            (
                {"spec": {**SPEC, "replicas": 20}},
                ["spec: Invalid value: replicas should be smaller than or equal to maxReplicas."],
            ),
            (
                {"spec": {**SPEC, "replicas": -1}},
                ["spec: Invalid value: replicas should be greater than or equal to minReplicas."],
            ),
            (
                {"spec": {**SPEC, "states": {}, "health": "bad"}},
                [
                    "spec.states: Required value: failed rule: !has(self.states) || 'Available' in self.states",
                    "spec.health: Invalid value: bad is not ok",
                ],
            ),
            ({"spec": {**SPEC, "left": ["a"], "right": ["b", "a"]}}, ["spec: Invalid value: left and right overlap"]),
            (
                {"spec": {**SPEC, "prefix": "your", "limit": 1000}},
                [
                    "<nil>: Invalid value: failed rule: !has(self.spec.prefix) || self.metadata.name.startsWith(self.spec.prefix)",
                    "spec.limit: Invalid value: 1000: failed rule: self < 1000",
                ],
            ),
            (
                {"spec": {**SPEC, "primary": "a", "envars": [{"name": "MY_ENV", "value": "1"}]}},
                [
                    "spec: Invalid value: primary is not there",
                    (
                        "spec.envars[0]: Invalid value: failed rule: self.name != 'MY_ENV' || "
                        "self.value.matches('^[a-zA-Z]*$')"
                    ),
                ],
            ),
            ({"spec": {**SPEC, "prefix": "my-", "health": "ok!"}}, [CREATED]),
            (
                {"spec": {**SPEC, "level": "high"}},
                ["spec.level: Invalid value: \"high\": cannot transition directly between 'low' and 'high'"],
            ),
            ({"spec": {**SPEC, "level": "medium"}}, [CONFIGURED]),
            ({"spec": {**SPEC, "level": "high"}}, [CONFIGURED]),
        ],
    ),
    "a pizza with too many toppings": (
        "Banquet",
        [
            (
                toppings(100, 100, 100, 100, 100, 1),
                ["spec.toppings: Invalid value: must not be more than 500 toppings together"],
            ),
            (toppings(100, 100, 100, 100, 100), [CREATED]),
            (
                toppings(100, 100, 100, 100, 100, 101),
                [
                    "spec.toppings: Invalid value: must not be more than 500 toppings together",
                    (
                        "spec.toppings[5].quantity: Invalid value: 101: spec.toppings[5].quantity in body should be less than or "
                        "equal to 100"
                    ),
                ],
            ),
        ],
    ),
}


@pytest.mark.parametrize("what", CONVERSATIONS)
def test_a_user_is_told_which_rule_is_broken(
    what: str, groups: tuple[str, ...], kubectl: Kubectl, namespace: str
) -> None:
    kind, steps = CONVERSATIONS[what]
    for group in groups:
        for fields, wanted in steps:
            name = "my-new-object"
            obj = {
                "apiVersion": f"{group}/v1",
                "kind": kind,
                "metadata": {"name": name, "namespace": namespace},
                **fields,
            }
            answer = kubectl.run("apply", "-f", "-", stdin=json.dumps(obj))
            if wanted[0] in {CREATED, CONFIGURED}:
                assert (answer.stderr, answer.stdout) == ("", f"{kind.lower()}.{group}/{name} {wanted[0]}\n")
            else:
                assert sorted(told(answer.stderr, kind, name)) == sorted(wanted), group


def told(text: str, kind: str, name: str) -> list[str]:
    """What kubectl says is wrong, in any order: that of members is random in kube-apiserver."""
    head, _, rest = text.partition(f'The {kind} "{name}" is invalid:')
    assert head in {"", head if "Warning: resource" in head else ""}, text
    return [line.removeprefix("* ").strip() for line in rest.strip().split("\n* ")]


def test_rules_are_published(groups: tuple[str, ...], control_plane: ControlPlane, tmp_path: Path) -> None:
    kubectl = Kubectl(control_plane.kubeconfig, tmp_path)  # which remembers no kinds of other tests with this name
    found = []
    for group in groups:
        document = json.loads(control_plane.client.request("GET", f"/openapi/v3/apis/{group}/v1"))
        (schema,) = (each for name, each in document["components"]["schemas"].items() if name.endswith(".Timetable"))
        spec = schema["properties"]["spec"]
        found.append((schema["x-kubernetes-validations"], spec["x-kubernetes-validations"]))
        assert spec["x-kubernetes-validations"][0] == {
            "rule": "self.minReplicas <= self.replicas",
            "message": "replicas should be greater than or equal to minReplicas.",
        }
        assert "minReplicas" in kubectl("explain", f"timetables.{group}.spec")
        swagger = json.loads(control_plane.client.request("GET", "/openapi/v2"))["definitions"]
        (schema,) = (
            each for name, each in swagger.items() if name.endswith(".Timetable") and group.split(".")[0] in name
        )
        found.append((schema["x-kubernetes-validations"], schema["properties"]["spec"]["x-kubernetes-validations"]))
    assert all(each == found[0] for each in found)


STRING, INTEGER = {"type": "string"}, {"type": "integer"}


def of(field: dict[str, Any], *rules: str | dict[str, Any]) -> dict[str, Any]:
    """The schema of a kind with one field, which has rules."""
    written = [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]
    return {"type": "object", "properties": {"foo": {**field, "x-kubernetes-validations": written}}}


def array(items: dict[str, Any], *rules: str, **more: Any) -> dict[str, Any]:
    written = {"x-kubernetes-validations": [{"rule": rule} for rule in rules]} if rules else {}
    return {"type": "array", "items": {**items, **written}, **more}


REFUSED: dict[str, dict[str, Any]] = {
    "no matching overload": of(INTEGER, "self == true"),
    "no such field": of({"type": "object", "properties": {"a": INTEGER}}, "self.nonExistingField > 0"),
    "argument of a macro": of(STRING, "has(self)"),
    "several mistakes": of(
        STRING, "self.size() == 'a' || nope", "self", {"rule": "self == 'a'", "messageExpression": "1"}
    ),
    "a wrong literal": of(
        STRING, "self.matches('(')", "duration('x') > duration('1h')", "timestamp('x') == timestamp('y')"
    ),
    "no function": of(INTEGER, "math.greatest(self, 2) == 2", "self == 1.0"),
    "contains in all": of(array(STRING), "self.all(x, x.contains('a string'))"),
    "contains in each": {"type": "object", "properties": {"foo": array(STRING, "self.contains('a string')")}},
    "all in all": {"type": "object", "properties": {"foo": array(array(INTEGER), "self.all(x, x == 5)")}},
    "uniqueness": of(array(STRING, maxItems=1000), "self.all(a, self.exists_one(b, a == b))"),
    "a long message": of(INTEGER, {"rule": "self > 0", "messageExpression": "'x is ' + string(self)"}),
    "all together": {
        "type": "object",
        "properties": {
            f"f{number}": array(
                {**STRING, "maxLength": 20}, f"self.contains('{'a' * number}')", maxItems=400_000 + number
            )
            for number in range(45)
        },
    },
    "oldSelf in a list": {"type": "object", "properties": {"foo": array(STRING, "self == oldSelf", maxItems=5)}},
    "optional without oldSelf": of(INTEGER, {"rule": "self > 0", "optionalOldSelf": True}),
    "what is not known": of({"x-kubernetes-preserve-unknown-fields": True}, "self.a > 0"),
    "metadata": {"type": "object", "x-kubernetes-validations": [{"rule": "self.metadata.namespace == 'a'"}]},
    "not written right": of(
        STRING, "", {"rule": "self == 'a'", "message": "a\nb", "reason": "Because", "fieldPath": ".a"}
    ),
    "a default": of({**STRING, "maxLength": 5, "default": "b"}, "self == 'a'"),
}


@pytest.mark.needs("crd")
@pytest.mark.parametrize("what", REFUSED)
def test_a_schema_is_refused_with_the_same_words(what: str, admin: Caller) -> None:
    answer = admin("POST", f"{CRDS}?dryRun=All", definition("things", "Thing", REFUSED[what]))
    assert answer.status == 422
    theirs = sorted(f"{cause['field']}: {cause['message']}" for cause in answer.json["details"]["causes"])
    ours = check(from_openapi(REFUSED[what]), "spec.validation.openAPIV3Schema")
    assert [untyped(error.text()) for error in ours] == [untyped(text) for text in theirs]


def untyped(text: str) -> str:
    """Without the number in the name of a type, which is new each time."""
    head, name, rest = text.partition("selfType")
    return f"{head}{name}{untyped(rest.lstrip('0123456789'))}" if name else text
