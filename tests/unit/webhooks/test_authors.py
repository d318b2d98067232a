"""What plugins and controllers get: nobody else's rights."""

from __future__ import annotations

import pytest

from extapi.api.user import User
from extapi.webhooks.authors import ClusterTransport
from tests.unit.client.kubernetes import Answer, Kubernetes


def test_nobody_else_is_acted_as() -> None:
    with pytest.raises(RuntimeError, match="cannot act as 'bob'"):
        ClusterTransport(Kubernetes(lambda _: Answer(200))).acting_as(User("bob"))
