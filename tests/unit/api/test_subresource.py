from __future__ import annotations

from typing import Any, cast

import pytest

from extapi.api.protocols import RESTRequest
from extapi.api.subresource import Subresource, subresource_problems, subresource_type_problems
from extapi.api.types import Object


class Shouts:
    async def get(self, request: RESTRequest) -> Object:
        del request
        return Object()


@pytest.mark.parametrize(
    "subresource",
    [Subresource(field="seal"), Subresource(rest=Shouts()), Subresource(rest=Shouts(), kind="Seal", type=Object)],
)
def test_a_subresource_without_mistakes_has_no_problems(subresource: Subresource) -> None:
    assert [*subresource_type_problems(subresource, "here"), *subresource_problems(subresource, "here")] == []


def test_every_mistake_is_told_at_once() -> None:
    wrong = Subresource(field="metadata", rest=Shouts(), methods=[], kind="Seal")
    assert list(subresource_problems(wrong, "here")) == [
        "here needs either field, rest or connects",
        "here: methods must be some of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
        "here cannot be for metadata, which belongs to the server",
        "here needs the type of Seal",
    ]


def test_values_of_wrong_types_are_told_by_their_places() -> None:
    wrong = Subresource(connects=None, methods=cast("Any", [1]), type=cast("Any", int))
    methods, kind = subresource_type_problems(wrong, "here")
    assert methods.startswith("here: methods")
    assert kind.startswith("here: the type")
