"""Errors become answers: behaviour E8, G2, G12, H6."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from twisted.internet.defer import Deferred
from twisted.logger import ILogObserver, LogLevel, formatEvent, globalLogPublisher

from extapi.api.user import User
from extapi.authentication.authenticator import Undecided
from extapi.authorization.authorizer import Attributes, AuthorizationError, Decision, Verdict
from extapi.errors import InternalError, ServerTimeout, ServiceUnavailable, TooManyRequests
from extapi.http.request import Peer, Request
from extapi.http.response import Handler, Response
from extapi.listener.requestinfo import request_info
from extapi.loading.authorscode import AuthorsCode
from extapi.server.failure import Failures
from extapi.server.loopback import BodyBytes
from extapi.storage.base import Unavailable
from extapi.testing import serve
from tests.unit.client.building import call, run
from tests.unit.verbs.sample import GROUP, V1, WIDGETS, Shop, failure, shop, widget


class Reader:
    """Lets Bob read and nothing else, and says why."""

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        if user.name == "bob" and attributes.verb in {"get", "list"}:
            return Decision(Verdict.ALLOW)
        return Decision(Verdict.NO_OPINION, "no rule")


BOB = User("bob")


def test_what_may_not_be_done_is_403_and_not_sniffed() -> None:
    """Behaviour B16, M2."""
    with serve(shop(), authorizer=Reader()) as server:
        assert server.request("GET", WIDGETS, user=BOB).status == 200
        answer = server.request("DELETE", f"{WIDGETS}/x", user=BOB)
    assert answer.status == 403
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert failure(answer) == {
        "message": 'widgets.shop.example.com "x" is forbidden: User "bob" cannot delete resource "widgets" in API group '
        '"shop.example.com" in the namespace "default": no rule',
        "reason": "Forbidden",
        "details": {"name": "x", "group": GROUP, "kind": "widgets"},
    }


def test_other_errors_are_sniffed_as_ever(shop_served: Shop) -> None:
    """Behaviour G17."""
    assert "x-content-type-options" not in shop_served.request("GET", f"{WIDGETS}/x").headers


def test_why_an_authors_code_failed_is_logged_and_not_told(shop_served: Shop) -> None:
    """The client learns where it failed; the traceback is for the log."""

    async def fail(review: object) -> None:
        raise ValueError("a secret")

    shop_served.plugin.on_validate = fail
    logged: list[dict[str, Any]] = []
    observer = cast("ILogObserver", logged.append)
    globalLogPublisher.addObserver(observer)
    try:
        answer = shop_served.request("POST", WIDGETS, body=widget())
    finally:
        globalLogPublisher.removeObserver(observer)
    assert answer.status == 500
    assert b"a secret" not in answer.body
    (event,) = [event for event in logged if "log_failure" in event]
    assert str(event["log_failure"].value) == "a secret"


def test_on_a_development_server_it_is_told_as_well() -> None:
    error = InternalError("conversion failed")

    async def fail(_: Request) -> Response:
        try:
            int("no number")
        except ValueError as reason:
            raise error from reason
        raise AssertionError

    line = fail.__code__.co_firstlineno + 2
    call = Request("GET", "/x", request_info("GET", "/x", {}), {}, {}, BodyBytes(b""), Peer(), "id", 0.0, 60.0)
    for _ in range(2):  # one that is kept with what could not be converted is raised again and again
        answers: list[Response] = []
        Deferred.fromCoroutine(told(Failures(fail, AuthorsCode().describe), call)).addCallback(answers.append)
        assert isinstance(answers[0].body, bytes)
        assert json.loads(answers[0].body)["message"] == (
            "conversion failed: ValueError: invalid literal for int() with base 10: 'no number' "
            f"(File 'tests/unit/server/test_failure.py', line {line}, in {fail.__qualname__})"
        )


async def told(handler: Handler, call: Request) -> Response:
    return await handler(call)


def test_a_store_in_trouble_is_logged_without_a_traceback(shop_served: Shop) -> None:
    """Every write fails while a disk is full: one line each, which says why."""

    async def fail(review: object) -> None:
        raise ServerTimeout.on("widgets", GROUP, "create") from Unavailable("database or disk is full")

    shop_served.plugin.on_validate = fail
    logged: list[dict[str, Any]] = []
    observer = cast("ILogObserver", logged.append)
    globalLogPublisher.addObserver(observer)
    try:
        answer = shop_served.request("POST", WIDGETS, body=widget())
    finally:
        globalLogPublisher.removeObserver(observer)
    assert answer.status == 500
    assert b"disk is full" not in answer.body
    (event,) = [event for event in logged if event["log_level"] is LogLevel.error]
    assert "log_failure" not in event
    assert "database or disk is full" in str(formatEvent(event))


@pytest.mark.parametrize("why", [Undecided("no answer from 10.0.0.1"), AuthorizationError("no answer from 10.0.0.1")])
def test_a_cluster_that_does_not_answer_is_logged_without_a_traceback(why: Exception) -> None:
    """It fails every request, some of which anybody may send."""

    async def fail(_: Request) -> Response:
        raise ServiceUnavailable("not now") from why

    logged: list[Any] = []
    observer = cast("ILogObserver", logged.append)
    globalLogPublisher.addObserver(observer)
    assert run(Failures(fail)(call())).status == 503
    globalLogPublisher.removeObserver(observer)
    (event,) = logged
    assert "log_failure" not in event
    assert formatEvent(event) == "not now: no answer from 10.0.0.1"


@pytest.mark.parametrize("seconds", [1, 30, 0])
def test_when_to_come_again_is_told(seconds: int) -> None:
    """Behaviour H6: client-go waits so long, and does not try again without it."""

    async def busy(_: Request) -> Response:
        raise TooManyRequests("later", retry_after=seconds)

    headers = dict(run(Failures(busy)(call())).headers)
    assert headers.get("Retry-After") == (str(seconds) if seconds else None)


def test_acting_as_somebody_else() -> None:
    """Impersonation is part of the chain."""
    with serve(shop()) as server:
        answer = server.request("GET", f"{V1}/widgets", headers={"Impersonate-User": "bob"})
        assert answer.status == 200
    with serve(shop(), authorizer=Reader()) as server:
        answer = server.request("GET", f"{V1}/widgets", headers={"Impersonate-User": "alice"}, user=BOB)
        assert answer.status == 403
