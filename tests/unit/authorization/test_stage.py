"""May they: the stage, its authorizers, and the words of a refusal (spec B8, B9, B14-B19)."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.api.requestselectors import Selectors
from extapi.api.user import User
from extapi.authorization.attributes import attributes_of
from extapi.authorization.base import Attributes, AuthorizationError, Authorizer, Decision, Verdict
from extapi.authorization.groups import AlwaysAllowGroups
from extapi.authorization.paths import AlwaysAllowPaths
from extapi.authorization.refusal import NotAuthorized, not_authorized
from extapi.authorization.stage import Authorization
from extapi.authorization.union import Union
from extapi.errors import BadRequest, Forbidden, InternalError
from extapi.listener.call import Call, RequestInfo, Response
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
    async def end(asked: Call) -> Response:
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
    assert attributes_of(RequestInfo("get", "/version")) == Attributes("get", "/version")


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


def test_masters_may_everything() -> None:
    groups = AlwaysAllowGroups()
    assert (
        run(groups.authorize(User("a", groups=("x", "system:masters")), attributes_of(PIZZA))).verdict is Verdict.ALLOW
    )
    assert run(groups.authorize(User("system:masters"), attributes_of(PIZZA))).verdict is Verdict.NO_OPINION


@pytest.mark.parametrize(
    ("path", "verdict"),
    [
        ("/healthz", Verdict.ALLOW),
        ("/livez", Verdict.ALLOW),
        ("/readyz", Verdict.ALLOW),
        ("/readyz/ping", Verdict.NO_OPINION),
        ("/healthz/", Verdict.NO_OPINION),
        ("/metrics", Verdict.NO_OPINION),
        ("/", Verdict.NO_OPINION),
    ],
)
def test_health_is_for_everybody(path: str, verdict: Verdict) -> None:
    assert run(AlwaysAllowPaths().authorize(BOB, Attributes("get", path))).verdict is verdict


def test_paths_by_prefix_without_slash_and_never_resources() -> None:
    paths = AlwaysAllowPaths(["docs", "/open/*"])

    def verdict(attributes: Attributes) -> Verdict:
        return run(paths.authorize(BOB, attributes)).verdict

    assert verdict(Attributes("get", "/docs")) is Verdict.ALLOW
    assert verdict(Attributes("get", "/open/a/b")) is Verdict.ALLOW
    assert verdict(Attributes("get", "/open")) is Verdict.NO_OPINION
    assert verdict(Attributes("get", "/docs", is_resource=True)) is Verdict.NO_OPINION
    assert run(AlwaysAllowPaths(["*"]).authorize(BOB, Attributes("get", "/any"))).verdict is Verdict.ALLOW


@pytest.mark.parametrize("path", ["/a*b", "*/a", "/a**"])
def test_a_star_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="only trailing"):
        AlwaysAllowPaths([path])


@pytest.mark.parametrize(
    ("answers", "decision"),
    [
        ([NOTHING, ALLOW], ALLOW),
        ([DENY, ALLOW], DENY),
        ([AuthorizationError("x"), ALLOW], ALLOW),
        (
            [Decision(Verdict.NO_OPINION, "one"), NOTHING, Decision(Verdict.NO_OPINION, "two")],
            Decision(Verdict.NO_OPINION, "one\ntwo"),
        ),
        ([], NOTHING),
    ],
)
def test_the_first_that_decides(answers: list[Any], decision: Decision) -> None:
    assert run(Union([Says(each) for each in answers]).authorize(BOB, attributes_of(PIZZA))) == decision


def test_errors_without_an_allow() -> None:
    two = [Says(AuthorizationError("a")), Says(NOTHING), Says(AuthorizationError("b"))]
    with pytest.raises(AuthorizationError, match=r"^\[a, b\]$"):
        run(Union(two).authorize(BOB, attributes_of(PIZZA)))
    with pytest.raises(AuthorizationError, match=r"^a$"):
        run(Union(two[:2]).authorize(BOB, attributes_of(PIZZA)))
