"""Acting as somebody else (behaviour A32)."""

from __future__ import annotations

import pytest

from extapi.api.user import User
from extapi.authorization.authorizer import Attributes, AuthorizationError, Decision, Verdict
from extapi.authorization.impersonation import ITEMS, LENGTH, Impersonation
from extapi.authorization.stage import NotAuthorized
from extapi.errors import BadRequest, InternalError
from extapi.http.request import Request
from extapi.http.response import Response
from tests.unit.client.building import call, run

ADMIN = User("admin", groups=("ops",))


class Rules:
    """Allows everything but one resource."""

    def __init__(self, refused: str = "", *, fails: bool = False) -> None:
        self.refused = refused
        self.fails = fails
        self.asked: list[tuple[str, str, str, str, str]] = []

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        assert user is ADMIN
        assert attributes.verb == "impersonate"
        assert attributes.is_resource
        self.asked.append(
            (attributes.group, attributes.resource, attributes.subresource, attributes.namespace, attributes.name)
        )
        if self.fails:
            raise AuthorizationError("gone")
        return Decision(Verdict.NO_OPINION if attributes.resource == self.refused else Verdict.ALLOW)


def _through(headers: dict[str, list[str]], rules: Rules | None = None, user: User | None = ADMIN) -> Request:
    async def end(asked: Request) -> Response:
        return Response(200)

    asked = call(headers=headers)
    asked.user = user
    run(answered(Impersonation(end, rules or Rules()), asked))
    return asked


async def answered(stage: Impersonation, asked: Request) -> Response:
    return await stage(asked)


def test_nobody_is_impersonated() -> None:
    asked = _through({"accept": ["*/*"], "impersonate-other": ["x"], "impersonate_user": ["x"], "impersonated": ["x"]})
    assert asked.user is ADMIN
    assert asked.original_user is None
    assert asked.headers == {"accept": ["*/*"], "impersonated": ["x"]}


def test_a_user_with_everything() -> None:
    rules = Rules()
    asked = _through(
        {
            "impersonate-user": ["alice"],
            "impersonate-group": ["devs", "qa"],
            "impersonate-uid": ["7"],
            "impersonate-extra-example.com%2fscopes": ["a", "b"],
            "impersonate-extra-bad%zz": ["c"],
            "accept": ["*/*"],
        },
        rules,
    )
    assert asked.user == User(
        "alice",
        "7",
        ("devs", "qa", "system:authenticated"),
        {"example.com/scopes": ("a", "b"), "bad%zz": ("c",)},
    )
    assert asked.original_user is ADMIN
    assert asked.headers == {"accept": ["*/*"]}
    assert rules.asked == [
        ("", "users", "", "", "alice"),
        ("", "groups", "", "", "devs"),
        ("", "groups", "", "", "qa"),
        ("authentication.k8s.io", "userextras", "example.com/scopes", "", "a"),
        ("authentication.k8s.io", "userextras", "example.com/scopes", "", "b"),
        ("authentication.k8s.io", "userextras", "bad%zz", "", "c"),
        ("authentication.k8s.io", "uids", "", "", "7"),
    ]


def test_a_service_account() -> None:
    rules = Rules()
    asked = _through({"impersonate-user": ["system:serviceaccount:ns:robot"]}, rules)
    assert rules.asked == [("", "serviceaccounts", "", "ns", "robot")]
    assert asked.user == User(
        "system:serviceaccount:ns:robot",
        groups=("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"),
    )


@pytest.mark.parametrize(
    "name", ["system:serviceaccount:ns:a:b", "system:serviceaccount:ns:", "system:serviceaccount:ns"]
)
def test_what_only_begins_like_a_service_account_is_a_user(name: str) -> None:
    """``serviceaccount.SplitUsername``: just a namespace and a name."""
    rules = Rules()
    asked = _through({"impersonate-user": [name]}, rules)
    assert rules.asked == [("", "users", "", "", name)]
    assert asked.user == User(name, groups=("system:authenticated",))


def test_a_service_account_with_groups_has_only_those() -> None:
    asked = _through({"impersonate-user": ["system:serviceaccount:ns:robot"], "impersonate-group": ["g"]})
    assert asked.user is not None
    assert asked.user.groups == ("g", "system:authenticated")


@pytest.mark.parametrize(
    ("user", "groups", "expected"),
    [
        ("alice", ["system:authenticated"], ("system:authenticated",)),
        ("alice", ["system:unauthenticated"], ("system:unauthenticated",)),
        ("system:anonymous", [], ("system:unauthenticated",)),
        ("system:anonymous", ["system:unauthenticated"], ("system:unauthenticated",)),
        ("system:anonymous", ["g"], ("g", "system:unauthenticated")),
    ],
)
def test_known_or_unknown(user: str, groups: list[str], expected: tuple[str, ...]) -> None:
    asked = _through({"impersonate-user": [user], "impersonate-group": groups})
    assert asked.user is not None
    assert asked.user.groups == expected


@pytest.mark.parametrize("resource", ["users", "groups", "userextras", "uids"])
def test_each_item_has_to_be_allowed(resource: str) -> None:
    headers = {
        "impersonate-user": ["alice"],
        "impersonate-group": ["devs"],
        "impersonate-uid": ["7"],
        "impersonate-extra-a": ["b"],
    }
    with pytest.raises(NotAuthorized, match=f'User "admin" cannot impersonate resource "{resource}'):
        _through(headers, Rules(resource))


def test_the_words_of_a_refusal() -> None:
    with pytest.raises(NotAuthorized) as caught:
        _through({"impersonate-user": ["alice"]}, Rules("users"))
    assert caught.value.message == (
        'users "alice" is forbidden: User "admin" cannot impersonate resource "users" in API group "" '
        "at the cluster scope"
    )


def test_no_answer_is_a_refusal() -> None:
    with pytest.raises(NotAuthorized):
        _through({"impersonate-user": ["alice"]}, Rules(fails=True))


@pytest.mark.parametrize(
    ("headers", "what"),
    [
        ({"impersonate-group": ["x"]}, "groups"),
        ({"impersonate-uid": ["x"]}, "a uid"),
        ({"impersonate-extra-a": ["x"]}, "extra"),
        ({"impersonate-user": [""], "impersonate-group": ["x"], "impersonate-uid": ["y"]}, "groups and a uid"),
    ],
)
def test_without_a_user_it_is_a_bad_request(headers: dict[str, list[str]], what: str) -> None:
    with pytest.raises(BadRequest, match=f"^requested {what} without impersonating a user name$"):
        _through(headers)


def test_without_a_requestor_it_is_a_defect() -> None:
    with pytest.raises(InternalError, match="no user found"):
        _through({"impersonate-user": ["alice"]}, user=None)


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"impersonate-group": ["g"] * ITEMS}, True),
        ({"impersonate-group": ["g"] * (ITEMS + 1)}, False),
        ({"impersonate-group": ["g"] * (ITEMS - 1), "impersonate-extra-a": ["x", "y"]}, False),
        ({"impersonate-group": ["g" * (LENGTH - 5)]}, True),
        ({"impersonate-group": ["g" * (LENGTH - 4)]}, False),
        ({"impersonate-extra-" + "a" * LENGTH: ["x"]}, False),
        ({"impersonate-uid": ["g" * LENGTH]}, False),
    ],
)
def test_an_identity_is_bounded_before_anything_is_asked(headers: dict[str, list[str]], *, allowed: bool) -> None:
    rules = Rules()
    headers = {"impersonate-user": ["alice"], **headers}
    if allowed:
        _through(headers, rules)
        assert rules.asked
    else:
        with pytest.raises(BadRequest, match=r"^requested more than \d+ (groups|characters)"):
            _through(headers, rules)
        assert rules.asked == []


def test_operators_may_be_anybody() -> None:
    class Everything:
        async def authorize(self, user: User, attributes: Attributes) -> Decision:
            return Decision(Verdict.ALLOW)

    async def end(asked: Request) -> Response:
        return Response(200)

    asked = call(headers={"impersonate-user": ["alice"], "impersonate-group": ["g" * 100] * 2500})
    asked.user = User("root", groups=("system:masters",))
    run(answered(Impersonation(end, Everything()), asked))
    assert asked.user is not None
    assert asked.user.name == "alice"
