"""Admission policies and their bindings as objects: every rule of their validation, defaults, patches, compilation.

Their rules are about a group that nobody serves, and each conversation deletes what it has made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case
from tests.differential.planes.applying import of_each
from tests.differential.planes.common import SOME, all_of
from tests.differential.planes.naming import Steps, named
from tests.differential.planes.samples import PARTIAL, STRATEGIC, TABLE, Sample
from tests.differential.planes.webhooks import CONDITION_NAMES, CONDITIONS, GROUP, OPERATIONS, RESOURCES, RULE, WORDS
from tests.differential.side import Step, apply, delete, get, json_patch, merge, post, put, waiting

MATCHING: dict[str, Any] = {"resourceRules": [RULE]}
VALID: dict[str, Any] = {"matchConstraints": MATCHING, "validations": [{"expression": "true"}]}
CHANGE = {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'test', path: '/a'}]"}}
MUTABLE: dict[str, Any] = {"matchConstraints": MATCHING, "mutations": [CHANGE], "reinvocationPolicy": "Never"}
BOUND: dict[str, Any] = {"policyName": "nothing.test", "validationActions": ["Deny"]}
CHANGED: dict[str, Any] = {"policyName": "nothing.test"}


def _any(*values: Any) -> tuple[Any, ...]:
    """Values of any type."""
    return values


def _sample(kind: str, spec: dict[str, Any], **change: Any) -> Sample:
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    return Sample(kind, f"/apis/{GROUP}/{plural.lower()}", {"spec": spec}, {"spec": {**spec, **change}}, GROUP)


VALIDATING = _sample("ValidatingAdmissionPolicy", VALID, failurePolicy="Ignore")
MUTATING = _sample("MutatingAdmissionPolicy", MUTABLE, failurePolicy="Ignore")
VALIDATING_BINDING = _sample("ValidatingAdmissionPolicyBinding", BOUND, validationActions=["Audit"])
MUTATING_BINDING = _sample("MutatingAdmissionPolicyBinding", CHANGED, policyName="other.test")
KINDS = (VALIDATING, MUTATING, VALIDATING_BINDING, MUTATING_BINDING)


def _spec(kind: Sample, **members: Any) -> dict[str, Any]:
    """A spec that is valid but for what is given; a member of ``...`` is left out."""
    return {key: value for key, value in {**kind.body["spec"], **members}.items() if value is not ...}


def tried(kind: Sample, meta: Any = None, **members: Any) -> Step:
    """A create that changes nothing."""
    return post(kind.obj(meta=meta, spec=_spec(kind, **members)), f"{kind.path}?dryRun=All")


def _gone(kind: Sample) -> Step:
    return delete(f"{kind.path}?labelSelector=space%3D{{ns}}")


def _lived(kind: Sample, *steps: Step) -> tuple[Step, ...]:
    """A conversation that leaves nothing behind."""
    return (*steps, _gone(kind))


def _checked(kind: Sample, *steps: Step) -> tuple[Step, ...]:
    """Steps of which each makes the next generation; one whose types are checked is waited for until they are."""
    found: list[Step] = []
    for number, step in enumerate(steps, 1):
        found.append(step)
        if kind is VALIDATING:
            found.append(waiting(kind.at("new"), f'"observedGeneration":{number}'))
    return tuple(found)


def ruled(**members: Any) -> dict[str, Any]:
    """Which requests are meant, with other members of the only rule."""
    return {"resourceRules": [{key: value for key, value in {**RULE, **members}.items() if value is not ...}]}


SELECTORS: tuple[Any, ...] = (
    *(None, {}, {"matchLabels": {"a b": "c"}}, {"matchLabels": {"a": "c d"}}, {"nothing": 1}),
    *({"matchExpressions": [each]} for each in _any({"key": "a", "operator": "In"}, {"key": "a", "operator": "Exists", "values": ["b"]},
      {"key": "a b", "operator": "in"}, {}, {"key": "a", "operator": "NotIn", "values": ["b c"]})),
)  # fmt: skip
MATCHED: dict[str, list[Any]] = {
    "none": [..., None, {}, {"resourceRules": []}, {"resourceRules": None}, {"excludeResourceRules": [RULE]}],
    "policies": [{**MATCHING, "matchPolicy": each} for each in _any("", "Exact", "Equivalent", "exact", None)],
    "selectors of namespaces": [{**MATCHING, "namespaceSelector": each} for each in SELECTORS],
    "selectors of objects": [{**MATCHING, "objectSelector": each} for each in SELECTORS],
    "resources": [ruled(resources=each) for each in RESOURCES if each != [7]],
    "groups": [ruled(apiGroups=each) for each in WORDS if each != "a"],
    "versions": [ruled(apiVersions=each) for each in WORDS if each != "a"],
    "operations": [ruled(operations=each) for each in (*OPERATIONS, ["DELETE"], ["CREATE", "DELETE", "x"])],
    "scopes": [ruled(scope=each) for each in _any("", "*", "Cluster", "Namespaced", "namespaced", None, ...)],
    "names of objects": [ruled(resourceNames=each) for each in _any([], ["a"], ["a/b"], ["."], [""], ["a", "a"], None, ["A B"])],
    "exclusions": [{**MATCHING, "excludeResourceRules": [each]} for each in _any({}, RULE, {**RULE, "operations": ["x"], "resourceNames": ["a/b", "a/b"]}, {**RULE, "operations": ["DELETE"]})],
    "unknown members": [{**MATCHING, "nothing": 1}, ruled(nothing=1)],
}  # fmt: skip
PARAM_KINDS: tuple[Any, ...] = (
    *(None, {}, {"apiVersion": "v1"}, {"kind": "ConfigMap"}, {"apiVersion": "v1", "kind": "ConfigMap"}),
    *({"apiVersion": each, "kind": "A"} for each in _any("", "/", "a/b/c", "a/", "/v1", "A_b/v1", "a/V1", "a.test/v1", "1")),
    *({"apiVersion": "v1", "kind": each} for each in _any("", "a", "A b", "1a", "Ab-C", "A" * 64, "a.b")),
    {"apiVersion": "v1", "kind": "A", "nothing": 1},
)  # fmt: skip
PARAM_REFS: tuple[Any, ...] = (
    *(None, {}, {"name": "a"}, {"selector": {}}, {"parameterNotFoundAction": "Deny"}),
    *({"name": each, "parameterNotFoundAction": "Allow"} for each in _any("", "a", "a/b", ".", "..", "A b", "%")),
    *({"name": "a", "parameterNotFoundAction": each} for each in _any("", "allow", "Allow", "Deny", None)),
    *({"selector": each, "parameterNotFoundAction": "Deny"} for each in SELECTORS),
    {"name": "a", "selector": {"matchLabels": {"a b": "c"}}, "parameterNotFoundAction": "x"},
    {"name": "a", "namespace": "b", "parameterNotFoundAction": "Deny"},
    {"name": "a", "namespace": "B b", "parameterNotFoundAction": "Deny", "nothing": 1},
)
POLICY_NAMES = (..., "", "a", "A", "a.b", "a b", "a/b", "a" * 254, None)
ACTIONS: tuple[Any, ...] = (..., None, [], ["Deny"], ["Warn", "Audit"], ["Deny", "Warn"], ["Deny", "Deny"], ["deny"], [""], ["Audit", "Warn", "Deny", "Audit", "x", "x"])  # fmt: skip

VARIABLES: tuple[Any, ...] = (
    *([], [{}], [{"name": "a"}], [{"expression": "1"}], [{"name": " ", "expression": " "}]),
    *([{"name": each, "expression": "1"}] for each in ("a b", "1a", "_", "true", "namespace", "while", "a.b", "ä", "self")),
    *([{"name": "a", "expression": each}] for each in ("nothing", "1 +", "variables.a", "variables.b", "variables", "\n", "int('x')")),
    [{"name": "a", "expression": "1"}, {"name": "b", "expression": "variables.a + 1"}, {"name": "c", "expression": "variables.b + 'x'"}],
    [{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "1"}],
    [{"name": "a", "expression": "1"}, {"name": "a", "expression": "'x'"}],
    [{"name": "a", "expression": "params.x"}, {"name": "b", "expression": "authorizer.path('/').check('get')"}],
    [{"name": "a", "expression": "object"}, {"name": "b", "expression": "variables.a.nothing.at.all"}],
    None,
)  # fmt: skip
TYPED = (
    *(
        "1",
        "1u",
        "1.5",
        "'a'",
        "b'a'",
        "true",
        "null",
        "[1]",
        "['a']",
        "[]",
        "[1, 'a']",
        "{'a': 1}",
        "{1: ['a']}",
        "{}",
    ),
    *("duration('1s')", "timestamp('2020-01-01T00:00:00Z')", "object", "request", "request.kind", "namespaceObject"),
    *(
        "namespaceObject.metadata",
        "namespaceObject.status.conditions",
        "quantity('1')",
        "ip('::1')",
        "url('https://a.test')",
    ),
    *(
        "optional.of(1)",
        "optional.none()",
        "type(1)",
        "authorizer",
        "authorizer.requestResource",
        "nothing",
        "int('x')",
    ),
    *("dyn(1)", "cidr('::/0')", "semver('1.0.0')", "[request.kind]", "{'a': request}", "request.userInfo.extra"),
)
"""Values of every type: those of variables, which others use."""
USES = ("variables.a == 1", "variables.a == 'x'", "variables.a", "variables.a.b", "variables.a[0] == 1", "variables.b", "has(variables.a)", "variables.a == variables.a")  # fmt: skip
MESSAGES = (
    *("'a'", "''", "1", "object.a", "string(object.a)", "'a' + params.b", "authorizer.path('/').check('get').reason()"),
    *(
        "variables.a",
        "nothing",
        "",
        " ",
        "\n",
        "['a']",
        "null",
        "request.name",
        "'a' +",
        "namespaceObject.metadata.name",
    ),
)
REASONS = ("", "Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized", "forbidden", "NotFound", None)
TEXTS = ("", " ", "a", "a\nb", "a\rb", "\na\n", "\n", None)
KEYS = ("", "a", "a b", "a/b", "A", "a" * 63, "a" * 64, "-", None)
VALUES = (
    *("'a'", "null", "1", "object.a", "true ? 'a' : 'b'", "nothing", "", " ", " 'a' ", " nothing ", "params.x"),
    *("true ? null : 'a'", "dyn('a')", "variables.x", "authorizer.path('/').check('get').reason()", f"'{'a' * 5118}'"),
    *(f"'{'a' * 5119}'", f" '{'ä' * 2559}' ", "['a']"),
)


def _validating() -> Iterator[tuple[str, list[Step]]]:
    """What only a ValidatingAdmissionPolicy has."""
    kind = VALIDATING

    def validation(**members: Any) -> Step:
        return tried(kind, validations=[{"expression": "true", **members}])

    yield "expressions", [validation(expression=each) for each in CONDITIONS]
    yield (
        "expressions with params",
        [
            tried(
                kind,
                paramKind={"apiVersion": "v1", "kind": "A"},
                validations=[{"expression": each, "messageExpression": "'a' + params.a"}],
            )
            for each in ("params.a == 1", "params", "params == null", "variables.a", "has(params.a)")
        ],
    )
    yield (
        "validations",
        [tried(kind, validations=each) for each in _any([], None, ..., [{}], [{"nothing": 1}], [{}, {}])],
    )
    yield "messages", [validation(message=each) for each in TEXTS]
    yield "messages in expressions", [validation(messageExpression=each) for each in (*MESSAGES, None)]
    yield "reasons", [validation(reason=each) for each in REASONS]
    yield (
        "several mistakes",
        [validation(expression="nothing", message="a\nb", messageExpression="nothing", reason="x")],
    )
    yield "keys", [tried(kind, auditAnnotations=[{"key": each, "valueExpression": "'a'"}]) for each in KEYS]
    yield "values", [tried(kind, auditAnnotations=[{"key": "a", "valueExpression": each}]) for each in VALUES]
    yield (
        "annotations",
        [
            tried(kind, validations=[], auditAnnotations=each)
            for each in _any(
                [],
                None,
                [{}],
                [{"key": "a", "valueExpression": "'a'"}] * 2,
                [{"key": f"a{number}", "valueExpression": "null"} for number in range(20)],
            )
        ],
    )
    yield (
        "too many annotations",
        [tried(kind, auditAnnotations=[{"key": f"a{number}", "valueExpression": "null"} for number in range(21)])],
    )
    yield "long names", [tried(kind, {"name": "a" * 250}, auditAnnotations=[{"key": "a", "valueExpression": "null"}])]
    yield (
        "variables of every type",
        [
            tried(
                kind, variables=[{"name": "a", "expression": value}], validations=[{"expression": use} for use in USES]
            )
            for value in TYPED
        ],
    )
    yield "status", [post(kind.obj(status={"observedGeneration": 7, "conditions": [{}]}), f"{kind.path}?dryRun=All")]


PATCHES = (
    *(
        "[]",
        "[JSONPatch{op: 'add', path: '/a', value: 1}]",
        "JSONPatch{}",
        "[1]",
        "['a']",
        "null",
        "nothing",
        "",
        " ",
        " [] ",
    ),
    *(
        "[JSONPatch{op: 'add', path: '/a', nothing: 1}]",
        "[JSONPatch{op: 1}]",
        "[Object{}]",
        "true ? [JSONPatch{op: 'test'}] : []",
    ),
    *(
        "[JSONPatch{op: 'add', path: '/' + jsonpatch.escapeKey('a/b'), value: Object.spec{a: 1}}]",
        "variables.a",
        "object",
    ),
    *(
        "[JSONPatch{op: 'copy', from: '/a', path: '/b'}]",
        "[JSONPatch{}, Object{}]",
        "[JSONPatch{",
        "[JSONPatch{from: params.a}]",
    ),
    *(
        "[JSONPatch{op: 'add', path: '/a', value: authorizer.path('/').check('get').allowed()}]",
        "jsonpatch.escapeKey('a')",
    ),
    *(
        "[JSONPatch{op: 'add', path: '/a', value: {'a': [1, 'b', null]}}]",
        "dyn([])",
        "[dyn(1)]",
        "[JSONPatch{op: dyn(1)}]",
    ),
)
CONFIGURATIONS = (
    *(
        "Object{}",
        "Object{spec: Object.spec{a: 1}}",
        "Object{spec: Object.spec{b: {'a': 1}}}",
        "object",
        "1",
        "null",
        "nothing",
    ),
    *(
        "",
        " ",
        " Object{} ",
        "Object{spec: 1}",
        "Object.spec{}",
        "Object{spec: Object.metadata{}}",
        "Object{nothing: nothing}",
    ),
    *(
        "true ? Object{} : Object{}",
        "true ? Object{} : object",
        "Object{a: [Object.a{}]}",
        "Object{",
        "params",
        "variables.a",
    ),
    *(
        "Object{metadata: Object.metadata{labels: {'a': 'b'}}}",
        "Object{metadata: Object.metadata{labels: Object.metadata.labels{a: 'b'}}}",
    ),
    *(
        "Object{spec: Object.spec{a: authorizer.path('/').check('get').allowed()}}",
        "[Object{}]",
        "JSONPatch{}",
        "Object",
    ),
    *(
        "Object{a: 1}.a == 1",
        "dyn(Object{})",
        "Object{spec: Object.spec{a: jsonpatch.escapeKey('a')}}",
        "Other{}",
        "Object.{}",
    ),
)


def _mutating() -> Iterator[tuple[str, list[Step]]]:
    """What only a MutatingAdmissionPolicy has."""
    kind = MUTATING

    def mutation(*mutations: Any) -> Step:
        return tried(kind, mutations=list(mutations))

    yield "mutations", [tried(kind, mutations=each) for each in _any([], None, ..., [{}], [{"nothing": 1}])]
    yield (
        "types",
        [
            mutation({**CHANGE, "patchType": each})
            for each in _any("", "JSONPatch", "ApplyConfiguration", "jsonpatch", None)
        ],
    )
    yield (
        "members",
        [
            mutation({"patchType": type_, **given})
            for type_ in ("JSONPatch", "ApplyConfiguration")
            for given in _any(
                {},
                {"jsonPatch": {}},
                {"applyConfiguration": {}},
                {"jsonPatch": {}, "applyConfiguration": {}},
                {"jsonPatch": None},
            )
        ],
    )
    yield "patches", [mutation({"patchType": "JSONPatch", "jsonPatch": {"expression": each}}) for each in PATCHES]
    yield (
        "configurations",
        [
            mutation({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": each}})
            for each in CONFIGURATIONS
        ],
    )
    yield (
        "reinvocation",
        [tried(kind, reinvocationPolicy=each) for each in _any(..., "", "Never", "IfNeeded", "never", None)],
    )
    yield (
        "types in other expressions",
        [
            tried(
                kind, matchConditions=[{"name": "a", "expression": each}], variables=[{"name": "a", "expression": each}]
            )
            for each in ("Object{}", "JSONPatch{}", "jsonpatch.escapeKey('a') == 'a'", "variables.a == 1")
        ],
    )
    yield (
        "variables in mutations",
        [
            tried(
                kind,
                variables=[{"name": "a", "expression": value}],
                mutations=[{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": use}}],
            )
            for value in ("1", "'a'", "object", "nothing", "[1]")
            for use in ("Object{a: variables.a}", "Object{a: variables.a + 1}", "variables.a", "Object{a: variables.b}")
        ],
    )


WRONG: tuple[dict[str, Any], ...] = (
    *(
        {name: each}
        for name in ("matchConstraints", "matchResources", "paramKind", "paramRef")
        for each in _any([], "a")
    ),
    *({name: 7} for name in ("failurePolicy", "policyName", "reinvocationPolicy")),
    *({name: "a"} for name in ("validations", "mutations", "validationActions", "variables", "matchConditions")),
    *({"validations": [{"expression": "true", name: 7}]} for name in ("message", "reason", "messageExpression")),
    *({name: ruled(resources=[7])} for name in ("matchConstraints", "matchResources")),
)
"""Values of wrong types; each kind is sent those of the members that it has."""


def _wrong(kind: Sample) -> list[Step]:
    policy, validating = not kind.kind.endswith("Binding"), kind.kind.startswith("Validating")
    has = (
        {"matchConstraints", "paramKind", "failurePolicy", "variables", "matchConditions"}
        if policy
        else {"matchResources", "paramRef", "policyName"}
    )
    has |= (
        {"validations"}
        if policy and validating
        else {"mutations", "reinvocationPolicy"}
        if policy
        else {"validationActions"}
        if validating
        else set()
    )
    found = [tried(kind, **each) for each in WRONG if set(each) <= has]
    return [*found, *(post(kind.obj(spec=each), f"{kind.path}?dryRun=All") for each in _any("a", []))]


def _policy(kind: Sample) -> Iterator[tuple[str, list[Step]]]:
    """What both kinds of policies have."""
    yield from (
        (f"matching: {name}", [tried(kind, matchConstraints=each) for each in values])
        for name, values in MATCHED.items()
    )
    yield "failure policies", [tried(kind, failurePolicy=each) for each in _any("", "Fail", "Ignore", "fail", None)]
    yield "kinds of parameters", [tried(kind, paramKind=each) for each in PARAM_KINDS]
    yield "conditions", [tried(kind, matchConditions=[{"name": "a", "expression": each}]) for each in CONDITIONS]
    yield (
        "conditions about parameters",
        [
            tried(
                kind, paramKind={"apiVersion": "v1", "kind": "A"}, matchConditions=[{"name": "a", "expression": each}]
            )
            for each in ("params.a == 1", "params", "variables.a == 1")
        ],
    )
    yield (
        "names of conditions",
        [tried(kind, matchConditions=[{"name": each, "expression": "true"}]) for each in CONDITION_NAMES],
    )
    yield (
        "incomplete conditions",
        [tried(kind, matchConditions=[each]) for each in _any({}, {"name": "a"}, {"expression": "true"})],
    )
    yield "equal conditions", [tried(kind, matchConditions=[{"name": "a", "expression": "true"}] * 2)]
    yield (
        "many conditions",
        [
            tried(kind, matchConditions=[{"name": f"a{each}", "expression": "true"} for each in range(number)])
            for number in (64, 65)
        ],
    )
    yield "variables", [tried(kind, variables=each) for each in VARIABLES]
    yield "no spec", [post(kind.obj(spec=each), f"{kind.path}?dryRun=All") for each in _any(None, {})]
    yield (
        "everything wrong",
        [
            tried(
                kind,
                failurePolicy="x",
                paramKind={},
                matchConstraints={"matchPolicy": "x", "resourceRules": [{}]},
                matchConditions=[{}],
                variables=[{}],
                validations=[{}],
                mutations=[{}],
                auditAnnotations=[{}],
            )
        ],
    )


def _binding(kind: Sample) -> Iterator[tuple[str, list[Step]]]:
    """What both kinds of bindings have."""
    yield from (
        (f"matching: {name}", [tried(kind, matchResources=each) for each in values]) for name, values in MATCHED.items()
    )
    yield "policies", [tried(kind, policyName=each) for each in POLICY_NAMES]
    yield "parameters", [tried(kind, paramRef=each) for each in PARAM_REFS]
    yield "no spec", [post(kind.obj(spec=each), f"{kind.path}?dryRun=All") for each in _any(None, {})]
    yield "everything wrong", [tried(kind, policyName="A b", paramRef={"name": "a/b"}, matchResources={"matchPolicy": "x", "resourceRules": [{"operations": ["DELETE"]}]}, validationActions=["x"])]  # fmt: skip


ANY = {"apiVersion": "v1", "kind": "ConfigMap"}


def _lives(kind: Sample) -> dict[str, Steps]:
    """What becomes of an object."""
    one = kind.at("new")
    condition, changed = [{"name": "a", "expression": "object.a == 1"}], kind.change["spec"]
    found: dict[str, Steps] = {
        "generations": _lived(
            kind,
            *_checked(kind, post(kind.obj(), kind.path), merge(one, {"spec": changed})),
            merge(one, {"metadata": {"labels": {"x": "y"}}}),
            merge(one, {"spec": changed}),
            merge(one, {"metadata": {"generation": 9}}),
            get(one, TABLE),
            get(one, PARTIAL),
        ),
        "a reserved name": [tried(kind, {"name": "a.static.k8s.io"}), tried(kind, {"name": "static.k8s.io"})],
        "status": (get(f"{kind.at('none')}/status"), put(f"{kind.at('none')}/status", kind.obj())),
        "updates": _lived(
            kind,
            *_checked(kind, post(kind.obj(), kind.path)),
            put(one, kind.obj()),
            put(one, kind.obj(meta={"resourceVersion": "1"})),
            merge(one, {"spec": None}),
        ),
    }
    if not kind.kind.endswith("Binding"):
        found["conditions that stay"] = _lived(
            kind,
            *_checked(
                kind,
                post(kind.obj(spec=_spec(kind, matchConditions=condition)), kind.path),
                merge(
                    one,
                    {
                        "spec": {
                            "paramKind": ANY,
                            "matchConditions": [*condition, {"name": "b", "expression": "params.x == 1"}],
                        }
                    },
                ),
                merge(one, {"spec": {"failurePolicy": "Ignore"}}),
            ),
            merge(one, {"spec": {"matchConditions": [*condition, {"name": "b", "expression": "nothing"}]}}),
            merge(one, {"spec": {"paramKind": None}}),
            get(one, TABLE),
        )
        found["strategic"] = _lived(
            kind,
            *_checked(
                kind,
                post(
                    kind.obj(spec=_spec(kind, matchConditions=condition, variables=[{"name": "v", "expression": "1"}])),
                    kind.path,
                ),
                merge(one, {"spec": {"matchConditions": [{"name": "b", "expression": "true"}]}}, STRATEGIC),
                merge(one, {"spec": {"matchConditions": [{"name": "a", "$patch": "delete"}]}}, STRATEGIC),
                merge(one, {"spec": {"variables": [{"name": "w", "expression": "2"}]}}, STRATEGIC),
                merge(
                    one,
                    {"spec": {"matchConstraints": {"resourceRules": [{**RULE, "operations": ["UPDATE"]}]}}},
                    STRATEGIC,
                ),
            ),
            merge(one, {"spec": {"matchConditions": [{"name": "b", "expression": "nothing"}]}}, STRATEGIC),
            merge(one, {"spec": {"nothing": 1}}, STRATEGIC),
        )
    else:
        found["tables"] = [
            step
            for number, reference in enumerate(PARAM_REFS)
            if number in {11, 13, 18, 30} or (reference or {}).get("namespace") == "b"
            for step in (
                post(kind.obj("new", spec=_spec(kind, paramRef=reference)), kind.path),
                get(one, TABLE),
                _gone(kind),
            )
        ]
    return found


STATUS = f"{VALIDATING.at('new')}/status"
CONDITION = {"type": "A", "status": "True", "reason": "B", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def _status(**status: Any) -> Step:
    return merge(f"{STATUS}?dryRun=All", {"status": status})


def _warned(**warning: Any) -> Step:
    return _status(typeChecking={"expressionWarnings": [warning]})


STATUSES: dict[str, Steps] = {
    "written": _lived(
        VALIDATING,
        *_checked(VALIDATING, post(VALIDATING.obj(), VALIDATING.path)),
        merge(STATUS, {"status": {"conditions": [CONDITION]}, "spec": {"failurePolicy": "Ignore"}, "metadata": {"labels": {"x": "y"}}}),
        merge(VALIDATING.at("new"), {"status": None, "metadata": {"labels": {"x": "y"}}}),
    ),
    "judged": _lived(
        VALIDATING,
        *_checked(VALIDATING, post(VALIDATING.obj(), VALIDATING.path)),
        _warned(), _warned(fieldRef="spec.validations[0].expression", warning="x"), _warned(fieldRef=" ", warning="x"), _warned(fieldRef="a"),
        _status(conditions=[{}]), _status(conditions=[CONDITION, CONDITION]),
        *(_status(conditions=[{**CONDITION, **each}]) for each in _any(
            {"type": "a b"}, {"type": "a.test/B"}, {"status": "true"}, {"observedGeneration": -1}, {"lastTransitionTime": None},
            {"reason": "a b"}, {"reason": "A:"}, {"reason": "A" * 1025}, {"message": "a" * 32769},
        )),
    ),
}  # fmt: skip
APPLIED: dict[str, Steps] = {
    "variables": _lived(
        VALIDATING,
        *_checked(
            VALIDATING,
            apply(VALIDATING.at("new"), VALIDATING.obj(spec={**VALID, "variables": [{"name": "a", "expression": "1"}]})),
            apply(VALIDATING.at("new"), VALIDATING.obj(spec={"variables": [{"name": "b", "expression": "2"}]}), "other"),
            json_patch(VALIDATING.at("new"), ("remove", "/spec/variables/0")),
        ),
        apply(VALIDATING.at("new"), VALIDATING.obj(spec={"variables": [{"name": "b", "expression": "3"}]})),
        apply(VALIDATING.at("new"), VALIDATING.obj(spec={"matchConstraints": {"matchPolicy": "Exact"}}), "other"),
    ),
    "actions": _lived(
        VALIDATING_BINDING,
        apply(VALIDATING_BINDING.at("new"), VALIDATING_BINDING.obj()),
        apply(VALIDATING_BINDING.at("new"), VALIDATING_BINDING.obj(spec={**BOUND, "validationActions": ["Audit"]}), "other"),
        apply(VALIDATING_BINDING.at("new"), VALIDATING_BINDING.obj(spec={**BOUND, "validationActions": ["Warn"]})),
    ),
}  # fmt: skip


def _topics() -> dict[str, dict[str, Steps]]:
    found: dict[str, dict[str, Steps]] = {kind.kind: _lives(kind) for kind in KINDS}
    for kind in (VALIDATING, MUTATING):
        found[f"{kind.kind}, rules"] = dict(_policy(kind))
    for kind in (VALIDATING_BINDING, MUTATING_BINDING):
        found[f"{kind.kind}, rules"] = dict(_binding(kind))
    found["ValidatingAdmissionPolicy, rules"] |= dict(_validating())
    found["ValidatingAdmissionPolicy, status"] = STATUSES
    found["MutatingAdmissionPolicy, rules"] |= dict(_mutating())
    actions = [tried(VALIDATING_BINDING, validationActions=each) for each in ACTIONS]
    found["ValidatingAdmissionPolicyBinding, rules"] |= {"actions": actions}
    found["Apply policies"] = APPLIED
    found["Policies of wrong types"] = {kind.kind: _wrong(kind) for kind in KINDS}
    return found


def _common() -> Iterator[tuple[str, Case]]:
    """What every kind is asked: some are read and written, the others applied."""
    for kind in (MUTATING_BINDING, MUTATING):
        for name, case in all_of(kind):
            if SOME.fullmatch(name.partition(": ")[2]):
                yield name, Case((*case.steps, _gone(kind)))
    for kind in (VALIDATING_BINDING, MUTATING):
        for name, steps in of_each(kind).items():
            said = (steps,) if isinstance(steps, Step) else tuple(steps)
            yield f"Apply {kind.kind}: {name}", Case((*said, _gone(kind)))


SELECTOR = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "In", "values": ["d", "e"]}]}
EVERY_MATCH = {
    "namespaceSelector": SELECTOR,
    "objectSelector": {},
    "matchPolicy": "Exact",
    "resourceRules": [{**RULE, "scope": "Namespaced", "resourceNames": ["x", "y"]}],
    "excludeResourceRules": [RULE],
}
EVERY_POLICY = {
    "paramKind": ANY,
    "matchConstraints": EVERY_MATCH,
    "matchConditions": [{"name": "a", "expression": "true"}],
    "variables": [{"name": "v", "expression": "1"}],
}
EVERY_REF = {"name": "p", "namespace": "n", "parameterNotFoundAction": "Deny"}
COMPLETE: tuple[tuple[str, dict[str, Any]], ...] = tuple(
    (kind.path, {"metadata": {"name": "protobuf"}, "spec": spec})
    for kind, spec in (
        (
            VALIDATING,
            {
                **EVERY_POLICY,
                "validations": [
                    {"expression": "true", "message": "m", "messageExpression": "'a'", "reason": "Forbidden"}
                ],
                "auditAnnotations": [{"key": "k", "valueExpression": "'b'"}],
            },
        ),
        (
            MUTATING,
            {
                **EVERY_POLICY,
                "reinvocationPolicy": "IfNeeded",
                "mutations": [
                    CHANGE,
                    {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}},
                ],
            },
        ),
        (VALIDATING_BINDING, {**BOUND, "paramRef": EVERY_REF, "matchResources": EVERY_MATCH}),
        (MUTATING_BINDING, {**CHANGED, "paramRef": {"selector": SELECTOR, "parameterNotFoundAction": "Allow"}}),
    )
)
"""An object of each kind that has all members; they bind nothing, for the group is served by nobody."""

CASES = {**named(_topics()), **dict(_common())}
