"""Who asks, over all kinds of credentials, as kube-apiserver puts them together (behaviour A13, A14, A18, A20, A27, A29)."""

from __future__ import annotations

import pytest

from extapi.api.user import User
from extapi.authentication.authenticator import Authenticator, Undecided, UnionAuthenticator
from extapi.authentication.clientcertificate import ClientCertificate
from extapi.authentication.loopback import Loopback
from extapi.authentication.requestheader import RequestHeader
from extapi.authentication.stage import NAMES_LIMIT, PLANS, Authentication
from extapi.authentication.trust import HeaderNames, TrustSettings
from extapi.errors import ServiceUnavailable, Unauthorized
from extapi.http.request import Peer, Request
from extapi.http.response import Response
from tests.certificates import CLIENT, authority
from tests.unit.client.building import call, now, run

PROXIES, CLIENTS = authority("front-proxy-ca"), authority("client-ca")
PROXY = PROXIES.leaf("front-proxy", eku=CLIENT)

ANONYMOUS = User("system:anonymous", groups=("system:unauthenticated",))


def _stage(settings: TrustSettings | None = None) -> Authentication:
    if settings is None:
        settings = TrustSettings()
        settings.trust_proxies(PROXIES.pem)
        settings.trust_clients(CLIENTS.pem)
        settings.use_names(
            HeaderNames(("x-remote-user",), (), ("x-remote-group",), ("x-remote-extra-",), ("front-proxy",))
        )
    kinds: list[Authenticator] = [
        Loopback("s3cret"),
        RequestHeader(settings, now()),
        ClientCertificate(settings, now()),
    ]

    async def end(asked: Request) -> Response:
        return Response(200)

    return Authentication(end, UnionAuthenticator(kinds), settings)


def _user(asked: Request, stage: Authentication | None = None) -> User | None:
    assert run((stage or _stage())(asked)).status == 200
    return asked.user


def test_no_credentials_are_nobody() -> None:
    assert _user(call()) == ANONYMOUS


def test_credentials_that_nobody_can_judge_are_503() -> None:
    """Not 401, as kube-apiserver answers: the token may be good, and clients discard one that is refused."""

    class Unanswered:
        async def authenticate(self, asked: Request) -> User | None:
            raise Undecided("token review: https://10.0.0.1: no answer")

    async def end(asked: Request) -> Response:
        raise AssertionError(asked)

    asked = call()
    with pytest.raises(ServiceUnavailable, match="cannot be checked now") as refused:
        run(Authentication(end, Unanswered(), TrustSettings())(asked))
    assert refused.value.retry_after == 1
    assert "10.0.0.1" not in str(refused.value)
    assert asked.log["authentication"] == "token review: https://10.0.0.1: no answer"


def test_forged_headers_are_nobody_and_are_not_seen_later() -> None:
    asked = call(
        headers={
            "x-remote-user": ["admin"],
            "x-remote-uid": ["1"],
            "x-remote-group": ["system:masters"],
            "x-remote-extra-scopes": ["all"],
            "x-remote-other": ["x"],
            "x_remote_user": ["admin"],
            "x-remote_group": ["system:masters"],
            "x_remote-uid": ["1"],
            "authorization": ["Basic abc"],
            "accept": ["*/*"],
        }
    )
    assert _user(asked) == ANONYMOUS
    assert asked.headers == {"accept": ["*/*"]}


def test_custom_headers_are_deleted_too() -> None:
    settings = TrustSettings()
    settings.use_names(HeaderNames(("x-who",), ("x-id",), ("x-team",), ("x-more-",)))
    asked = call(headers={"x-who": ["a"], "x-id": ["b"], "x-team": ["c"], "x-more-d": ["e"], "x-keep": ["f"]})
    stage = _stage(settings)
    assert _user(asked, stage) == ANONYMOUS
    assert asked.headers == {"x-keep": ["f"]}
    settings.use_names(HeaderNames(("x-you",), ("x-id",), ("x-team",), ("x-more-",)))
    asked = call(headers={"x-who": ["a"], "x-id": ["b"], "x-team": ["c"], "x-more-d": ["e"], "x-keep": ["f"]})
    assert _user(asked, stage) == ANONYMOUS
    assert "x-who" in asked.headers


def test_the_front_proxy_vouches_for_a_user_whose_headers_are_not_seen_later() -> None:
    asked = call(
        certificates=PROXY.chain,
        headers={
            "x-remote-user": ["alice"],
            "x-remote-uid": ["1"],
            "x-remote-group": ["cooks"],
            "x-remote-extra-scopes": ["all"],
            "accept": ["*/*"],
        },
    )
    assert _user(asked) == User("alice", groups=("cooks", "system:authenticated"), extra={"scopes": ("all",)})
    assert asked.headers == {"accept": ["*/*"]}


def test_the_anonymous_user_of_the_front_proxy_stays_anonymous() -> None:
    asked = call(
        certificates=PROXY.chain,
        headers={"x-remote-user": ["system:anonymous"], "x-remote-group": ["system:unauthenticated"]},
    )
    assert _user(asked) == ANONYMOUS


def test_a_client_certificate_is_enough_although_it_is_no_front_proxy() -> None:
    asked = call(certificates=CLIENTS.leaf("bob", eku=CLIENT).chain, headers={"x-remote-user": ["admin"]})
    user = _user(asked)
    assert user is not None
    assert (user.name, user.groups) == ("bob", ("system:authenticated",))
    assert asked.headers == {}


@pytest.mark.parametrize(
    ("chain", "headers", "why"),
    [
        (PROXIES.leaf("eve", eku=CLIENT).chain, {"x-remote-user": ["a"]}, "cn=eve is not in the allowed list"),
        (PROXY.chain, {}, "unknown authority"),
        (authority("x").leaf("bob").chain, {}, "unknown authority"),
        (CLIENTS.leaf("bob", expired=True).chain, {}, "expired"),
    ],
    ids=["name not allowed", "front proxy without user", "stranger", "expired"],
)
def test_credentials_that_nobody_takes_are_401_and_never_anonymous(
    chain: tuple[object, ...], headers: dict[str, list[str]], why: str
) -> None:
    asked = call(certificates=chain, headers=headers)  # type: ignore[arg-type]  # of parametrize
    with pytest.raises(Unauthorized) as caught:
        run(_stage()(asked))
    assert caught.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }
    assert asked.user is None
    assert why in asked.log["authentication"]


def test_loopback_calls() -> None:
    assert _user(call(peer=Peer(loopback="s3cret"))) == User(
        "system:apiserver", groups=("system:masters", "system:authenticated")
    )
    controller = User("system:pizza", groups=("controllers",))
    acting = Peer(loopback="s3cret", verdicts={"user": controller})
    assert _user(call(peer=acting)) == User("system:pizza", groups=("controllers", "system:authenticated"))


def test_what_is_remembered_is_bounded() -> None:
    stage = _stage()
    for number in range(PLANS + 10):
        run(stage(call(headers={f"x-{number}": ["1"]})))
    assert len(stage._secret) <= PLANS
    before = len(stage._secret)
    asked = call(headers={"x-" + "y" * NAMES_LIMIT: ["1"], "authorization": ["Basic x"]})
    run(stage(asked))
    assert "authorization" not in asked.headers
    assert len(stage._secret) == before


def test_a_connection_is_known_once_somebody_was_authenticated_over_it() -> None:
    settings = TrustSettings()
    settings.trust_proxies(PROXIES.pem)
    settings.use_names(HeaderNames(("x-remote-user",)))
    stage = _stage(settings)
    stranger, proxy = Peer(), Peer(certificates=PROXY.chain)
    _user(call(peer=stranger), stage)
    _user(call(peer=proxy), stage)
    assert (stranger.authenticated, proxy.authenticated) == (False, False)
    _user(call(peer=proxy, headers={"x-remote-user": ["alice"]}), stage)
    assert proxy.authenticated
