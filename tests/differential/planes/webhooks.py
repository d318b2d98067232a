"""Configurations of admission webhooks as objects: every rule of their validation, defaults, patches.

Their rules are about a group that nobody serves, and each conversation deletes what it has made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.differential.cases import Case
from tests.differential.planes.applying import of_each
from tests.differential.planes.common import SOME, all_of
from tests.differential.planes.naming import Steps, named
from tests.differential.planes.samples import PARTIAL, STRATEGIC, TABLE, Sample
from tests.differential.side import Step, apply, delete, get, json_patch, merge, post, put

GROUP = "admissionregistration.k8s.io/v1"
RULE: dict[str, Any] = {
    "operations": ["CREATE"],
    "apiGroups": ["none.test"],
    "apiVersions": ["v1"],
    "resources": ["nothings"],
}
BASE: dict[str, Any] = {
    "name": "a.b.test",
    "clientConfig": {"url": "https://127.0.0.1:1/x"},
    "rules": [RULE],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}


def _sample(kind: str) -> Sample:
    body = {"webhooks": [BASE]}
    path = f"/apis/{GROUP}/{kind.lower()}s"
    return Sample(kind, path, body, {"webhooks": [{**BASE, "failurePolicy": "Ignore"}]}, GROUP)


MUTATING, VALIDATING = _sample("MutatingWebhookConfiguration"), _sample("ValidatingWebhookConfiguration")
KINDS = {"mutating": MUTATING, "validating": VALIDATING}


def hook(**members: Any) -> dict[str, Any]:
    """A webhook that is valid, but for what is given; a member of ``...`` is left out."""
    return {key: value for key, value in {**BASE, **members}.items() if value is not ...}


def ruled(**members: Any) -> dict[str, Any]:
    """A webhook with other members of its only rule."""
    return hook(rules=[{key: value for key, value in {**RULE, **members}.items() if value is not ...}])


def at(**config: Any) -> dict[str, Any]:
    """A webhook with another ``clientConfig``."""
    return hook(clientConfig=config)


def served(**service: Any) -> dict[str, Any]:
    """A webhook of a Service."""
    return at(service={"namespace": "a", "name": "b", **service})


def conditions(*expressions: str, **members: Any) -> dict[str, Any]:
    """A webhook with match conditions."""
    found = [{"name": f"c{number}", "expression": each} for number, each in enumerate(expressions)]
    return hook(matchConditions=found, **members)


def selecting(*expressions: Mapping[str, Any], labels: Any = None, name: str = "objectSelector") -> dict[str, Any]:
    """A webhook with a selector."""
    return hook(**{name: {"matchExpressions": list(expressions), **({"matchLabels": labels} if labels else {})}})


NAMES = ("", "a", "a.b", "A.b.c", "a..c", f"{'a' * 64}.b.c", f"{'a.' * 130}b", "a.b.c", "1.2.3", None)
URLS = (
    *("", "http://a.test", "https://", "https:///x", "https://u:p@a.test", "https://a.test/?q=1", "https://a.test/#f"),
    *(
        "://",
        "https://a b",
        "https://a.test:x",
        "a.test",
        "https://127.0.0.1",
        "https://a.test:8443/x/y",
        "https://[::1",
    ),
    *("https://localhost", "%zz", "https://a.test/%zz", None),
)
PATHS = ("", "/", "//", "a", "/a//b", "/A", "/a/", "/a/b.c", "/a_b", None)
PORTS = (0, -1, 1, 65535, 65536, None)
RESOURCES: tuple[Any, ...] = (
    *([], [""], ["*"], ["*/*"], ["a", "*"], ["*", "a"], ["*", "a/b"], ["*/*", "a"], ["*/*", "*"], ["a/*", "a/b"]),
    *(["*/b", "a/b"], ["a/b", "a/*"], ["a", "a/*"], ["a", "b"], ["a/"], ["/b"], ["a/b/c"], ["a", ""], ["A"], None),
    *(["*", "a", "*"], ["a", "*", "b/c"], ["*", "b/c", "a"]),
)
WORDS: tuple[Any, ...] = ([], [""], ["*"], ["*", "a"], ["a", ""], ["a", "a"], None, ["A_b"])
OPERATIONS: tuple[Any, ...] = (
    *(
        [],
        [""],
        ["*"],
        ["*", "CREATE"],
        ["CREATE", "CREATE"],
        ["create"],
        ["CONNECT", "DELETE", "UPDATE"],
        ["GET"],
        None,
    ),
)
CHOICES: dict[str, tuple[Any, ...]] = {
    "failurePolicy": ("", "Fail", "Ignore", "fail", None),
    "matchPolicy": ("", "Exact", "Equivalent", "exact", None),
    "sideEffects": ("", "None", "NoneOnDryRun", "Some", "Unknown", "none", None, ...),
    "timeoutSeconds": (0, -1, 1, 30, 31, None),
    "reinvocationPolicy": ("", "Never", "IfNeeded", "never", None),
    "admissionReviewVersions": (
        *(
            ...,
            None,
            [],
            ["v1"],
            ["v1beta1"],
            ["v2"],
            ["v1", "v1"],
            ["v1", "V_2"],
            [""],
            ["v2", "v2", "x y"],
            ["v1", "v2"],
        ),
    ),
    "namespaceSelector": (None, {}, {"matchLabels": {"a b": "c"}}, {"nothing": 1}),
    "objectSelector": (None, {}, {"matchLabels": {"a": "c d"}}),
    "clientConfig": (
        ...,
        None,
        {},
        {"nothing": 1},
        {"url": "https://a.test", "service": {"namespace": "a", "name": "b"}},
    ),
    "rules": (..., None, [], [{}], [{}, {}]),
}
EXPRESSIONS: tuple[Any, ...] = (
    *((), ({"key": "a", "operator": "In"},), ({"key": "a", "operator": "In", "values": []},)),
    *(({"key": "a", "operator": "Exists", "values": ["b"]},), ({"key": "a", "operator": "DoesNotExist"},)),
    *(({"key": "a b", "operator": "Exists"},), ({"key": "a", "operator": "in", "values": ["b"]},), ({"key": "a"},)),
    *(({"operator": "Exists"},), ({"key": "a", "operator": "NotIn", "values": ["b c", "-"]},), ({},)),
)
CONDITIONS: tuple[Any, ...] = (
    *("true", "false", "", " ", " true ", "1", "object", "object.a == 1", "oldObject == null", "'a'", "true &&"),
    *(
        "request.operation == 'CREATE'",
        "request.nothing == 1",
        "request.userInfo.groups.exists(g, g == 'a')",
        "nothing",
    ),
    *("request.options.x == 1", "request.dryRun", "request.uid == ''", "request.object == null", "params.a == 1"),
    *(
        "authorizer.path('/a').check('get').allowed()",
        "authorizer.requestResource.check('get').allowed()",
        "variables.a",
    ),
    *("namespaceObject.metadata.name == 'a'", "namespaceObject.nothing == 'a'", "namespaceObject.status.phase == 1"),
    *("namespaceObject.metadata.labels['a'] == 'b'", "namespaceObject.metadata.creationTimestamp > timestamp('x')"),
    *(
        "namespaceObject == null",
        "a.b(",
        "[1, 2].all(x, x > 0)",
        "object.all(x, x)",
        "isURL('a')",
        "semver('1.0.0') == 1",
    ),
    *(
        "quantity('1').isGreaterThan(quantity('2'))",
        "ip('::1').family() == 6",
        "optional.of(1).hasValue()",
        "\n",
        "tru\ne",
    ),
    *(
        "object.metadata.name.matches('(')",
        "sets.contains([1], [1])",
        "format.named('x').hasValue()",
        "{'a': 1}.size() == 1",
    ),
    *(
        "has(object.spec)",
        "has(object)",
        "dyn(1) == 'a'",
        "1 == 'a'",
        "type(object) == map",
        "'\u00e4\U0001f600' == nothing",
    ),
)
CONDITION_NAMES: tuple[Any, ...] = ("", "a b", "a/b", "a.test/b", "A", "a" * 64, None, "-", "a/b/c")

RULES: dict[str, list[dict[str, Any]]] = {
    "names": [hook(name=each) for each in NAMES],
    "without a name": [hook(name=...)],
    "urls": [at(url=each) for each in URLS],
    "services": [at(service={}), at(service={"name": "b"}), at(service={"namespace": "a"}), served(), at(service=None)],
    "paths": [served(path=each) for each in PATHS],
    "ports": [served(port=each) for each in PORTS],
    "certificates": [at(url="https://a.test", caBundle=each) for each in ("", "YQ==", "YQ", "%", "YQ\n==", None)],
    "resources": [ruled(resources=each) for each in RESOURCES],
    "groups": [ruled(apiGroups=each) for each in WORDS],
    "versions": [ruled(apiVersions=each) for each in WORDS],
    "operations": [ruled(operations=each) for each in OPERATIONS],
    "scopes": [ruled(scope=each) for each in ("", "*", "Cluster", "Namespaced", "namespaced", None, ...)],
    **{name: [hook(**{name: each}) for each in values] for name, values in CHOICES.items()},
    "selectors": [selecting(*each) for each in EXPRESSIONS],
    "selectors of namespaces": [selecting(*each, name="namespaceSelector") for each in EXPRESSIONS[-4:]],
    "conditions": [conditions(each) for each in CONDITIONS],
    "names of conditions": [hook(matchConditions=[{"name": each, "expression": "true"}]) for each in CONDITION_NAMES],
    "incomplete conditions": [hook(matchConditions=[each]) for each in ({}, {"name": "a"}, {"expression": "true"})],
    "equal conditions": [hook(matchConditions=[{"name": "a", "expression": "true"}] * 2)],
    "many conditions": [conditions(*["true"] * 64), conditions(*["true"] * 65)],
    "several mistakes": [
        hook(name="a", rules=[{}], failurePolicy="x", matchPolicy="x", sideEffects="x", timeoutSeconds=0,
             clientConfig={}, admissionReviewVersions=[], matchConditions=[{}], reinvocationPolicy="x",
             objectSelector={"matchLabels": {"a b": "c"}}, namespaceSelector={"matchLabels": {"a b": "c"}}),
    ],
    "unknown members": [hook(nothing=1), ruled(nothing=1), at(url="https://a.test", nothing=1)],
}  # fmt: skip


_NO_LISTS: tuple[Any, ...] = ({}, "a", 7)
TYPES: list[Any] = [
    *(
        [],
        "a",
        7,
        hook(name=7),
        at(url=7),
        served(port=2**31),
        served(port="443"),
        at(url="https://a.test", caBundle=7),
    ),
    *(
        ruled(resources=[7]),
        ruled(apiGroups="a"),
        ruled(apiVersions={}),
        hook(failurePolicy=7),
        hook(timeoutSeconds="10"),
    ),
    *(
        hook(timeoutSeconds=1.5),
        hook(timeoutSeconds=2**31),
        hook(namespaceSelector=[]),
        hook(rules={}),
        hook(rules=[7]),
    ),
    *(hook(objectSelector={"matchLabels": {"a": 1}}), hook(matchConditions=[7]), hook(matchConditions={})),
]
"""What Go's decoder refuses."""


def _tried(kind: Sample, hooks: list[Any]) -> Step:
    return post(kind.obj(webhooks=hooks), f"{kind.path}?dryRun=All")


def _validated(kind: Sample) -> dict[str, Steps]:
    return {name: [_tried(kind, [each]) for each in hooks] for name, hooks in RULES.items()}


def _lived(kind: Sample, *steps: Step) -> tuple[Step, ...]:
    """A conversation that leaves nothing behind."""
    return (*steps, _gone(kind))


def _gone(kind: Sample) -> Step:
    return delete(f"{kind.path}?labelSelector=space%3D{{ns}}")


def _lives(kind: Sample) -> dict[str, Steps]:
    one = kind.at("new")

    def made(*hooks: Any, **meta: Any) -> Step:
        return post(kind.obj(meta=meta, webhooks=list(hooks)), kind.path)

    def changed(*hooks: Any) -> Step:
        return merge(one, {"webhooks": list(hooks)})

    second = hook(name="c.d.test")
    return {
        "webhooks at all": [_tried(kind, []), post(kind.obj(webhooks=None), f"{kind.path}?dryRun=All")],
        "wrong types": [
            *(post(kind.obj(webhooks=each), f"{kind.path}?dryRun=All") for each in _NO_LISTS),
            *(_tried(kind, [each]) for each in TYPES),
        ],
        "equal names": [_tried(kind, [BASE, BASE]), _tried(kind, [hook(name=""), hook(name="")])],
        "two": _lived(kind, made(BASE, second), get(one, TABLE), get(one, PARTIAL), get(one), kind.mine("", TABLE)),
        "all members": _lived(
            kind,
            made(
                hook(
                    matchConditions=[{"name": "a.test/b", "expression": "object.spec.x == 1"}],
                    objectSelector={"matchLabels": {"a": "b"}},
                    namespaceSelector={"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "c"]}]},
                    failurePolicy="Ignore", matchPolicy="Exact", timeoutSeconds=3,
                    clientConfig={"service": {"namespace": "a", "name": "b", "path": "/x", "port": 8443}, "caBundle": "YQ=="},
                )
            ),
            get(one),
            get(one, "application/yaml"),
        ),
        "generations": _lived(
            kind,
            made(BASE),
            merge(one, {"metadata": {"labels": {"x": "y"}}}),
            changed(hook(timeoutSeconds=3)),
            changed(hook(timeoutSeconds=3)),
            merge(one, {"metadata": {"generation": 9}}),
        ),
        "a reserved name": [
            post(kind.obj(meta={"name": "a.static.k8s.io"}), f"{kind.path}?dryRun=All"),
            post(kind.obj(meta={"name": "static.k8s.io"}), f"{kind.path}?dryRun=All"),
        ],
        "strategic": _lived(
            kind,
            made(BASE, second),
            merge(one, {"webhooks": [{"name": "c.d.test", "failurePolicy": "Ignore"}]}, STRATEGIC),
            merge(one, {"webhooks": [{"name": "e.f.test"}]}, STRATEGIC),
            merge(one, {"webhooks": [hook(name="e.f.test")]}, STRATEGIC),
            merge(one, {"webhooks": [{"name": "c.d.test", "matchConditions": [{"name": "a", "expression": "true"}]}]}, STRATEGIC),
            merge(one, {"webhooks": [{"name": "c.d.test", "matchConditions": [{"name": "b", "expression": "false"}]}]}, STRATEGIC),
            merge(one, {"webhooks": [{"name": "c.d.test", "matchConditions": [{"name": "a", "$patch": "delete"}]}]}, STRATEGIC),
            merge(one, {"webhooks": [{"name": "a.b.test", "rules": [{**RULE, "operations": ["*"]}]}]}, STRATEGIC),
            merge(one, {"webhooks": [{"name": "a.b.test", "$patch": "delete"}]}, STRATEGIC),
            merge(one, {"$setElementOrder/webhooks": [{"name": "e.f.test"}, {"name": "c.d.test"}]}, STRATEGIC),
            merge(one, {"webhooks": [{"failurePolicy": "Fail"}]}, STRATEGIC),
        ),
        "JSON patches": _lived(
            kind,
            made(BASE),
            json_patch(one, ("replace", "/webhooks/0/clientConfig/caBundle", "YQ==")),
            json_patch(one, ("add", "/webhooks/0/clientConfig/caBundle", "YQ==")),
            json_patch(one, ("remove", "/webhooks/0/rules/0/scope")),
            json_patch(one, ("remove", "/webhooks/0/name")),
        ),
        "applied": _lived(
            kind,
            apply(one, kind.obj()),
            apply(one, kind.obj(webhooks=[second]), "other"),
            apply(one, kind.obj(webhooks=[hook(failurePolicy="Ignore")]), "other"),
            apply(one, kind.obj(webhooks=[hook(failurePolicy="Ignore")]), "other", force=True),
            apply(one, kind.obj(webhooks=[conditions("true", "false")])),
            apply(one, kind.obj(webhooks=[conditions("true")])),
            apply(one, kind.obj(webhooks=[])),
        ),
        "conditions that stay": _lived(
            kind,
            made(conditions("object.a == 1"), second),
            changed(conditions("object.a == 1", timeoutSeconds=3), second),
            changed(conditions("object.a == 1", "nothing"), second),
            changed(conditions("object.a == 1", " object.a == 1 "), second),
            changed(conditions("object.a == 1")),
            changed(second, conditions("nothing")),
        ),
        "updates": _lived(
            kind,
            made(BASE),
            get(one),
            put(one, kind.obj(meta={"resourceVersion": "{rv}"}, webhooks=[hook(sideEffects="Some")])),
            put(one, kind.obj(meta={"resourceVersion": "{rv}"}, webhooks=[hook(admissionReviewVersions=["v2"])])),
            put(one, kind.obj(meta={"resourceVersion": "{rv}"}, webhooks=[BASE, BASE])),
            put(one, kind.obj(webhooks=[BASE])),
            put(one, kind.obj(meta={"resourceVersion": "{rv}"}, webhooks=[])),
        ),
        "status": (get(f"{one}/status"), put(f"{one}/status", kind.obj())),
    }  # fmt: skip


def _topics() -> dict[str, dict[str, Steps]]:
    found: dict[str, dict[str, Steps]] = {}
    for name, kind in KINDS.items():
        found[f"Webhooks, {name}"] = _lives(kind)
        found[f"Webhooks, {name}, rules"] = _validated(kind)
    return found


def _common() -> Iterator[tuple[str, Case]]:
    """What every kind is asked: one kind is read and written, the other applied."""
    for name, case in all_of(MUTATING):
        if SOME.fullmatch(name.partition(": ")[2]):
            yield name, Case((*case.steps, _gone(MUTATING)))
    for name, steps in of_each(VALIDATING).items():
        said = (steps,) if isinstance(steps, Step) else tuple(steps)
        yield f"Apply {VALIDATING.kind}: {name}", Case((*said, _gone(VALIDATING)))


CASES = {**named(_topics()), **dict(_common())}
