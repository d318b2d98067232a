"""In-process requests (behaviour A13, step 0)."""

from __future__ import annotations

import pytest

from extapi.api.user import User
from extapi.authentication.authenticator import AuthenticationError
from extapi.authentication.loopback import Loopback
from extapi.http.request import Peer
from tests.unit.client.building import call, run

PIZZA = User("system:pizza", groups=("controllers",))


def _user(peer: Peer) -> User | None:
    return run(Loopback("s3cret").authenticate(call(peer=peer)))


def test_the_secret_is_enough_to_act_as_anybody() -> None:
    assert _user(Peer(loopback="s3cret")) == User("system:apiserver", groups=("system:masters",))
    assert _user(Peer(loopback="s3cret", verdicts={"user": PIZZA})) == PIZZA


@pytest.mark.parametrize(
    "peer", [Peer(loopback="wrong"), Peer(loopback="s3cret", verdicts={"user": "admin"})], ids=["secret", "user"]
)
def test_a_wrong_secret_or_user_is_an_error(peer: Peer) -> None:
    with pytest.raises(AuthenticationError):
        _user(peer)


def test_a_user_without_the_secret_is_no_opinion() -> None:
    assert _user(Peer(verdicts={"user": User("admin", groups=("system:masters",))})) is None


def test_an_empty_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        Loopback("")
