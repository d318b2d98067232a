"""May they: the stage, and the words of a refusal (behaviour B14-B19)."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.api.requestselectors import Selectors
from extapi.api.user import User
from extapi.authorization.authorizer import (
    Attributes,
    AuthorizationError,
    Authorizer,
    Decision,
    Verdict,
)
from extapi.authorization.stage import Authorization, NotAuthorized, not_authorized
from extapi.errors import BadRequest, Forbidden, InternalError
from extapi.http.request import Request, RequestInfo
from extapi.http.response import Response
from tests.unit.client.building import call, run

BOB = User("bob", groups=("system:authenticated",))
PIZZA = RequestInfo(
    "get",
    "/apis/restaurant.io/v1/namespaces/default/pizzas/margherita",
    is_resource=True,
    prefix="apis",
    group="restaurant.io",
    version="v1",
    namespace="default",
    resource="pizzas",
    name="margherita",
    parts=("pizzas", "margherita"),
)


class Says:
    """Always the same answer."""

    def __init__(self, answer: Decision | AuthorizationError) -> None:
        self.answer = answer
        self.asked: list[Attributes] = []

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        self.asked.append(attributes)
        if isinstance(self.answer, AuthorizationError):
            raise self.answer
        return self.answer


ALLOW, DENY, NOTHING = Decision(Verdict.ALLOW), Decision(Verdict.DENY, "never"), Decision(Verdict.NO_OPINION)


def _through(authorizer: Authorizer, info: RequestInfo, user: User | None = BOB, target: str = "/x") -> Any:
    async def end(asked: Request) -> Response:
        return Response(204)

    asked = call(info=info, target=target)
    asked.query = {"fieldSelector": [info.field_selector], "labelSelector": [info.label_selector]}
    asked.user = user
    return run(Authorization(end, authorizer)(asked))


def test_allowed_goes_on_with_all_attributes() -> None:
    authorizer = Says(ALLOW)
    info = RequestInfo(
        "list", "/apis/g/v1/pods", True, "apis", "g", "v1", "ns", "pods", "log", "n", ("pods",), "f=1", "l=2"
    )
    assert _through(authorizer, info).status == 204
    assert authorizer.asked == [
        Attributes("list", "/apis/g/v1/pods", True, "g", "v1", "ns", "pods", "log", "n", Selectors("l=2", "f=1"))
    ]


@pytest.mark.parametrize("what", ["field", "label"])
def test_selectors_beyond_their_bounds_are_refused_without_a_question(what: str) -> None:
    authorizer = Says(ALLOW)
    text = ",".join(["a"] * 100_000)
    fields, labels = (text, "") if what == "field" else ("", text)
    info = RequestInfo("list", "/x", True, "apis", "g", "v1", "ns", "pods", "", "", ("pods",), fields, labels)
    with pytest.raises(BadRequest, match=f"^invalid {what} selector: "):
        _through(authorizer, info)
    assert authorizer.asked == []


def test_refused_on_a_named_object() -> None:
    with pytest.raises(NotAuthorized) as caught:
        _through(Says(NOTHING), PIZZA)
    assert caught.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'pizzas.restaurant.io "margherita" is forbidden: User "bob" cannot get resource "pizzas" '
        'in API group "restaurant.io" in the namespace "default"',
        "reason": "Forbidden",
        "details": {"name": "margherita", "group": "restaurant.io", "kind": "pizzas"},
        "code": 403,
    }
    assert isinstance(caught.value, Forbidden)


def test_refused_at_the_cluster_scope_without_a_name() -> None:
    error = not_authorized(
        BOB, Attributes("list", is_resource=True, group="g.io", version="v1", resource="toppings"), "why <b>"
    )
    assert error.message == (
        'toppings.g.io is forbidden: User "bob" cannot list resource "toppings" in API group "g.io" '
        "at the cluster scope: why <b>"
    )
    assert error.status()["details"] == {"group": "g.io", "kind": "toppings"}


def test_refused_on_a_subresource_of_the_core_group() -> None:
    error = not_authorized(
        User('a"<b>'),
        Attributes(
            "update", is_resource=True, version="v1", namespace="n", resource="pods", subresource="log", name="p"
        ),
        "",
    )
    assert error.message == (
        'pods "p" is forbidden: User "a\\"&lt;b&gt;" cannot update resource "pods/log" in API group "" '
        'in the namespace "n"'
    )


def test_refused_on_a_path() -> None:
    error = not_authorized(User("system:anonymous"), Attributes("get", "/a&b"), "")
    assert error.message == 'forbidden: User "system:anonymous" cannot get path "/a&amp;b"'
    assert error.status()["details"] == {}


def test_a_denial_says_why() -> None:
    with pytest.raises(NotAuthorized, match=r'"default": never$'):
        _through(Says(DENY), PIZZA)


def test_no_answer_is_500_in_plain_text() -> None:
    """What the server asked, and what it was told, is in its log: it is none of the caller's business."""
    error = AuthorizationError("https://10.0.0.1:6443: connection refused")
    response = _through(Says(error), PIZZA, target="/apis?a=1&b=<2>")
    assert response.status == 500
    assert response.headers == [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("X-Content-Type-Options", "nosniff"),
    ]
    assert response.body == b'Internal Server Error: "/apis?a=1&amp;b=&lt;2&gt;": the authorizer gave no answer\n'


def test_nobody_is_a_defect() -> None:
    with pytest.raises(InternalError, match="no user found"):
        _through(Says(ALLOW), PIZZA, user=None)
