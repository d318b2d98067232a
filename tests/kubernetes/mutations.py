"""Pairs of a MutatingAdmissionPolicy and requests: what kube-apiserver makes of a custom resource, we have to make of ours.

All policies are registered at once: each is about the objects that have its name as a label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.kubernetes.menu import OURS, PLURAL, THEIRS

Obj = dict[str, Any]

LABEL: Final = "policy"
REGISTERED: Final = "menu-test"
"""The label of all policies and bindings."""
MERGE: Final = "application/merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"


@dataclass(frozen=True)
class Step:
    """One request; ``{group}``, ``{name}`` and ``{policy}`` in it are those of the side and the case."""

    method: str
    path: str
    body: Any = None
    content_type: str = "application/json"


@dataclass(frozen=True)
class Case:
    """Mutations, and requests about objects that their policies are about."""

    mutations: Sequence[Obj]
    steps: Sequence[Step]
    policy: Obj = field(default_factory=dict)
    """Further members of the policy's spec."""
    bindings: Sequence[Obj] = ({},)
    """The specs of the bindings."""
    rule: Obj = field(default_factory=dict)
    """Replaces members of the policy's only rule."""
    others: Sequence[Obj] = ()
    """The specs of further policies about the same objects."""

    def registered(self, name: str) -> tuple[list[Obj], list[Obj]]:
        """Policies and bindings as they are registered."""
        rule = {
            "operations": ["*"],
            "apiGroups": [OURS, THEIRS],
            "apiVersions": ["*"],
            "resources": [PLURAL],
            **self.rule,
        }
        constraints = {"resourceRules": [rule], "objectSelector": {"matchLabels": {LABEL: name}}}
        policies, bindings = [], []
        for place, spec in enumerate(({"mutations": list(self.mutations), **self.policy}, *self.others)):
            own = f"{name}-{place}"
            full = {"matchConstraints": constraints, "reinvocationPolicy": "Never", **spec}
            policies.append(_registered("MutatingAdmissionPolicy", own, full))
            for index, binding in enumerate(self.bindings):
                bound = {"policyName": own, **binding}
                bindings.append(_registered("MutatingAdmissionPolicyBinding", f"{own}-{index}", bound))
        return policies, bindings


def _registered(kind: str, name: str, spec: Obj) -> Obj:
    metadata = {"name": name, "labels": {REGISTERED: "yes"}}
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def apply(text: str) -> Obj:
    """A mutation by an object."""
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}


def patch(text: str) -> Obj:
    """A mutation by a JSON patch."""
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": text}}


def menu(version: str = "v1", *, metadata: Mapping[str, Any] | None = None, **spec: Any) -> Obj:
    """An object that the policy of the case is about."""
    own = {"name": "{name}", "labels": {LABEL: "{policy}"}, **(metadata or {})}
    return {"apiVersion": f"{{group}}/{version}", "kind": "Menu", "metadata": own, "spec": spec}


def path(version: str = "v1", rest: str = "") -> str:
    """Where requests go."""
    return f"/apis/{{group}}/{version}/namespaces/default/{PLURAL}{rest}"


def posted(version: str = "v1", query: str = "", metadata: Mapping[str, Any] | None = None, **spec: Any) -> Step:
    """A request that makes an object."""
    return Step("POST", path(version, query), menu(version, metadata=metadata, **spec))


def merged(rest: str = "", version: str = "v1", **members: Any) -> Step:
    """A request that changes it."""
    return Step("PATCH", path(version, f"/{{name}}{rest}"), members, MERGE)


FULL: Final[Obj] = {
    "tables": 3,
    "ratio": 1.5,
    "title": "a/b~c",
    "notes": ["x", "y"],
    "tags": ["b", "a"],
    "dishes": [{"name": "soup", "price": 3, "hints": {"hot": "yes"}}, {"name": "fish"}],
    "point": {"x": 1, "y": 2},
    "words": {"k": "v", "a/b": "c~d"},
    "free": {"list": [1, {"two": [2]}], "map": {"n": None, "s": "t"}},
}


def spec(fields: str) -> str:
    """The text of an object with these fields of ``spec``."""
    return f"Object{{spec: Object.spec{{{fields}}}}}"


APPLIED: Final = {
    "nothing": "Object{}",
    "empty-spec": "Object{spec: Object.spec{}}",
    "scalar": spec("tables: 7"),
    "scalars": spec("tables: 7, ratio: 2.5, title: 'new', open: true"),
    "whole-double": spec("ratio: 2.0"),
    "int-for-double": spec("ratio: 2"),
    "double-for-int": spec("dishes: [Object.spec.dishes{name: 'x', price: 7.0}]"),
    "large-int": spec("free: Object.spec.free{n: 9007199254740993}"),
    "uint": spec("tables: 7u"),
    "int-or-string": spec("either: 5"),
    "int-or-string-text": spec("either: '5%'"),
    "wrong-type": spec("tables: 'x'"),
    "wrong-type-list": spec("tables: [1]"),
    "wrong-type-map": spec("tables: {'a': 1}"),
    "wrong-type-object": spec("title: Object.spec.title{a: 1}"),
    "wrong-type-of-map": spec("words: 'x'"),
    "out-of-range": spec("tables: 101"),
    "from-object": spec("tables: object.spec.tables + 1"),
    "conditional": spec("?tables: has(object.spec.ratio) ? optional.of(9) : optional.none()"),
    "optional-none": spec("?tables: optional.none(), title: 'x'"),
    "optional-field": spec("?title: object.spec.?missing"),
    "null": spec("title: null"),
    "bytes": spec("bytes: b'abc'"),
    "timestamp": spec("since: timestamp('2020-01-01T00:00:00Z')"),
    "timestamp-text": spec("since: string(timestamp('2020-01-01T00:00:00Z'))"),
    "duration": spec("title: duration('1h')"),
    "type": spec("title: type(1)"),
    "optional-value": spec("title: optional.of('x')"),
    "labels": "Object{metadata: Object.metadata{labels: {'made': 'yes'}}}",
    "annotations": "Object{metadata: Object.metadata{annotations: Object.metadata.annotations{made: 'yes'}}}",
    "finalizers": "Object{metadata: Object.metadata{finalizers: ['a.test/x']}}",
    "name": "Object{metadata: Object.metadata{name: 'other'}}",
    "owner": "Object{metadata: Object.metadata{ownerReferences: [Object.metadata.ownerReferences{apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u'}]}}",
    "metadata-unknown": "Object{metadata: Object.metadata{wrong: 'x'}}",
    "metadata-wrong": "Object{metadata: Object.metadata{labels: {'a': 1}}}",
    "api-version": "Object{apiVersion: 'other/v1', kind: 'Other'}",
    "status": "Object{status: Object.status{open: true}}",
    "unknown": spec("wrong: 1"),
    "unknown-top": "Object{wrong: 1}",
    "misnamed": "Object{spec: Object.specx{tables: 7}}",
    "misnamed-deep": spec("nested: Object.spec.nested{one: Object.spec.one{}}"),
    "misnamed-item": spec("dishes: [Object.spec.dish{name: 'x'}]"),
    "misnamed-in-map": spec("boxes: {'a': Object.spec.boxes.a{size: 1}}"),
    "atomic-list": spec("notes: ['z']"),
    "atomic-list-empty": spec("notes: []"),
    "atomic-map": spec("point: Object.spec.point{x: 5}"),
    "atomic-in-free": spec("free: Object.spec.free{list: [1]}"),
    "set-add": spec("tags: ['c', 'a']"),
    "set-duplicates": spec("tags: ['c', 'c']"),
    "set-empty": spec("tags: []"),
    "set-wrong": spec("tags: [1]"),
    "map-list-change": spec("dishes: [Object.spec.dishes{name: 'fish', price: 9}]"),
    "map-list-add": spec("dishes: [Object.spec.dishes{name: 'cake'}]"),
    "map-list-merge": spec("dishes: [Object.spec.dishes{name: 'soup', hints: {'cold': 'no'}}]"),
    "map-list-no-key": spec("dishes: [Object.spec.dishes{price: 1}]"),
    "map-list-duplicates": spec("dishes: [Object.spec.dishes{name: 'a'}, Object.spec.dishes{name: 'a'}]"),
    "map-list-unknown": spec("dishes: [Object.spec.dishes{name: 'a', wrong: 1}]"),
    "map-list-copied": spec("dishes: object.spec.dishes"),
    "map-list-mapped": spec("dishes: object.spec.dishes.map(d, Object.spec.dishes{name: d.name, price: d.price * 2})"),
    "map-list-sum": spec("dishes: object.spec.dishes + object.spec.dishes.map(d, d)"),
    "map": spec("words: {'new': 'x', 'k': 'w'}"),
    "map-copied": spec("words: object.spec.words"),
    "map-object": spec("words: Object.spec.words{new: 'x'}"),
    "map-empty": spec("words: {}"),
    "map-int-keys": spec("words: {1: 'x'}"),
    "map-computed": spec("words: object.spec.tags.transformMapEntry(i, t, {t: string(i)})"),
    "nested": spec("nested: Object.spec.nested{one: Object.spec.nested.one{two: {'a': 'b'}}}"),
    "free-scalars": spec("free: Object.spec.free{i: 1, d: 1.5, s: 'x', b: true}"),
    "free-object": spec("free: Object.spec.free{a: Object.spec.free.a{b: 1}}"),
    "list-copied": spec("free: Object.spec.free{m: {'a': object.spec.notes}}"),
    "free-map": spec("free: Object.spec.free{a: {'b': 1}}"),
    "free-copied": spec("free: Object.spec.free{copy: object.spec.words}"),
    "unset": spec("title: object.spec.missing"),
    "division": spec("tables: 1 / (object.spec.tables - 3)"),
    "old": spec("title: oldObject == null ? 'new' : 'changed'"),
    "request": spec("title: request.operation + request.resource.resource + request.kind.version"),
    "request-name": spec("title: request.name"),
    "request-user": spec("title: request.userInfo.username"),
    "uid": spec("?title: object.metadata.?uid"),
    "namespace": spec("title: namespaceObject.metadata.name"),
    "authorizer": spec("open: authorizer.group('').resource('pods').namespace('default').check('get').allowed()"),
    "made-read": spec("tables: Object{a: 7}.a"),
    "made-equal": spec("open: Object{a: 1} == Object{a: 1}"),
    "made-conditional": "has(object.spec.missing) ? Object{} : Object{spec: Object.spec{title: 'x'}}",
}


def op(name: str, at: str, value: str = "", source: str = "") -> str:
    """The text of an operation."""
    parts = [f"op: '{name}'", f"path: {at!r}"]
    parts += [f"from: {source!r}"] if source else []
    parts += [f"value: {value}"] if value else []
    return f"JSONPatch{{{', '.join(parts)}}}"


def ops(*several: str) -> str:
    """The text of a patch."""
    return f"[{', '.join(several)}]"


PATCHED: Final = {
    "none-of-two": "object.spec.tables == 3 ? [] : [JSONPatch{op: 'remove', path: '/spec'}]",
    "add": ops(op("add", "/spec/title", "'new'")),
    "add-null": ops(op("add", "/spec/free/title", "null")),
    "add-no-value": ops(op("add", "/spec/free/title")),
    "add-list": ops(op("add", "/spec/notes", "['a', 'b']")),
    "add-first": ops(op("add", "/spec/notes/0", "'first'")),
    "add-last": ops(op("add", "/spec/notes/-", "'last'")),
    "add-beyond": ops(op("add", "/spec/notes/9", "'last'")),
    "add-no-index": ops(op("add", "/spec/notes/x", "'last'")),
    "add-map": ops(op("add", "/spec/words", "{'a': 'b'}")),
    "add-object": ops(op("add", "/spec/dishes/-", "Object.spec.dishes{name: 'cake'}")),
    "add-object-in-list": ops(op("add", "/spec/free", "Object.spec.free{l: [1, 2]}")),
    "add-misnamed": ops(op("add", "/spec/dishes/-", "Object.spec.dishes{name: 'x', hints: Object.spec.hints{}}")),
    "add-deep": ops(op("add", "/spec/nested/one", "{'two': {'a': 'b'}}")),
    "add-unknown": ops(op("add", "/spec/wrong", "1")),
    "add-metadata": ops(op("add", "/metadata/annotations", "{'made': 'yes'}")),
    "add-label": ops(op("add", "/metadata/labels/made", "'yes'")),
    "add-escaped": "[JSONPatch{op: 'add', path: '/spec/words/' + jsonpatch.escapeKey('x/y~z'), value: 'v'}]",
    "add-root": ops(op("add", "", "{}")),
    "add-copied": ops(op("add", "/spec/free/copy", "object.spec")),
    "numbers": ops(op("add", "/spec/free", "[1.0, 1.5, 1e30, 9007199254740991.0, -0.0]")),
    "int": ops(op("add", "/spec/free/n", "9007199254740991")),
    "large-int": ops(op("add", "/spec/free/n", "9007199254740993")),
    "large-int-object": ops(op("add", "/spec/free/n", "Object.n{a: 9007199254740993}")),
    "large-int-named": ops(op("add", "/spec/free/n", "Object{a: 9007199254740993}")),
    "uint": ops(op("add", "/spec/tables", "7u")),
    "bytes": ops(op("add", "/spec/bytes", "b'abc'")),
    "timestamp": ops(op("add", "/spec/since", "timestamp('2020-01-01T00:00:00Z')")),
    "duration": ops(op("add", "/spec/title", "duration('90m')")),
    "bool-keys": ops(op("add", "/spec/free/n", "{true: 'x'}")),
    "time-in-object": ops(op("add", "/spec/free/n", "Object{a: timestamp('2020-01-01T00:00:00Z')}")),
    "int-keys-in-object": ops(op("add", "/spec/free/n", "Object{a: {1: 'x'}}")),
    "uint-in-object": ops(op("add", "/spec/free/n", "Object{a: 3u}")),
    "nan-in-object": ops(op("add", "/spec/free/n", "Object{a: 0.0 / 0.0}")),
    "null-in-object": ops(op("add", "/spec/free/n", "Object{a: null}")),
    "bytes-in-object": ops(op("add", "/spec/free/n", "Object{a: b'abc'}")),
    "type": ops(op("add", "/spec/title", "type(1)")),
    "quantity": ops(op("add", "/spec/title", "quantity('1Gi')")),
    "optional": ops(op("add", "/spec/title", "optional.of('x')")),
    "optional-none": ops(op("add", "/spec/title", "optional.none()")),
    "int-keys": ops(op("add", "/spec/free/n", "{1: 'x'}")),
    "wrong-type": ops(op("add", "/spec/tables", "'x'")),
    "remove": ops(op("remove", "/spec/title")),
    "remove-missing": ops(op("remove", "/spec/missing")),
    "remove-item": ops(op("remove", "/spec/notes/0")),
    "remove-last": ops(op("remove", "/spec/notes/-1")),
    "remove-default": ops(op("remove", "/spec/tables")),
    "remove-spec": ops(op("remove", "/spec")),
    "remove-name": ops(op("remove", "/metadata/name")),
    "remove-metadata": ops(op("remove", "/metadata")),
    "remove-kind": ops(op("remove", "/kind")),
    "remove-api-version": ops(op("remove", "/apiVersion")),
    "other-kind": ops(op("replace", "/kind", "'Other'")),
    "other-version": ops(op("replace", "/apiVersion", "'other.test/v1'")),
    "other-name": ops(op("replace", "/metadata/name", "'other'")),
    "replace": ops(op("replace", "/spec/tables", "object.spec.tables + 1")),
    "replace-missing": ops(op("replace", "/spec/missing", "1")),
    "replace-end": ops(op("replace", "/spec/notes/-", "'x'")),
    "replace-root": ops(op("replace", "", "{'a': 1}")),
    "replace-root-list": ops(op("replace", "", "[1]")),
    "replace-root-scalar": ops(op("replace", "", "1")),
    "move": ops(op("move", "/spec/words/new", source="/spec/words/k")),
    "move-missing": ops(op("move", "/spec/words/new", source="/spec/words/missing")),
    "move-into": ops(op("move", "/spec/nowhere/new", source="/spec/words/k")),
    "copy": ops(op("copy", "/spec/title", source="/spec/words/k")),
    "copy-missing": ops(op("copy", "/spec/title", source="/spec/nowhere/k")),
    "test": ops(op("test", "/spec/tables", "3"), op("replace", "/spec/tables", "4")),
    "test-fails": ops(
        op("add", "/spec/title", "'x'"), op("test", "/spec/tables", "5"), op("replace", "/spec/tables", "4")
    ),
    "test-missing": ops(op("test", "/spec/missing", "5")),
    "test-no-value": ops(op("test", "/spec/missing")),
    "test-nowhere": ops(op("test", "/spec/nowhere/x", "5")),
    "test-double": ops(op("test", "/spec/tables", "3.0"), op("replace", "/spec/tables", "4")),
    "no-path": "[JSONPatch{op: 'add', value: 1}]",
    "no-op": "[JSONPatch{path: '/spec/title', value: 1}]",
    "wrong-op": "[JSONPatch{op: 'invent', path: '/spec/title', value: 1}]",
    "no-from": ops(op("move", "/spec/title")),
    "dyn-op": "[JSONPatch{op: dyn(1), path: '/spec/title'}]",
    "several": "object.spec.notes.map(n, JSONPatch{op: 'add', path: '/spec/words/' + n, value: n})",
    "sum": ops(op("add", "/spec/title", "'a'")) + " + " + ops(op("add", "/spec/open", "true")),
    "read": "[JSONPatch{op: 'add', path: '/spec/title', value: JSONPatch{op: 'x'}.op}]",
    "missing": ops(op("add", "/spec/title", "object.spec.missing")),
}
NINE: Final = "[1, 2, 3, 4, 5, 6, 7, 8, 9]"
DEAR: Final = f"{NINE}.all(a, {NINE}.all(b, {NINE}.all(c, {NINE}.all(d, {NINE}.all(e, {NINE}.all(f, a + b + c + d + e + f > 0))))))"
"""More than one expression may cost."""
LENIENT: Final = {
    "list-of-maps": apply(spec("free: Object.spec.free{l: [{'a': 1}]}")),
    "list-of-lists": apply(spec("free: Object.spec.free{l: [[1]]}")),
    "map-of-maps": apply(spec("boxes: {'a': {'size': 1}}")),
    "map-of-lists": apply(spec("free: Object.spec.free{m: {'a': [1]}}")),
    "map-list-of-maps": apply(spec("dishes: [{'name': 'x'}]")),
    "list-in-object": patch(ops(op("add", "/spec/free/n", "Object{a: [[1]]}"))),
}
"""What kube-apiserver cannot merge: lists and maps that an expression writes inside of others. We can."""
HOOKS: Final = [(policy, hook) for policy in ("Never", "IfNeeded") for hook in ("Never", "IfNeeded")]
"""The reinvocationPolicy of a policy, and that of a webhook about the same objects, which adds a note at each call."""
DRY: Final = posted(query="?dryRun=All")
TRIED: Final = posted(query="?dryRun=All", **FULL)
IGNORE: Final = {"failurePolicy": "Ignore"}
UPDATES: Final = [posted(**FULL), merged(spec={"title": "next"}), merged("/status", status={"open": False})]


def variables(*pairs: tuple[str, str]) -> Obj:
    """Variables of a policy."""
    return {"variables": [{"name": name, "expression": text} for name, text in pairs]}


def conditions(*expressions: str) -> Obj:
    """Match conditions of a policy."""
    return {"matchConditions": [{"name": f"c{place}", "expression": text} for place, text in enumerate(expressions)]}


TITLE: Final = apply(spec("title: 'made'"))
WRONG: Final = apply(spec("wrong: 1"))
PARAM: Final = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
"""No ConfigMap: if mutating policies have used a built-in kind, and do so no more, kube-apiserver has none for validating ones."""
PARAMS: Final = {"paramKind": PARAM}


def param(name: str = "", action: str = "Deny", **members: Any) -> Obj:
    """A binding to params."""
    named = {"name": name} if name else {}
    return {"paramRef": {**named, "namespace": "default", "parameterNotFoundAction": action, **members}}


CASES: Final[dict[str, Case]] = {
    **{f"apply-{name}": Case([apply(text)], [TRIED]) for name, text in APPLIED.items()},
    **{f"patch-{name}": Case([patch(text)], [TRIED]) for name, text in PATCHED.items()},
    **{
        f"small-{name}": Case([apply(APPLIED[name])], [DRY])
        for name in ("scalar", "set-add", "map-list-add", "map", "nested", "from-object", "map-list-copied")
    },
    "updates": Case([apply(spec("words: {'seen': oldObject == null ? 'new' : string(oldObject.spec.tables)}"))], UPDATES),
    "applies": Case(
        [TITLE],
        [
            Step("PATCH", path(rest="/{name}?fieldManager=me"), menu(tables=2), APPLY),
            Step("PATCH", path(rest="/{name}?fieldManager=me"), menu(tables=3), APPLY),
        ],
    ),
    "status": Case(
        [apply("Object{status: Object.status{tables: 9}, spec: Object.spec{title: 'x'}}")],
        UPDATES,
        rule={"resources": [f"{PLURAL}/status"]},
    ),
    "scale": Case(
        [apply("Object{spec: Object.spec{replicas: 9}}")],
        [posted(**FULL), merged("/scale", spec={"replicas": 6})],
        rule={"resources": [f"{PLURAL}/scale"], "operations": ["UPDATE"]},
    ),
    "delete": Case([patch(ops(op("remove", "/spec/missing")))], [Step("DELETE", path(rest="/{name}"))]),
    "dry-run": Case([TITLE], [posted(query="?dryRun=All")]),
    "generated": Case(
        [apply(spec("title: has(object.metadata.name) ? 'named' : 'unnamed' + request.?name.orValue('-')"))],
        [posted(query="?dryRun=All", metadata={"name": None, "generateName": "{name}-"})],
    ),
    "two": Case([TITLE, apply(spec("words: {'was': object.spec.title}"))], [DRY]),
    "two-kinds": Case([patch(ops(op("add", "/spec/title", "'a'"))), apply(spec("words: {'was': object.spec.title}"))], [DRY]),
    "first-fails": Case([WRONG, TITLE], [DRY]),
    "first-fails-ignored": Case([WRONG, TITLE], [DRY], IGNORE),
    "second-fails": Case([TITLE, WRONG], [DRY]),
    "second-fails-ignored": Case([TITLE, WRONG], [DRY], IGNORE),
    "both-fail": Case([WRONG, patch(ops(op("remove", "/spec/missing")))], [DRY]),
    "ignored-bad-object": Case([patch(ops(op("remove", "/kind")))], [DRY], IGNORE),
    "dear": Case([apply(spec(f"open: {DEAR}"))], [DRY]),
    "dear-ignored": Case([apply(spec(f"open: {DEAR}"))], [DRY], IGNORE),
    "dear-patch": Case([patch(ops(op("add", "/spec/open", DEAR)))], [DRY]),
    "dear-variable": Case([apply(spec("open: variables.dear"))], [DRY], variables(("dear", DEAR))),
    "checks": Case([apply(spec("open: [1, 2, 3].all(i, authorizer.path('/a').check('get').allowed())"))], [DRY]),
    "variables": Case(
        [apply(spec("title: variables.second"))], [DRY], variables(("first", "'a'"), ("second", "variables.first + 'b'"))
    ),
    "variables-again": Case(
        [apply(spec("title: variables.all")), apply(spec("words: {'then': variables.all}"))],
        [DRY],
        variables(("all", "object.spec.?title.orValue('none')")),
    ),
    "variables-list": Case(
        [patch("variables.notes.map(n, JSONPatch{op: 'add', path: '/spec/words/' + n, value: n})")],
        [TRIED],
        variables(("notes", "object.spec.notes")),
    ),
    "variables-wrong": Case([apply(spec("title: variables.wrong"))], [DRY], variables(("wrong", "object.spec.missing"))),
    "variables-unused": Case([TITLE], [DRY], variables(("wrong", "object.spec.missing"))),
    "condition-true": Case([TITLE], [DRY], conditions("object.spec.tables == 4", "true")),
    "condition-false": Case([TITLE], [DRY], conditions("true", "object.spec.tables == 3")),
    "condition-error": Case([TITLE], [DRY], conditions("object.spec.missing == 3")),
    "condition-errors": Case([TITLE], [DRY], conditions("object.spec.missing == 3", "object.spec.other == 3")),
    "condition-error-ignored": Case([TITLE], [DRY], {**conditions("object.spec.missing == 3"), **IGNORE}),
    "condition-dear": Case([TITLE], [DRY], conditions(DEAR)),
    "condition-namespace": Case([TITLE], [DRY], conditions("namespaceObject.metadata.name == 'default'")),
    "param": Case([apply(spec("title: params.spec.holderIdentity"))], [DRY], PARAMS, [param("menu-one")]),
    "param-missing": Case([TITLE], [DRY], PARAMS, [param("menu-none")]),
    "param-missing-ignored": Case([TITLE], [DRY], {**PARAMS, **IGNORE}, [param("menu-none")]),
    "param-missing-allowed": Case([TITLE], [DRY], PARAMS, [param("menu-none", "Allow")]),
    "param-several": Case(
        [apply(spec("words: {params.metadata.name: params.spec.holderIdentity}"))],
        [DRY],
        PARAMS,
        [param(selector={"matchLabels": {"menu": "yes"}})],
    ),
    "param-two-bindings": Case(
        [apply(spec("words: {params.metadata.name: params.spec.holderIdentity}"))], [DRY], PARAMS, [param("menu-one"), param("menu-two")]
    ),
    "param-null": Case([apply(spec("open: params == null"))], [DRY], PARAMS),
    "binding-elsewhere": Case(
        [TITLE], [DRY], bindings=[{"matchResources": {"objectSelector": {"matchLabels": {"other": "x"}}}}]
    ),
    "binding-here": Case(
        [TITLE],
        [DRY],
        bindings=[{"matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}}],
    ),
    "no-binding": Case([TITLE], [DRY], bindings=[]),
    "other-version": Case(
        [apply(spec("title: object.apiVersion.split('/')[1] + request.kind.version + request.requestKind.version"))],
        [posted(), merged(version="v2", spec={"tables": 8})],
        rule={"apiVersions": ["v2"]},
    ),
    "names": Case([TITLE], [DRY], rule={"resourceNames": ["other"]}),
    "again": Case(
        [patch("object.spec.?notes.orValue([]).size() < 5 ? [JSONPatch{op: 'add', path: '/spec/notes', value: object.spec.?notes.orValue([]) + ['a']}] : []")],
        [DRY],
        {"reinvocationPolicy": "IfNeeded"},
    ),
    "not-again": Case(
        [patch("[JSONPatch{op: 'add', path: '/spec/notes', value: object.spec.?notes.orValue([]) + ['a']}]")], [DRY]
    ),
    "again-after-another": Case(
        [apply("Object{spec: Object.spec{words: has(object.spec.title) ? {'title': object.spec.title} : {}}}")],
        [DRY],
        {"reinvocationPolicy": "IfNeeded"},
        others=[{"mutations": [TITLE], "reinvocationPolicy": "IfNeeded"}],
    ),
    **{
        f"hook-{policy}-{hook}".lower(): Case(
            [apply(spec("words: {'notes': string(object.spec.?notes.orValue([]).size())}"))],
            [DRY],
            {"reinvocationPolicy": policy},
        )
        for policy, hook in HOOKS
    },
    **{f"lenient-{name}": Case([mutation], [TRIED]) for name, mutation in LENIENT.items()},
}  # fmt: skip
"""By the name of the policy."""
