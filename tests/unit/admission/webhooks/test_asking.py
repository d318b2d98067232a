"""What becomes of a write when a cluster has webhooks. What kube-apiserver does with each answer is compared end to end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from extapi import CLUSTER, Api, Group, Kind, Version
from extapi.client.services import by_dns
from extapi.crd.definition import Definition
from extapi.crd.kinds import kind_of
from extapi.crd.webhooks import Webhooks
from extapi.pizza import api as pizza
from tests.unit.client.conftest import Turning
from tests.webhooks.admitted import Admitted, path, webhook
from tests.webhooks.answers import good
from tests.webhooks.definitions import definition, hook as custom
from tests.webhooks.server import Certified, Webhook, serving

PIZZAS = pizza.groups[0].name

Hook = Callable[..., dict[str, Any]]


@pytest.fixture
def hook(webhooks: Webhook, certificates: Certified) -> Hook:
    """A webhook that answers as its name says."""
    webhooks.calls.clear()
    return lambda answer, **members: webhook(webhooks.url(answer), certificates.ca.pem, f"{answer}.test", **members)


@pytest.fixture
def unfollowed() -> Iterator[Admitted]:
    """One that does not know yet which webhooks there are."""
    turning = Turning()
    made = Admitted(turning, follow=False)
    yield made
    made.stop()
    turning.close()


@pytest.fixture
def turning_pizzas() -> Iterator[Admitted]:
    """The pizzas, without what else their API does."""
    turning = Turning()
    made = Admitted(turning, api=Api(*pizza.groups))
    yield made
    made.stop()
    turning.close()


def test_without_configurations_nobody_is_asked(admitted: Admitted) -> None:
    assert admitted.create()[0] == 201
    assert all(source.idle for source in admitted.sources.values())


def test_a_write_waits_until_webhooks_are_known(unfollowed: Admitted) -> None:
    waiting = unfollowed.begin("DELETE", path(name="a"))
    unfollowed.follow()
    assert unfollowed.wait(waiting)[0] == 404


def test_a_write_is_refused_if_webhooks_are_not_known_in_time(unfollowed: Admitted) -> None:
    obj = {"apiVersion": "tables.test/v1", "kind": "Table", "metadata": {"name": "a"}}
    waiting = unfollowed.begin("POST", path(), obj)
    unfollowed.clock.advance(10)
    status, answer = unfollowed.wait(waiting)
    assert (status, answer["message"]) == (403, 'tables.tables.test "a" is forbidden: not yet ready to handle request')


def test_a_webhook_that_comes_and_goes(admitted: Admitted, hook: Hook, webhooks: Webhook) -> None:
    admitted.configure("validating", hook("deny"))
    assert admitted.create()[0] == 400
    admitted.configure("validating", hook("allow"))
    assert admitted.create()[0] == 201
    admitted.cluster.request("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/all")
    admitted.until(lambda: not list(admitted.sources["validating"]._informer.items()))
    asked = len(webhooks.calls)
    assert admitted.create("b")[0] == 201
    assert len(webhooks.calls) == asked
    assert not admitted.callers._callers


def test_webhooks_are_called_in_the_order_of_their_configurations(
    admitted: Admitted, hook: Hook, webhooks: Webhook
) -> None:
    admitted.configure("mutating", hook("patch-label"), name="b")
    admitted.configure("mutating", hook("allow"), hook("warn"), name="a")
    assert admitted.create()[0] == 201
    assert [call.target.partition("?")[0] for call in webhooks.calls] == ["/allow", "/warn", "/patch-label"]


def test_a_connection_is_used_again(admitted: Admitted, hook: Hook, webhooks: Webhook) -> None:
    admitted.configure("mutating", hook("allow"))
    admitted.configure("validating", hook("allow"))
    before = webhooks.connections
    for name in "abc":
        assert admitted.create(name)[0] == 201
    assert webhooks.connections == before + 1


@pytest.mark.parametrize("kind", ["mutating", "validating"])
def test_side_effects_and_dry_run(kind: str, admitted: Admitted, hook: Hook) -> None:
    """kube-apiserver takes no such configurations any more, but may have old ones."""
    for effects, policy in (("Some", "Fail"), ("Unknown", "Ignore")):
        admitted.configure(kind, hook("allow", sideEffects=effects, failurePolicy=policy))
        status, answer = admitted.create(query="?dryRun=All")
        assert (status, answer["reason"]) == (400, "BadRequest")
        assert answer["message"] == 'admission webhook "allow.test" does not support dry run'
        assert admitted.create(f"a-{policy}".lower())[0] == 201


def test_the_time_of_the_request_bounds_that_of_a_webhook(admitted: Admitted, hook: Hook, webhooks: Webhook) -> None:
    admitted.configure("validating", hook("allow", timeoutSeconds=30))
    obj = {"apiVersion": "tables.test/v1", "kind": "Table", "metadata": {"name": "a"}}
    assert admitted.wait(admitted.begin("POST", path(), obj, timeout=7.5))[0] == 201
    (call,) = webhooks.calls
    assert call.target == "/allow?timeout=8s"


def test_a_deletion_cannot_be_patched(admitted: Admitted, hook: Hook) -> None:
    assert admitted.create()[0] == 201
    admitted.configure("mutating", hook("patch-label"))
    status, answer = admitted.request("DELETE", path(name="a"))
    assert status == 500
    assert answer["message"] == (
        'Internal error occurred: admission webhook "patch-label.test" attempted to modify the object, '
        "which is not supported for this operation"
    )


def test_the_deletion_of_a_collection_names_no_object(admitted: Admitted, hook: Hook, webhooks: Webhook) -> None:
    # k8s.io/apiserver/pkg/endpoints/handlers/delete.go DeleteCollection
    assert admitted.create()[0] == 201
    for kind in ("mutating", "validating"):
        admitted.configure(kind, hook("allow"))
    assert admitted.request("DELETE", path())[0] == 200
    asked = [call.review["request"] for call in webhooks.calls]
    assert [("name" in each, each["oldObject"]["metadata"]["name"]) for each in asked] == [(False, "a")] * 2


def test_a_new_namespace_is_in_the_namespace_of_its_name(hook: Hook, webhooks: Webhook) -> None:
    # k8s.io/apiserver/pkg/endpoints/handlers/create.go createHandler
    turning = Turning()
    spaces = Kind("Namespace", versions={"v1": Version({"type": "object"})}, storage="v1", scope=CLUSTER, status=False)
    made = Admitted(turning, api=Api(Group("", spaces)))
    try:
        made.configure("mutating", hook("allow", rule={"apiGroups": [""], "resources": ["namespaces"]}))
        obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}}
        assert made.request("POST", "/api/v1/namespaces", obj)[0] == 201
    finally:
        made.stop()
        turning.close()
    assert [call.review["request"]["namespace"] for call in webhooks.calls] == ["new"]


def test_what_is_no_metadata_is_left_out_of_a_custom_resource(hook: Hook, webhooks: Webhook) -> None:
    """A kind with types refuses it, as Go does with its own; see tests/kubernetes/test_plane_webhooks.py."""
    turning, found = Turning(), Definition(definition("https://a.test", b"", conversion={"strategy": "None"}))
    made = Admitted(turning, api=Api(Group(found.group, kind_of(found))))
    try:
        rule = {"apiGroups": [found.group], "resources": ["hooks"]}
        made.configure("mutating", hook("patch-label-type", rule=rule))
        obj = custom("a")
        obj["metadata"]["labels"] = {"b": "c"}
        status, answer = made.request("POST", f"/apis/{found.group}/v1/namespaces/default/hooks", obj)
    finally:
        made.stop()
        turning.close()
    assert (status, answer["metadata"].get("labels")) == (201, None)


def test_a_namespace_that_does_not_exist(admitted: Admitted, hook: Hook) -> None:
    assert admitted.create()[0] == 201
    admitted.configure("validating", hook("deny", namespaceSelector={"matchLabels": {"a": "b"}}))
    assert admitted.request("PATCH", path(name="a"), {"spec": {"legs": 3}})[0] == 200
    admitted.namespaces.missing.add("default")
    status, answer = admitted.request("PATCH", path(name="a"), {"spec": {"legs": 5}})
    assert (status, answer["message"]) == (404, 'namespaces "default" not found')


def test_audit_annotations(admitted: Admitted, hook: Hook) -> None:
    admitted.configure("mutating", hook("annotate"), hook("closed", failurePolicy="Ignore"))
    admitted.configure("validating", hook("closed", failurePolicy="Ignore"))
    noted: dict[str, str] = {}
    chain = admitted.server.server._plugins.chain
    before = chain.validate

    async def validate(review: Any) -> None:
        annotate = review.annotated
        review.annotated = lambda key, value: (noted.update({key: value}), annotate(key, value))
        await before(review)

    chain.validate = validate  # type: ignore[method-assign]
    status, _ = admitted.create()
    assert status == 201
    assert noted == {"failed-open.validating.webhook.admission.k8s.io/round_0_index_0": "closed.test"}


def test_a_check_is_asked_once_per_evaluation(admitted: Admitted, hook: Hook) -> None:
    expression = (
        "authorizer.path('/a').check('get').allowed() && authorizer.path('/a').check('get').reason() == 'because'"
    )
    admitted.configure("validating", hook("deny", matchConditions=[{"name": "a", "expression": expression}]))
    assert admitted.create()[0] == 400
    assert [attributes.path for _, attributes in admitted.permits.asked] == ["/a"]


def test_a_condition_that_does_not_compile_breaks_no_server(admitted: Admitted, hook: Hook) -> None:
    admitted.configure("validating", hook("deny", matchConditions=[{"name": "a", "expression": "object."}]))
    status, answer = admitted.create()
    assert status == 403
    assert 'tables.tables.test "a" is forbidden: compilation error: compilation failed: ' in answer["message"]


@pytest.mark.parametrize(
    "broken",
    [
        {"clientConfig": {}},
        {"clientConfig": {"url": "https://[::1"}},
        {"clientConfig": {"service": {}}},
        {"rules": None},
        {"rules": [{}]},
        {"admissionReviewVersions": ["v7"]},
        {"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}},
    ],
)
def test_a_configuration_that_is_broken_breaks_no_server(
    broken: dict[str, Any], admitted: Admitted, hook: Hook
) -> None:
    admitted.configure("validating", {**hook("allow"), **broken})
    status, answer = admitted.create()
    assert status in (201, 500), answer
    admitted.configure("validating", hook("allow"))
    assert admitted.create("b")[0] == 201


def test_a_kind_with_a_hub_is_shown_in_the_version_of_the_rule(
    webhooks: Webhook, certificates: Certified, turning_pizzas: Admitted
) -> None:
    """An author's functions convert; a patch of the one version is there in the other."""
    webhooks.calls.clear()
    rule = {"apiGroups": [PIZZAS], "apiVersions": ["v1alpha1"], "resources": ["pizzas"]}
    made = webhook(webhooks.url("add-ham"), certificates.ca.pem, rule=rule)
    turning_pizzas.configure("mutating", made)
    obj = {"apiVersion": f"{PIZZAS}/v1beta1", "kind": "Pizza", "metadata": {"name": "a"}}
    obj["spec"] = {"toppings": [{"name": "tomato", "quantity": 2}]}
    status, answer = turning_pizzas.request("POST", f"/apis/{PIZZAS}/v1beta1/namespaces/default/pizzas", obj)
    assert status == 201, answer
    assert answer["spec"]["toppings"] == [{"name": "tomato", "quantity": 2}, {"name": "ham", "quantity": 1}]
    (call,) = webhooks.calls
    asked = call.review["request"]
    assert asked["kind"] == {"group": PIZZAS, "version": "v1alpha1", "kind": "Pizza"}
    assert asked["requestKind"]["version"] == "v1beta1"
    assert asked["resource"]["version"] == "v1alpha1"
    assert asked["object"]["apiVersion"] == f"{PIZZAS}/v1alpha1"
    assert asked["object"]["spec"] == {"toppings": ["tomato", "tomato"]}


def test_an_object_that_a_webhook_converts_is_waited_for(
    webhooks: Webhook, certificates: Certified, tmp_path: Path
) -> None:
    """Its kind is that of a CustomResourceDefinition, whose objects a conversion webhook converts."""
    turning = Turning()
    with serving({"good": good}, certificates.context(tmp_path)) as converting:
        found = Definition(definition(converting.url("good"), certificates.ca.pem))
        converters = Webhooks(by_dns, turning.reactor)
        admitted = Admitted(turning, api=Api(Group(found.group, kind_of(found, converters))))
        try:
            webhooks.calls.clear()
            rule = {"apiGroups": [found.group], "apiVersions": ["v2"], "resources": ["hooks"]}
            admitted.configure("mutating", webhook(webhooks.url("set-host"), certificates.ca.pem, rule=rule))
            admitted.configure("validating", webhook(webhooks.url("allow"), certificates.ca.pem, rule=rule))
            where = f"/apis/{found.group}/v1/namespaces/default/hooks"
            status, answer = admitted.request("POST", where, custom("a"))
            assert status == 201, answer
            assert (answer["spec"]["host"], answer["spec"]["port"]) == ("other", "2")
            shown = [call.review["request"]["object"] for call in webhooks.calls]
            assert [each["apiVersion"] for each in shown] == [f"{found.group}/v2"] * 2
            assert [each["spec"]["hostPort"] for each in shown] == ["h:1", "other:2"]
            status, answer = admitted.request("DELETE", f"{where}/a")
            assert status == 500  # the patch is for objects that stay
            assert webhooks.calls[-1].review["request"]["oldObject"]["spec"]["hostPort"] == "other:2"
        finally:
            admitted.stop()
            converters.close()
            turning.until(lambda: not converting.open)
            turning.close()
