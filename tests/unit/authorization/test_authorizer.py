"""What is asked, and several authorizers: what one of them cannot tell now, another may allow (behaviour B8, B15)."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.api.user import User
from extapi.authorization.authorizer import (
    Attributes,
    AuthorizationError,
    Decision,
    UnionAuthorizer,
    Verdict,
    attributes_of,
)
from extapi.errors import TooManyRequests
from extapi.http.request import RequestInfo
from tests.unit.client.building import run

ALLOW, DENY, NOTHING = Decision(Verdict.ALLOW), Decision(Verdict.DENY, "never"), Decision(Verdict.NO_OPINION)
BUSY = TooManyRequests("later", retry_after=3)


class Says:
    def __init__(self, what: Decision | Exception) -> None:
        self.what = what

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        if isinstance(self.what, Exception):
            raise self.what
        return self.what


def _decided(*what: Decision | Exception) -> Decision:
    return run(UnionAuthorizer([Says(each) for each in what]).authorize(User("bob"), Attributes("get", "/x")))


def test_too_busy_does_not_keep_the_next_from_allowing() -> None:
    assert _decided(BUSY, Decision(Verdict.ALLOW)).verdict is Verdict.ALLOW
    assert _decided(BUSY, Decision(Verdict.DENY)).verdict is Verdict.DENY


@pytest.mark.parametrize("other", [Decision(Verdict.NO_OPINION), AuthorizationError("gone")])
def test_too_busy_is_no_refusal(other: Decision | Exception) -> None:
    for what in ((BUSY, other), (other, BUSY)):
        with pytest.raises(TooManyRequests) as caught:
            _decided(*what)
        assert caught.value is BUSY


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
    assert _decided(*answers) == decision


def test_errors_without_an_allow() -> None:
    two: list[Decision | Exception] = [AuthorizationError("a"), NOTHING, AuthorizationError("b")]
    with pytest.raises(AuthorizationError, match=r"^\[a, b\]$"):
        _decided(*two)
    with pytest.raises(AuthorizationError, match=r"^a$"):
        _decided(*two[:2])
    with pytest.raises(AuthorizationError, match=r"^a$"):
        _decided(Decision(Verdict.NO_OPINION, "no rule"), AuthorizationError("a"))


def test_a_path_has_no_attributes_of_a_resource() -> None:
    assert attributes_of(RequestInfo("get", "/version")) == Attributes("get", "/version")
