"""Definitions with webhooks, served: all verbs, in both versions, while the webhook works and while it does not."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from extapi.client.services import by_dns
from extapi.crd.definition import Definition
from extapi.crd.webhook import WebhookConverter
from extapi.crd.webhooks import Webhooks
from tests.unit.client.conftest import Turning
from tests.webhooks.answers import EVERY, by_name, http, review
from tests.webhooks.definitions import GROUP, KIND, definition, hook
from tests.webhooks.served import Served
from tests.webhooks.server import Call, Certified, Webhook, certified, serving

V1 = f"/apis/{GROUP}/v1/namespaces/default/hooks"
V2 = f"/apis/{GROUP}/v2/namespaces/default/hooks"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
WEBHOOK = f"conversion webhook for {GROUP}/v1, Kind={KIND}"


@pytest.fixture(scope="module")
def certificates() -> Certified:
    return certified()


@pytest.fixture
def webhook(certificates: Certified, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhook]:
    with serving(
        {**EVERY, "by-name": by_name, "down": EVERY["failure"]}, certificates.context(tmp_path_factory.mktemp("hook"))
    ) as served:
        yield served


@pytest.fixture
def turning() -> Iterator[Turning]:
    made = Turning()
    yield made
    made.close()


@pytest.fixture
def served(turning: Turning, webhook: Webhook, certificates: Certified) -> Iterator[Served]:
    made = Served(turning, definition(webhook.url("by-name"), certificates.ca.pem))
    yield made
    made.stop()


def test_every_version_is_read_and_written(served: Served, webhook: Webhook) -> None:
    status, made = served.request("POST", V2, hook("a", "v2"))
    assert (status, made["spec"]) == (201, {"hostPort": "h:1", "note": "old"})
    assert made["metadata"]["generation"] == 1
    assert served.request("GET", f"{V1}/a")[1]["spec"] == {"host": "h", "port": "1", "note": "old"}
    status, patched = served.request(
        "PATCH", f"{V2}/a", {"spec": {"hostPort": "i:2"}}, content_type="application/merge-patch+json"
    )
    assert (status, patched["metadata"]["generation"]) == (200, 2)
    assert served.request("GET", f"{V1}/a")[1]["spec"] == {"host": "i", "port": "2", "note": "old"}
    _, found = served.request("GET", f"{V2}/a")
    found["metadata"]["labels"] = {"new": "yes"}
    status, updated = served.request("PUT", f"{V2}/a", found)
    assert (status, updated["metadata"]["labels"]) == (200, {"new": "yes"})
    assert served.request("DELETE", f"{V2}/a")[0] == 200
    assert {call.review["request"]["desiredAPIVersion"] for call in webhook.calls} == {f"{GROUP}/v1", f"{GROUP}/v2"}


def test_what_is_stored_is_not_converted(served: Served, webhook: Webhook) -> None:
    served.request("POST", V1, hook("a"))
    served.request("GET", f"{V1}/a")
    served.request("GET", V1)
    served.request("PATCH", f"{V1}/a", {"spec": {"port": "2"}}, content_type="application/merge-patch+json")
    assert webhook.calls == []


def test_apply_in_one_version_after_another(served: Served) -> None:
    apply = {"content_type": "application/apply-patch+yaml", "query": {"fieldManager": "one", "force": "false"}}
    status, made = served.request("PATCH", f"{V1}/a", hook("a", host="h", port="1"), **apply)
    assert status == 201
    status, made = served.request("PATCH", f"{V2}/a", hook("a", "v2", hostPort="i:2"), **apply)
    assert (status, made["spec"]["hostPort"]) == (200, "i:2")
    assert served.request("GET", f"{V1}/a")[1]["spec"] == {"host": "i", "port": "2", "note": "old"}
    assert [each["manager"] for each in made["metadata"]["managedFields"]] == ["one"]


def test_a_webhook_that_is_down_stops_no_write_that_needs_no_conversion(served: Served, webhook: Webhook) -> None:
    """Though somebody manages fields in another version, who loses nothing by it."""
    apply = {"content_type": "application/apply-patch+yaml", "query": {"fieldManager": "one", "force": "false"}}
    assert served.request("PATCH", f"{V2}/a", hook("a", "v2", hostPort="h:1"), **apply)[0] == 201
    webhook.close()
    status, patched = served.request(
        "PATCH", f"{V1}/a", {"spec": {"note": "new"}}, content_type="application/merge-patch+json"
    )
    assert (status, patched["spec"]["note"]) == (200, "new")
    assert next(each["manager"] for each in patched["metadata"]["managedFields"]) == "one"


def test_a_list_is_converted_in_few_calls(served: Served, webhook: Webhook) -> None:
    for number in range(150):
        served.request("POST", V1, hook(f"good-{number:03}"))
    _, found = served.request("GET", V2)
    assert [item["spec"]["hostPort"] for item in found["items"]] == ["h:1"] * 150
    assert sorted(len(call.review["request"]["objects"]) for call in webhook.calls) == [50, 100]
    served.request("GET", V2)
    served.request("GET", f"{V2}/good-001")
    assert len(webhook.calls) == 2, "what is converted is kept"


def test_fields_of_the_version_select_and_are_shown(served: Served) -> None:
    served.request("POST", V1, hook("a", host="h", port="1"))
    served.request("POST", V1, hook("b", host="i", port="2"))
    _, found = served.request("GET", V2, query={"fieldSelector": "spec.hostPort=i:2"})
    assert [item["metadata"]["name"] for item in found["items"]] == ["b"]
    _, table = served.request("GET", V2, accept=TABLE)
    assert [row["cells"] for row in table["rows"]] == [["a", "h:1"], ["b", "i:2"]]


def test_an_object_that_fails_hides_no_other_but_fails_its_list(served: Served) -> None:
    for name in ("failure", "ok"):
        served.request("POST", V1, hook(name))
    status, error = served.request("GET", f"{V2}/failure")
    assert (status, error["message"]) == (500, f"{WEBHOOK} failed: no such host")
    assert served.request("GET", f"{V2}/ok")[0] == 200
    status, error = served.request("GET", V2)
    assert (status, error["message"]) == (500, f"{WEBHOOK} failed: no such host")


def test_a_failing_webhook_fails_only_those_who_need_it(
    turning: Turning, webhook: Webhook, certificates: Certified
) -> None:
    other = definition(webhook.url("good"), certificates.ca.pem, group="other.example.com")
    served = Served(turning, definition(webhook.url("down"), certificates.ca.pem), other)
    try:
        served.request("POST", V1, hook("a"))
        for method, path, body in (("GET", V2, None), ("GET", f"{V2}/a", None), ("POST", V2, hook("b", "v2"))):
            status, error = served.request(method, path, body)
            assert (status, error["message"].partition(" failed: ")[2]) == (500, "no such host")
        assert served.request("GET", f"{V1}/a")[0] == 200
        assert served.request("GET", f"{V1}/b")[0] == 404
        elsewhere = V1.replace(GROUP, "other.example.com")
        served.request("POST", elsewhere, {**hook("c"), "apiVersion": "other.example.com/v1"})
        assert served.request("GET", elsewhere.replace("v1", "v2"))[0] == 200
    finally:
        served.stop()


def test_readers_of_others_do_not_wait_for_a_webhook_that_hangs(served: Served, webhook: Webhook) -> None:
    for name in ("hang", "ok"):
        served.request("POST", V1, hook(name))
    hanging = served.begin("GET", f"{V2}/hang")
    served.until(lambda: len(webhook.calls) == 1)
    assert served.request("GET", f"{V2}/ok")[0] == 200
    assert served.request("GET", V1)[0] == 200
    hanging.addErrback(lambda _: None)
    hanging.cancel()
    served.until(lambda: len(webhook.open) <= 1)


def test_a_watch_sees_converted_events_in_their_order(served: Served) -> None:
    served.request("POST", V1, hook("a"))
    watch = served.server.watch(V2)
    served.request("POST", V1, hook("b"))
    served.request("PATCH", f"{V1}/a", {"spec": {"port": "2"}}, content_type="application/merge-patch+json")

    served.until(lambda: len(watch.events) == 3)
    assert [(kind, shown["spec"]["hostPort"]) for kind, shown, *_ in watch.events] == [
        ("ADDED", "h:1"),
        ("ADDED", "h:1"),
        ("MODIFIED", "h:2"),
    ]


def test_labels_may_change_and_the_rest_of_metadata_stays(served: Served) -> None:
    for name in ("labels", "other-metadata"):
        served.request("POST", V1, hook(name))
    assert served.request("GET", f"{V2}/labels")[1]["metadata"]["labels"] == {"color": "red"}
    _, before = served.request("GET", f"{V1}/other-metadata")
    assert served.request("GET", f"{V2}/other-metadata")[1]["metadata"] == before["metadata"]


def test_unknown_fields_of_an_answer_are_pruned(
    turning: Turning, certificates: Certified, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def chatty(call: Call) -> bytes:
        made = review(call)
        for each in made["response"]["convertedObjects"]:
            each["spec"]["unknown"] = each["extra"] = 1
        return http(json.dumps(made))

    with serving({"chatty": chatty}, certificates.context(tmp_path_factory.mktemp("hook"))) as webhook:
        served = Served(turning, definition(webhook.url("chatty"), certificates.ca.pem))
        try:
            served.request("POST", V1, hook("a"))
            _, found = served.request("GET", f"{V2}/a")
        finally:
            served.stop()
    assert "extra" not in found
    assert "unknown" not in found["spec"]


# -- which webhook


def test_a_webhook_stays_while_its_definition_says_the_same(turning: Turning) -> None:
    webhooks = Webhooks(by_dns, turning.reactor)
    first = webhooks(Definition(definition("https://a/", b"x")))
    other = definition("https://a/", b"x")
    other["metadata"]["labels"] = {"a": "b"}
    assert webhooks(Definition(other)) is first
    assert webhooks(Definition(definition("https://b/", b"x"))) is not first
    webhooks.close()


def test_a_webhook_that_was_closed_is_made_again(turning: Turning) -> None:
    webhooks = Webhooks(by_dns, turning.reactor)
    first = webhooks(Definition(definition("https://a/", b"x")))
    assert isinstance(first, WebhookConverter)
    first.close()
    assert webhooks(Definition(definition("https://a/", b"x"))) is not first
    webhooks.close()
