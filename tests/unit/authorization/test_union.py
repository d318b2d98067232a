"""Several authorizers; what one of them cannot tell now, another may allow."""

from __future__ import annotations

import pytest

from extapi.api.user import User
from extapi.authorization.base import Attributes, AuthorizationError, Decision, Verdict
from extapi.authorization.union import Union
from extapi.errors import TooManyRequests
from tests.unit.client.building import run

BUSY = TooManyRequests("later", retry_after=3)


class Says:
    def __init__(self, what: Decision | Exception) -> None:
        self.what = what

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        if isinstance(self.what, Exception):
            raise self.what
        return self.what


def _decided(*what: Decision | Exception) -> Decision:
    return run(Union([Says(each) for each in what]).authorize(User("bob"), Attributes("get", "/x")))


def test_too_busy_does_not_keep_the_next_from_allowing() -> None:
    assert _decided(BUSY, Decision(Verdict.ALLOW)).verdict is Verdict.ALLOW
    assert _decided(BUSY, Decision(Verdict.DENY)).verdict is Verdict.DENY


@pytest.mark.parametrize("other", [Decision(Verdict.NO_OPINION), AuthorizationError("gone")])
def test_too_busy_is_no_refusal(other: Decision | Exception) -> None:
    for what in ((BUSY, other), (other, BUSY)):
        with pytest.raises(TooManyRequests) as caught:
            _decided(*what)
        assert caught.value is BUSY
