"""Which rules run on what, and what their failures say; the texts are those of kube-apiserver 1.36."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.expression import CALL_LIMIT
from extapi.schema.cel.validator import OBJECT_BUDGET, OUT_OF_BUDGET, RuleValidator, rule_validator
from extapi.schema.structural import MISSING, from_openapi

INTEGER = {"type": "integer"}
STRING = {"type": "string"}


def ruled(schema: dict[str, Any], *rules: Any) -> dict[str, Any]:
    written = [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]
    return {**schema, "x-kubernetes-validations": written}


def of(properties: dict[str, Any], *rules: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return ruled(schema, *rules) if rules else schema


def array(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def map_list(items: dict[str, Any]) -> dict[str, Any]:
    return {**array(items), "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}


def validator(schema: dict[str, Any], *, root: bool = True) -> RuleValidator:
    made = rule_validator(from_openapi(schema), root=root)
    assert made is not None
    return made


def errors(schema: dict[str, Any], obj: Any, old: Any = MISSING, **more: Any) -> list[str]:
    made = rule_validator(from_openapi(schema))
    return [] if made is None else [error.text() for error in made.validate(obj, old, **more).errors]


CASES: list[tuple[dict[str, Any], Any, Any, list[str]]] = [
    # Where a failure is, and what is printed of the value.
    (
        of({}, "has(self.metadata.name)"),
        {"metadata": {}},
        None,
        ["<nil>: Invalid value: failed rule: has(self.metadata.name)"],
    ),
    (
        of({"s": ruled(STRING, "self == 'a'")}),
        {"s": 'b"'},
        None,
        ['s: Invalid value: "b\\"": failed rule: self == \'a\''],
    ),
    (of({"i": ruled(INTEGER, "self > 3")}), {"i": 2}, None, ["i: Invalid value: 2: failed rule: self > 3"]),
    (
        of({"n": ruled({"type": "number"}, "self > 3.0")}),
        {"n": 2.5},
        None,
        ["n: Invalid value: 2.5: failed rule: self > 3.0"],
    ),
    (of({"b": ruled({"type": "boolean"}, "self")}), {"b": False}, None, ["b: Invalid value: false: failed rule: self"]),
    (
        of({"l": array(ruled(INTEGER, "self > 1"))}),
        {"l": [2, 1, 0]},
        None,
        ["l[1]: Invalid value: 1: failed rule: self > 1", "l[2]: Invalid value: 0: failed rule: self > 1"],
    ),
    (
        of({"m": {"type": "object", "additionalProperties": of({"x": ruled(INTEGER, "self > 1")}, "has(self.y)")}}),
        {"m": {"a.b": {"x": 0}}},
        None,
        [],  # does not compile: see below
    ),
    (
        of({"m": {"type": "object", "additionalProperties": of({"x": ruled(INTEGER, "self > 1")}, "self.x != 0")}}),
        {"m": {"a.b": {"x": 0}}},
        None,
        [
            "m[a.b]: Invalid value: failed rule: self.x != 0",
            "m[a.b].x: Invalid value: 0: failed rule: self > 1",
        ],
    ),
    # A null has no rules; what has no rules is not looked at.
    (of({"s": ruled({**STRING, "nullable": True}, "false")}), {"s": None}, None, []),
    (of({"s": ruled(STRING, "false")}), {}, None, []),
    # What a failure says.
    (of({}, {"rule": "false", "message": " why \n"}), {}, None, ["<nil>: Invalid value: why"]),
    (
        of({"i": INTEGER}, {"rule": "false", "message": "no", "messageExpression": "' i is ' + string(self.i)"}),
        {"i": 4},
        None,
        ["<nil>: Invalid value: i is 4"],
    ),
    (
        of({"i": INTEGER}, {"rule": "false", "message": "no", "messageExpression": "string(1 / self.i)"}),
        {"i": 0},
        None,
        ["<nil>: Invalid value: no"],
    ),
    (of({}, {"rule": "false", "messageExpression": "' '"}), {}, None, ["<nil>: Invalid value: failed rule: false"]),
    (of({}, {"rule": "false", "messageExpression": "'a\\nb'"}), {}, None, ["<nil>: Invalid value: failed rule: false"]),
    (
        of({"s": STRING}, {"rule": "false", "message": "short", "messageExpression": "self.s"}),
        {"s": "é" * 2561},
        None,
        ["<nil>: Invalid value: short"],
    ),
    (
        of({"s": STRING}, {"rule": "false", "message": "short", "messageExpression": "self.s"}),
        {"s": "é" * 2560},
        None,
        ["<nil>: Invalid value: " + "é" * 2560],
    ),
    # Reasons, and where a failure is said to be.
    *(
        (of({"s": ruled(STRING, {"rule": "false", "message": "no", "reason": reason})}), {"s": "a"}, None, [text])
        for reason, text in {
            "FieldValueInvalid": 's: Invalid value: "a": no',
            "FieldValueForbidden": "s: Forbidden: no",
            "FieldValueRequired": "s: Required value: no",
            "FieldValueDuplicate": 's: Duplicate value: "a"',
        }.items()
    ),
    (
        of({"l": ruled(array(STRING), {"rule": "false", "message": "no", "reason": "FieldValueDuplicate"})}),
        {"l": ["a"]},
        None,
        ["l: Duplicate value"],
    ),
    (
        of(
            {
                "spec": of(
                    {"names": {"type": "object", "additionalProperties": of({"x": STRING})}, "y": INTEGER},
                    {"rule": "self.y == 0", "message": "no", "fieldPath": ".names['a.b'].x"},
                )
            }
        ),
        {"spec": {"y": 1}},
        None,
        ["spec.names[a.b].x: Invalid value: no"],
    ),
    # What has no value.
    (
        of({"m": {"type": "object", "additionalProperties": INTEGER}}, {"rule": "self.m['k'] > 0"}),
        {"m": {}},
        None,
        ["<nil>: Invalid value: \"object\": no such key: k evaluating rule: self.m['k'] > 0"],
    ),
    (
        of({"l": ruled(array(INTEGER), {"rule": "self[1] > 0", "message": " two "}, "self[0] > 0")}),
        {"l": [0]},
        None,
        [
            'l: Invalid value: "array": index out of bounds: 1 evaluating rule: two',
            "l: Invalid value: failed rule: self[0] > 0",
        ],
    ),
    (
        of({"p": ruled({"x-kubernetes-int-or-string": True}, "self > 5")}),
        {"p": "a"},
        None,
        [
            (
                "p: Invalid value: \"\": 'no such overload': call arguments did not match a supported operator, function or "
                "macro signature for rule: self > 5"
            )
        ],
    ),
    # Transitions run if both values are there.
    (of({"s": ruled(STRING, "self == oldSelf")}), {"s": "b"}, None, []),
    (of({"s": ruled(STRING, "self == oldSelf")}), {"s": "b"}, {}, []),
    (
        of({"s": ruled(STRING, "self == oldSelf")}),
        {"s": "b"},
        {"s": "a"},
        ['s: Invalid value: "b": failed rule: self == oldSelf'],
    ),
    (
        of({"l": map_list(of({"k": STRING, "v": ruled(INTEGER, "self >= oldSelf")}))}),
        {"l": [{"k": "b", "v": 1}, {"k": "a", "v": 1}, {"k": "c", "v": 0}]},
        {"l": [{"k": "a", "v": 2}, {"k": "b", "v": 1}]},
        ["l[1].v: Invalid value: 1: failed rule: self >= oldSelf"],
    ),
    (
        of({"l": array(of({"v": INTEGER}, "self.v >= oldSelf.v"))}),
        {"l": [{"v": 1}]},
        {"l": [{"v": 2}]},
        [],  # items of other lists have no old value
    ),
    (
        of({"m": {"type": "object", "additionalProperties": ruled(INTEGER, "self >= oldSelf")}}),
        {"m": {"a": 1, "b": 0}},
        {"m": {"a": 2}},
        ["m[a]: Invalid value: 1: failed rule: self >= oldSelf"],
    ),
    *(
        (of({"s": ruled(STRING, {"rule": rule, "optionalOldSelf": True, "message": "no"})}), {"s": "b"}, old, wanted)
        for rule, old, wanted in (
            ("oldSelf.hasValue()", None, ['s: Invalid value: "b": no']),
            ("oldSelf.hasValue()", {}, ['s: Invalid value: "b": no']),
            ("oldSelf.hasValue()", {"s": "a"}, []),
            ("oldSelf.orValue('b') == self", {"s": "a"}, ['s: Invalid value: "b": no']),
        )
    ),
    # A value that CEL cannot see has no rules, nor has what is in it.
    (
        of({"a": {"x-kubernetes-preserve-unknown-fields": True, "properties": {"b": ruled(STRING, "false")}}}),
        {"a": {"b": "x"}},
        None,
        [],
    ),
    (
        of({"1x": ruled(STRING, "self == 'a'")}),  # a name that no expression can have
        {"1x": "b"},
        None,
        ["1x: Invalid value: \"b\": failed rule: self == 'a'"],
    ),
]
BROKEN = CASES.pop(6)


@pytest.mark.parametrize(("schema", "obj", "old", "wanted"), CASES)
def test_failures(schema: dict[str, Any], obj: Any, old: Any, wanted: list[str]) -> None:
    assert errors(schema, obj, old) == wanted


def test_a_rule_that_does_not_compile_fails_every_object() -> None:
    schema, obj, _, _ = BROKEN
    (text, other) = errors(schema, obj)
    assert text.startswith('m[a.b]: Invalid value: "object": rule compile error: compilation failed: ERROR: <input>:1:')
    assert other == "m[a.b].x: Invalid value: 0: failed rule: self > 1"


def test_rules_on_what_has_no_type_cannot_run() -> None:
    schema = ruled({"x-kubernetes-preserve-unknown-fields": True}, "true")
    made = validator(schema, root=False)
    assert [error.text() for error in made.validate({"a": 1}).errors] == [
        '<nil>: Invalid value: "": rule compiler initialization error: failed to convert to declType for CEL validation rules'
    ]


def test_a_schema_without_rules_has_no_validator() -> None:
    assert rule_validator(from_openapi(of({"s": STRING, "l": array(STRING)}))) is None


def test_rules_of_an_all_of_run_on_the_value_around() -> None:
    schema = {**of({"s": STRING}), "allOf": [{"properties": {"s": ruled({}, "self == 'a'")}}, ruled({}, "has(self.s)")]}
    assert errors(schema, {"s": "b"}) == ["s: Invalid value: \"b\": failed rule: self == 'a'"]
    assert errors(schema, {}) == ["<nil>: Invalid value: failed rule: has(self.s)"]


def test_members_are_visited_in_the_order_of_the_object() -> None:
    schema = of({name: ruled(INTEGER, "false") for name in "abc"})
    assert [text[0] for text in errors(schema, {"c": 1, "x": 0, "a": 1, "b": 1})] == ["c", "a", "b"]


class _Counting(dict[str, Any]):
    """An object that notes which of its members are read."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.read: list[str] = []

    def get(self, key: str, default: Any = None) -> Any:
        self.read.append(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self.read.append(key)
        return super().__getitem__(key)

    def items(self) -> Any:
        raise AssertionError


def test_only_what_has_rules_is_read() -> None:
    schema = of({"spec": of({"a": ruled(INTEGER, "self > 0"), "b": INTEGER}), "status": of({"c": INTEGER})})
    spec = _Counting({"b": 1, "a": 1})
    obj = _Counting({"status": {"c": 1}, "spec": spec})
    made = validator(schema)
    assert made.validate(obj) == ([], [], OBJECT_BUDGET - 2)
    assert (obj.read, spec.read) == (["spec"], ["a"])


def test_a_list_or_map_has_a_bounded_number_of_failures() -> None:
    """As those of the schema are bounded: kube-apiserver reports a million, if there are so many."""
    schema = of(
        {
            "l": array(ruled(INTEGER, "self > 0")),
            "m": {"type": "object", "additionalProperties": array(ruled(INTEGER, "self > 0"))},
            "z": ruled(INTEGER, "self > 0"),
        }
    )
    obj = {"l": [0] * 3000, "m": {str(key): [0] * 300 for key in range(10)}, "z": 0}
    assert [text[0] for text in errors(schema, obj)] == ["l"] * 1000 + ["m"] * 1200 + ["z"]
    found = validator(schema).validate(obj, obj)
    assert (len(found.errors), len(found.warnings)) == (0, 2201)


# -- costs


def test_the_cost_of_all_rules_is_counted() -> None:
    schema = of({"a": ruled(INTEGER, "self > 0", "self > 1"), "b": ruled(INTEGER, "self == 3")})
    assert validator(schema).validate({"a": 1, "b": 3}).remaining == OBJECT_BUDGET - 6


def test_no_rule_is_run_without_a_budget() -> None:
    schema = of({"a": ruled(INTEGER, "self > 1"), "b": ruled(INTEGER, "self == 4")}, "true")
    found = validator(schema).validate({"a": 1, "b": 3}, budget=2)
    assert [error.text() for error in found.errors] == [
        "a: Invalid value: 1: failed rule: self > 1",
        f'b: Invalid value: "integer": {OUT_OF_BUDGET}',
    ]
    assert found.remaining == -1


def test_a_rule_that_costs_more_than_the_budget_is_stopped() -> None:
    found = validator(of({"a": ruled(INTEGER, "self > 1", "false")})).validate({"a": 1}, budget=1)
    assert [error.text() for error in found.errors] == [f'a: Invalid value: "integer": {OUT_OF_BUDGET}']
    assert found.remaining == -1


def test_a_rule_that_costs_more_than_a_call_may_is_the_last() -> None:
    rule = {"rule": "self.all(x, x > 0)", "message": " all "}
    schema = of({"l": ruled(array(INTEGER), rule, "false")}, {"rule": "true"})
    found = validator(schema).validate({"l": [1] * 100}, call_limit=50)
    assert [error.text() for error in found.errors] == [
        (
            "l: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be "
            "run due to call cost exceeds limit for rule: all"
        )
    ]
    assert found.remaining == -1


def test_a_message_costs_too() -> None:
    schema = of({"i": INTEGER}, {"rule": "self.i == 0", "messageExpression": "string(self.i)"})
    made = validator(schema)
    spent = OBJECT_BUDGET - made.validate({"i": 1}).remaining
    of_rule = OBJECT_BUDGET - made.validate({"i": 0}).remaining
    assert spent > of_rule
    found = made.validate({"i": 1}, budget=spent - 1)
    assert [error.text() for error in found.errors] == [
        (
            '<nil>: Invalid value: "object": messageExpression evaluation failed due to running out of cost budget, no further '
            "validation rules will be run"
        )
    ]
    assert found.remaining == -1


def test_a_message_has_the_limit_of_a_call() -> None:
    schema = of({"l": array(INTEGER)}, {"rule": "false", "messageExpression": "self.l.all(x, x > 0) ? 'a' : \"b\""})
    found = validator(schema).validate({"l": [1] * 100}, call_limit=50)
    assert [error.text() for error in found.errors] == [
        (
            '<nil>: Invalid value: "object": no further validation rules will be run due to call cost exceeds limit for '
            'messageExpression: "self.l.all(x, x > 0) ? \'a\' : \\"b\\""'
        )
    ]
    assert found.remaining == -1


def test_an_end_of_time_is_an_error_of_the_rule_that_ran() -> None:
    schema = of({"l": ruled(array(INTEGER), "self.all(x, x > 0)", "self.all(x, x > 1)")})
    assert errors(schema, {"l": [1] * 20_000}, expired=lambda: True) == [
        'l: Invalid value: "array": operation interrupted evaluating rule: self.all(x, x > 0)'
    ]
    assert CALL_LIMIT == 1_000_000


# -- unchanged values


def warnings(schema: dict[str, Any], obj: Any, old: Any) -> tuple[list[str], list[str]]:
    found = validator(schema).validate(obj, old)
    return [error.text() for error in found.errors], found.warnings


FAILING = {"rule": "self != 'bad'", "message": "bad"}


def test_a_failure_of_an_unchanged_value_is_a_warning() -> None:
    schema = of({"s": ruled(STRING, FAILING), "t": STRING})
    assert warnings(schema, {"s": "bad", "t": "b"}, {"s": "bad", "t": "a"}) == ([], ['s: Invalid value: "bad": bad'])
    assert warnings(schema, {"s": "bad"}, {"s": "good"}) == (['s: Invalid value: "bad": bad'], [])
    assert warnings(schema, {"s": "bad"}, {}) == (['s: Invalid value: "bad": bad'], [])


def test_a_transition_is_never_a_warning() -> None:
    schema = of({"s": ruled(STRING, {"rule": "self != oldSelf", "message": "same"})})
    assert warnings(schema, {"s": "a"}, {"s": "a"}) == (['s: Invalid value: "a": same'], [])


def test_an_item_of_a_list_is_unchanged_if_the_list_is() -> None:
    schema = of({"l": array(ruled(STRING, FAILING))})
    assert warnings(schema, {"l": ["a", "bad"]}, {"l": ["a", "bad"]}) == ([], ['l[1]: Invalid value: "bad": bad'])
    assert warnings(schema, {"l": ["b", "bad"]}, {"l": ["a", "bad"]}) == (['l[1]: Invalid value: "bad": bad'], [])


def test_an_item_of_a_map_list_is_compared_to_the_one_with_its_keys() -> None:
    schema = of({"l": map_list(of({"k": STRING, "s": STRING}, "self.s != 'bad'"))})
    bad, good = {"k": "a", "s": "bad"}, {"k": "b", "s": "good"}
    assert warnings(schema, {"l": [good, bad]}, {"l": [bad]}) == (
        [],
        ["l[1]: Invalid value: failed rule: self.s != 'bad'"],
    )
    assert warnings(schema, {"l": [bad]}, {"l": [good]}) == (["l[0]: Invalid value: failed rule: self.s != 'bad'"], [])


def test_in_an_all_of_only_what_is_around_the_value_counts() -> None:
    schema = of({"o": {**of({"s": STRING, "t": STRING}), "allOf": [{"properties": {"s": ruled({}, FAILING)}}]}})
    old = {"o": {"s": "bad", "t": "a"}}
    assert warnings(schema, {"o": {"s": "bad", "t": "a"}}, old)[0] == []
    assert warnings(schema, {"o": {"s": "bad", "t": "b"}}, old)[0] == ['o.s: Invalid value: "bad": bad']


def test_the_version_never_counts_as_unchanged() -> None:
    schema = of({"apiVersion": ruled(STRING, FAILING), "kind": STRING})
    obj = {"apiVersion": "bad", "kind": "a"}
    assert warnings(schema, obj, obj) == (['apiVersion: Invalid value: "bad": bad'], [])


def test_a_whole_object_counts_as_changed_since_the_schema_does_not_know_its_metadata() -> None:
    schema = of({"s": STRING}, "self.s != 'bad'")
    obj = {"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "a"}, "s": "bad"}
    assert warnings(schema, obj, obj) == (["<nil>: Invalid value: failed rule: self.s != 'bad'"], [])


def test_no_warnings_are_made_where_nothing_ratchets() -> None:
    schema = of({"s": ruled(STRING, FAILING)})
    found = validator(schema).validate({"s": "bad"}, {"s": "bad"}, ratchets=False, path="at")
    assert [error.text() for error in found.errors] == ['at.s: Invalid value: "bad": bad']
