"""What becomes of a write when a cluster has policies. What kube-apiserver says of each is compared end to end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from twisted.logger import formatEvent, globalLogPublisher

from extapi.admission.expressions.authorizing import Checks
from extapi.admission.expressions.environment import Input
from extapi.admission.policies.checks import error_type
from extapi.admission.policies.definition import ParamKind
from extapi.admission.policies.resources import is_exempt
from extapi.admission.policies.validating import FAILURE
from extapi.admission.policies.validations import Validations
from extapi.api.user import User
from extapi.client.kube import Client
from extapi.client.transport import ClientRequest
from extapi.errors import Forbidden
from tests.unit.admission.policies.policed import LIMIT_KIND, LIMITS, REGISTRATION, Policed
from tests.unit.client.conftest import Turning

POLICIES = f"/apis/{REGISTRATION}/v1/validatingadmissionpolicies"
BINDINGS = f"/apis/{REGISTRATION}/v1/validatingadmissionpolicybindings"
LIMIT = ParamKind(api_version=LIMIT_KIND["apiVersion"], kind=LIMIT_KIND["kind"])
DENY = {"parameterNotFoundAction": "Deny"}


@pytest.fixture
def unfollowed() -> Iterator[Policed]:
    """One that does not know yet which policies there are."""
    turning = Turning()
    made = Policed(turning, follow=False)
    yield made
    made.stop()
    turning.close()


def why(answer: tuple[int, Any]) -> str:
    """Why a write is refused, without what is the same for all."""
    status, body = answer
    assert status == 422, body
    text: str = body["message"].partition("is forbidden: ")[2]
    return text


def test_without_policies_nobody_is_asked(policed: Policed) -> None:
    assert policed.create()[0] == 201
    assert policed.source.idle


def test_a_policy_without_a_binding_is_none(policed: Policed) -> None:
    policed.policy("one", "false", bound=False)
    assert policed.create()[0] == 201
    assert policed.source.idle


def test_a_write_is_refused_if_policies_are_not_known_in_time(unfollowed: Policed) -> None:
    waiting = unfollowed.begin()
    unfollowed.clock.advance(10)
    status, answer = unfollowed.wait(waiting)
    assert (status, answer["message"]) == (403, 'tables.tables.test "a" is forbidden: not yet ready to handle request')


def test_a_write_waits_until_policies_are_known(unfollowed: Policed) -> None:
    waiting = unfollowed.begin()
    unfollowed.follow()
    assert unfollowed.wait(waiting)[0] == 201


def test_a_policy_that_comes_changes_and_goes(policed: Policed) -> None:
    policed.policy("one", "object.spec.legs > 4")
    denied = (
        "ValidatingAdmissionPolicy 'one' with binding 'one' denied request: failed expression: object.spec.legs > 4"
    )
    status, answer = policed.create()
    assert (status, answer["reason"], answer["message"]) == (
        422,
        "Invalid",
        f'tables.tables.test "a" is forbidden: {denied}',
    )
    assert answer["details"] == {"name": "a", "group": "tables.test", "kind": "tables", "causes": [{"message": denied}]}
    policed.policy("one", "object.spec.legs > 3")
    assert policed.create()[0] == 201
    policed.policy("one", "false")
    policed.delete(f"{BINDINGS}/one")
    policed.until(lambda: not list(policed.source._bindings.items()))
    assert policed.create()[0] == 201


def test_the_first_of_several_by_name_is_told(policed: Policed) -> None:
    for name in ("b", "a", "c"):
        policed.policy(name, "false" if name != "a" else "true")
    assert (
        why(policed.create())
        == "ValidatingAdmissionPolicy 'b' with binding 'b' denied request: failed expression: false"
    )


def test_a_change_of_a_binding_compiles_no_policy(policed: Policed) -> None:
    policed.policy("one", "false")
    why(policed.create())
    (before,) = policed.source._known.values()
    policed.bind("one", "another")
    why(policed.create())
    assert list(policed.source._known.values()) == [before]


def test_a_freeze_is_about_the_definition_alone(policed: Policed) -> None:
    """``extapi import --switch`` refuses writes of a definition, while its objects are served here already."""
    made_by = {"app.kubernetes.io/managed-by": "extapi-takeover"}
    policed.policy("extapi-takeover.tables.tables.test", "false", labels=made_by)
    assert policed.create()[0] == 201
    policed.policy("extapi-takeover.others", "false")
    assert policed.create()[0] == 422
    policed.delete(f"{POLICIES}/extapi-takeover.others")
    policed.policy("mine", "false", labels=made_by)
    assert policed.create()[0] == 422


def test_params_that_come_and_go(policed: Policed) -> None:
    policed.policy("one", "object.spec.legs <= params.most", bound=False, paramKind=LIMIT_KIND)
    policed.bind("one", paramRef={"name": "low", **DENY})
    missing = (
        "ValidatingAdmissionPolicy 'one' with binding 'one' denied request: failed to configure binding: "
        "no params found for policy binding with `Deny` parameterNotFoundAction"
    )
    assert why(policed.create()) == missing
    policed.limit("low", 3)
    informer = policed.params._followed[LIMIT].informer
    assert informer is not None
    policed.until(lambda: informer.get("default", "low"))
    assert why(policed.create()).endswith("failed expression: object.spec.legs <= params.most")
    assert policed.create(3)[0] == 201
    policed.delete(f"/apis/{LIMITS}/v1/namespaces/default/limits/low")
    policed.until(lambda: not list(informer.items()))
    assert why(policed.create()) == missing


def test_params_are_followed_while_they_are_used(policed: Policed) -> None:
    for name in ("one", "two"):
        policed.policy(name, "true", paramKind=LIMIT_KIND)
    policed.policy("other", "true", paramKind={**LIMIT_KIND, "kind": "Ceiling"})
    policed.until(lambda: len(policed.params._followed) == 2)
    before = policed.params._followed[LIMIT]
    policed.until(lambda: before.informer is not None)
    policed.delete(f"{POLICIES}/one")
    policed.until(lambda: len(policed.source._known) == 2 or policed.source.index is None)
    assert policed.params._followed[LIMIT] is before
    policed.delete(f"{BINDINGS}/two")
    policed.until(lambda: policed.source.index and LIMIT not in policed.params._followed)
    assert before.informer is not None
    assert before.informer._stopped


def test_a_kind_of_params_that_is_not_there(policed: Policed) -> None:
    nothing = {"apiVersion": "limits.test/v1", "kind": "Nothing"}
    policed.policy("one", "true", paramKind=nothing)
    assert why(policed.create()) == (
        "ValidatingAdmissionPolicy 'one' denied request: failed to configure policy: "
        "failed to find resource referenced by paramKind: 'limits.test/v1, Kind=Nothing'"
    )
    policed.policy("one", "true", paramKind=nothing, failurePolicy="Ignore")
    assert policed.create()[0] == 201


def test_a_kind_of_params_is_looked_for_again(policed: Policed) -> None:
    policed.policy("one", "true", paramKind=LIMIT_KIND)
    policed.until(lambda: policed.params._followed[LIMIT].informer is not None)
    followed = policed.params._followed[LIMIT]
    followed.informer.stop()  # type: ignore[union-attr]
    followed.informer = None  # as if it had not been there
    looked = followed._looked = policed.clock.seconds()
    assert why(policed.create()).endswith("Kind=Limit'")
    assert followed._looked == looked
    policed.clock.advance(1)
    assert policed.create()[0] == 201


def test_params_that_may_not_be_read(policed: Policed) -> None:
    """Whoever writes the policy has to give the right; the log names the kind."""
    policed.params.stop()
    client = Client(Unreadable(policed.cluster.server.transport()))
    policed.params._client = client
    told: list[Any] = []
    with observed(told.append):
        policed.policy("one", "true", bound=False, paramKind=LIMIT_KIND)
        policed.bind("one", paramRef={"name": "low", **DENY})
        policed.until(lambda: LIMIT in policed.params._followed and _informer(policed) is not None)
        waiting = policed.begin(query="All")
        policed.clock.advance(1)
        assert why(policed.wait(waiting)).endswith(
            "failed to configure binding: paramKind kind `&ParamKind{APIVersion:limits.test/v1,Kind:Limit,}` "
            "not yet synced to use for admission"
        )
    texts = [formatEvent(each) for each in told]
    assert any("this server's account needs list and watch on them" in each and "Limit" in each for each in texts)


class Unreadable:
    """A way to a cluster that refuses to list params."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport

    async def send(self, request: ClientRequest) -> Any:
        if request.path.endswith("/limits"):
            raise Forbidden("no")
        return await self._transport.send(request)


@contextmanager
def observed(observer: Any) -> Iterator[None]:
    """Call an observer with each event of the log."""
    globalLogPublisher.addObserver(observer)
    try:
        yield
    finally:
        globalLogPublisher.removeObserver(observer)


def test_params_of_several_namespaces(policed: Policed) -> None:
    policed.policy("one", "object.spec.legs <= params.most", bound=False, paramKind=LIMIT_KIND)
    policed.bind("one", paramRef={"selector": {"matchLabels": {"limits": "yes"}}, "namespace": "other", **DENY})
    policed.limit("low", 3)
    policed.limit("high", 9, "other")
    policed.until(lambda: policed.params._followed and len(list(_informer(policed).items())) == 2)
    assert policed.create()[0] == 201
    policed.bind("one", paramRef={"selector": {"matchLabels": {"limits": "yes"}}, **DENY})
    assert why(policed.create()).endswith("failed expression: object.spec.legs <= params.most")


def _informer(policed: Policed) -> Any:
    return policed.params._followed[LIMIT].informer


def test_what_is_noted_of_a_denied_write(policed: Policed, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Go writes it: members in the order of the struct, and nothing that would be markup in HTML."""
    noted: dict[str, str] = {}
    monkeypatch.setattr("extapi.admission.base.Review.annotate", lambda _, key, value: noted.setdefault(key, value))
    notes = [{"key": "legs", "valueExpression": "' ' + string(object.spec.legs) + ' '"}]
    policed.policy("one", "object.spec.legs < 3", auditAnnotations=notes, bound=False)
    policed.bind("one", "first", validationActions=["Audit"])
    policed.bind("one", "second", validationActions=["Audit"])
    assert policed.create()[0] == 201
    assert noted["one/legs"] == "4"
    assert noted[FAILURE] == (
        '[{"message":"failed expression: object.spec.legs \\u003c 3","policy":"one","binding":"first",'
        '"expressionIndex":0,"validationActions":["Audit"]}]'
    )
    assert json.loads(noted[FAILURE])[0]["message"] == "failed expression: object.spec.legs < 3"


def test_notes_of_several_params(policed: Policed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each value once, in the order of the params."""
    noted: dict[str, str] = {}
    monkeypatch.setattr("extapi.admission.base.Review.annotate", lambda _, key, value: noted.setdefault(key, value))
    notes = [{"key": "most", "valueExpression": "string(params.most)"}]
    policed.policy("one", "true", auditAnnotations=notes, paramKind=LIMIT_KIND, bound=False)
    policed.bind("one", paramRef={"selector": {"matchLabels": {"limits": "yes"}}, **DENY})
    for name, most in (("c", 1), ("a", 2), ("b", 1), ("d", 3)):
        policed.limit(name, most)
    policed.until(lambda: policed.params._followed and len(list(_informer(policed).items())) == 4)
    assert policed.create()[0] == 201
    assert noted["one/most"] == "2, 1, 3"


def test_the_time_of_the_request_bounds_that_of_policies(policed: Policed) -> None:
    """What is decided after it is not told as if it had been decided."""
    policed.policy("one", "authorizer.path('/x').check('get').allowed()")
    policed.permits.seconds = 40
    status, answer = policed.create()
    assert (status, answer["reason"]) == (504, "Timeout")


def test_expressions_end_when_time_is_up() -> None:
    given = Input({"spec": {}}, None, {"resource": {}}, User("me"), ("g", "r", "", "ns", "n"))
    checks = Checks(User("me"))
    spec = {"validations": [{"expression": "true"}], "variables": [{"name": "v", "expression": "1"}]}
    (decision,) = Validations(spec).evaluate(given, "v1", checks, lambda: True).decisions
    assert decision.message == "expression 'true' resulted in error: operation interrupted"
    ignoring = Validations({**spec, "failurePolicy": "Ignore"}).evaluate(given, "v1", checks, lambda: True)
    assert not ignoring.decisions[0].denies
    assert ignoring.decisions[0].error == decision.message


def test_decisions_are_counted(policed: Policed) -> None:
    policed.policy("one", "false", "object.missing == 1", bound=False)
    policed.bind("one", validationActions=["Warn", "Deny"])
    why(policed.create())
    labels = {("one", "one", "invalid_error", action): 2 for action in ("warn", "deny")}
    assert policed.checks.counts == labels
    policed.policy("one", "object.missing == 1", "true", failurePolicy="Ignore")
    assert policed.create()[0] == 201
    assert policed.checks.counts == {**labels, ("one", "one", "invalid_error", "allow"): 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "invalid_error"),
        ("compilation error: compilation failed: x", "compile_error"),
        ("validation failed due to running out of cost budget, no further", "out_of_budget"),
        ("expression 'x' resulted in error: no such key: y", "invalid_error"),
    ],
)
def test_types_of_errors(text: str, expected: str) -> None:
    """As k8s.io/apiserver tells them, from texts."""
    assert error_type(text) == expected


@pytest.mark.parametrize(
    ("group", "resource", "expected"),
    [
        (REGISTRATION, "validatingadmissionpolicies", True),
        (REGISTRATION, "mutatingadmissionpolicybindings", True),
        (REGISTRATION, "validatingwebhookconfigurations", False),
        ("authentication.k8s.io", "tokenreviews", True),
        ("authorization.k8s.io", "subjectaccessreviews", True),
        ("tables.test", "tables", False),
    ],
)
def test_what_no_policy_is_about(group: str, resource: str, expected: bool) -> None:
    assert is_exempt(group, resource) is expected
