"""Several kinds of credentials (behaviour A13, A14): whose word counts, and whether it is final."""

from __future__ import annotations

import pytest

from extapi.api.user import User
from extapi.authentication.authenticator import AuthenticationError, Authenticator, Undecided, UnionAuthenticator
from extapi.errors import TooManyRequests
from extapi.http.request import Request
from tests.unit.client.building import call, run


class Says:
    """An authenticator with one answer."""

    def __init__(self, answer: User | Exception | None) -> None:
        self._answer = answer

    async def authenticate(self, call: Request) -> User | None:
        del call
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


NO, PERHAPS = Says(AuthenticationError("expired")), Says(Undecided("no answer"))
BUSY = TooManyRequests("later", retry_after=3)


@pytest.mark.parametrize(
    ("kinds", "final", "text"),
    [
        ([NO], True, "expired"),
        ([NO, Says(None), NO], True, "expired"),
        ([PERHAPS], False, "no answer"),
        ([NO, PERHAPS], False, "[expired, no answer]"),
        ([PERHAPS, NO], False, "[no answer, expired]"),
    ],
)
def test_a_refusal_is_final_unless_somebody_could_not_be_asked(
    kinds: list[Authenticator], final: bool, text: str
) -> None:
    with pytest.raises(AuthenticationError) as caught:
        run(UnionAuthenticator(kinds).authenticate(call()))
    assert str(caught.value) == text
    assert isinstance(caught.value, Undecided) is not final


def test_a_success_counts_whatever_was_before_it() -> None:
    user = run(UnionAuthenticator([NO, PERHAPS, Says(User("jane"))]).authenticate(call()))
    assert user == User("jane", groups=("system:authenticated",))


@pytest.mark.parametrize(
    ("user", "groups"),
    [
        (User("jane", groups=("devs",)), ("devs", "system:authenticated")),
        (User("jane", groups=("system:authenticated", "devs")), ("system:authenticated", "devs")),
        (User("jane", groups=("system:unauthenticated",)), ("system:unauthenticated",)),
        (User("system:anonymous", groups=("devs",)), ("devs",)),
    ],
)
def test_who_is_known_is_in_the_group_of_those_unless_anonymous(user: User, groups: tuple[str, ...]) -> None:
    """``AuthenticatedGroupAdder``: the front proxy may pass on requests of system:anonymous."""
    found = run(UnionAuthenticator([Says(user)]).authenticate(call()))
    assert found == User(user.name, groups=groups)


def test_too_busy_does_not_keep_the_next_from_knowing() -> None:
    user = run(UnionAuthenticator([Says(BUSY), Says(User("bob"))]).authenticate(call()))
    assert user is not None
    assert user.name == "bob"


@pytest.mark.parametrize("other", [Says(None), NO, PERHAPS])
def test_too_busy_is_neither_nobody_nor_401(other: Authenticator) -> None:
    for kinds in ([Says(BUSY), other], [other, Says(BUSY)]):
        with pytest.raises(TooManyRequests) as caught:
            run(UnionAuthenticator(kinds).authenticate(call()))
        assert caught.value is BUSY
