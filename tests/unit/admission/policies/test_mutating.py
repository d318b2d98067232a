"""What becomes of a write when policies change it. What kube-apiserver makes of each is compared end to end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from extapi.admission.base import Operation, Review
from extapi.api.user import User
from tests.unit.admission.policies.mutated import GROUP, TABLE, Mutated, apply, patch
from tests.unit.client.conftest import Turning


@pytest.fixture
def mutated() -> Iterator[Mutated]:
    turning = Turning()
    made = Mutated(turning)
    yield made
    made.stop()
    turning.close()


LEGS = apply("Object{spec: Object.spec{legs: object.spec.legs + 1}}")
WRONG = apply("Object{spec: Object.spec{wrong: 1}}")


def tag(text: str) -> Any:
    return apply(f"Object{{spec: Object.spec{{tags: [{text}]}}}}")


def test_without_policies_nobody_is_asked(mutated: Mutated) -> None:
    assert mutated.create()[0] == 201
    assert mutated.source.idle


def test_policies_change_an_object_one_after_the_other_by_name(mutated: Mutated) -> None:
    count = "string(object.spec.?tags.orValue([]).size())"
    for name in ("b", "a"):
        mutated.policy(name, tag(f"'{name}' + {count}"))
    status, made = mutated.create()
    assert (status, made["spec"]) == (201, {"legs": 4, "tags": ["a0", "b1"]})


def test_what_is_changed_is_pruned_and_defaulted(mutated: Mutated) -> None:
    mutated.policy(
        "one", patch("[JSONPatch{op: 'remove', path: '/spec/legs'}, JSONPatch{op: 'add', path: '/spec/x', value: 1}]")
    )
    assert mutated.create(legs=3)[1]["spec"] == {"legs": 4}


def test_a_policy_that_fails_refuses_the_write(mutated: Mutated) -> None:
    mutated.policy("one", WRONG, LEGS)
    mutated.policy("two", WRONG, failurePolicy="Ignore")
    mutated.policy("three", patch("[JSONPatch{op: 'remove', path: '/spec/x'}]"))
    status, answer = mutated.create()
    first = (
        "policy 'one' with binding 'one' denied request: error applying patch: failed to convert patch object to typed object: "
        ".spec.wrong: field not declared in schema"
    )
    assert (status, answer["reason"], answer["message"]) == (403, "Invalid", first)
    third = (
        "policy 'three' with binding 'three' denied request: JSON Patch: error in remove for path: '/spec/x': "
        "Unable to remove nonexistent key: x: missing value"
    )
    assert answer["details"]["causes"] == [{"message": first}, {"message": third}]


def test_other_mutations_of_a_policy_that_is_ignored_are_made(mutated: Mutated) -> None:
    mutated.policy("one", WRONG, LEGS, failurePolicy="Ignore")
    assert mutated.create()[1]["spec"] == {"legs": 5}


def test_a_policy_is_asked_once_more_only_if_it_says_so(mutated: Mutated) -> None:
    mutated.policy("never", tag("'n' + string(object.spec.?tags.orValue([]).size())"))
    mutated.policy("needed", LEGS, reinvocationPolicy="IfNeeded")
    assert mutated.create()[1]["spec"] == {"legs": 6, "tags": ["n0"]}


def test_each_sees_what_the_one_before_has_changed_in_another_version(mutated: Mutated) -> None:
    """kube-apiserver forgets what was changed in any version but the last one."""
    mutated.policy("a", tag("object.apiVersion"), versions="v2")
    mutated.policy("b", tag("object.apiVersion"), versions="v1")
    assert mutated.create()[1]["spec"]["tags"] == [f"{GROUP}/v2", f"{GROUP}/v1"]


def test_what_is_deleted_is_not_changed(mutated: Mutated) -> None:
    mutated.create()
    mutated.policy("one", WRONG)
    assert mutated.send("DELETE", "/a")[0] == 200
    review = Review(operation=Operation.DELETE, kind=TABLE, group=GROUP, version="v1", user=User("jane"))
    assert not mutated.plugin.handles(review)


def test_what_leaves_the_group_is_an_error(mutated: Mutated) -> None:
    mutated.policy(
        "one", patch("[JSONPatch{op: 'replace', path: '/apiVersion', value: 'b/v1'}]"), failurePolicy="Ignore"
    )
    status, answer = mutated.create()
    unfit = f'b/v1, Kind=Table is unstructured and is not suitable for converting to "{GROUP}/v1"'
    assert (status, answer["message"]) == (500, f"Internal error occurred: failed to convert object: {unfit}")


def test_a_mutation_of_an_unknown_kind_is_an_error(mutated: Mutated) -> None:
    mutated.policy("one", LEGS, {"patchType": "Strategic"})
    assert mutated.create()[1]["message"] == (
        "Internal error occurred: expected 2 compiled evaluators for policy one, got 1"
    )


def test_a_request_whose_time_is_up_is_answered(mutated: Mutated) -> None:
    mutated.permits.seconds = 100.0
    mutated.policy(
        "one", apply("Object{spec: Object.spec{legs: authorizer.path('/a').check('get').allowed() ? 1 : 2}}")
    )
    status, answer = mutated.create()
    assert (status, answer["reason"]) == (504, "Timeout")


LARGEST = "x" * 1_000_000
DOUBLE = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"


@pytest.mark.parametrize(
    "mutation",
    [
        patch(
            f"{DOUBLE}.map(a, {DOUBLE}.map(b, JSONPatch{{op: 'add', path: '/spec/free/x', value: object}})).flatten()"
        ),
        patch(
            "[JSONPatch{op: 'add', path: '/spec/free/l', value: [object.spec]}] + "
            f"{DOUBLE}.map(a, JSONPatch{{op: 'copy', from: '/spec/free/l', path: '/spec/free/l/-'}})"
        ),
        apply(
            "Object{spec: Object.spec{free: Object.spec.free{a: object.spec, b: object.spec, c: object.spec, d: object.spec}}}"
        ),
        apply(
            f"Object{{spec: Object.spec{{legs: {DOUBLE}.map(a, {DOUBLE}.map(b, {DOUBLE}.map(c, {DOUBLE}.map(d, "
            f"{DOUBLE}.map(e, {DOUBLE}.map(f, a + b + c + d + e + f)))))).size()}}}}"
        ),
    ],
    ids=["repeated", "doubled", "merged", "dear"],
)
def test_policies_that_would_make_too_much(mutated: Mutated, mutation: Any) -> None:
    """They are refused before they have made it, with an object of the largest size."""
    mutated.policy("one", mutation)
    status, answer = mutated.create(free={"text": LARGEST})
    assert (status, answer["reason"]) == (403, "Invalid")
    assert len(answer["message"]) < 2000
    for words in ("more than 3145728 bytes", "accumulated size increase of copy", "actual cost limit exceeded"):
        if words in answer["message"]:
            return
    raise AssertionError(answer["message"])


def test_a_deep_object(mutated: Mutated) -> None:
    deep: Any = {}
    for _ in range(180):
        deep = {"a": deep}
    mutated.policy("one", LEGS, patch("[JSONPatch{op: 'add', path: '/spec/free/b', value: object.spec.free.a}]"))
    status, made = mutated.create(free=deep)
    assert (status, made["spec"]["legs"]) == (201, 5)


def test_mutations_are_counted(mutated: Mutated) -> None:
    dear = f"{DOUBLE}.all(a, " * 6 + "a > 0" + ")" * 6
    compile_error = apply("Object{spec: Object.spec{legs: undefined}}")
    mutated.policy("one", LEGS, WRONG, apply(f"Object{{spec: Object.spec{{legs: {dear} ? 1 : 2}}}}"), compile_error)
    mutated.create()
    mutated.create(name="b")
    assert mutated.checks.counts == {
        ("one", "one", "no_error"): 2,
        ("one", "one", "invalid_error"): 4,
        ("one", "one", "compile_error"): 2,
    }
