from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import pytest
from twisted.internet.defer import CancelledError
from twisted.logger import capturedLogs, formatEvent

from extapi.admission.base import Operation, Review
from extapi.admission.chain import AdmissionChain
from extapi.api.definition import Kind, Version
from extapi.api.user import User
from extapi.conversion.hub import Unfit
from extapi.errors import BadRequest, Forbidden, InternalError

KIND = Kind("Box", plural="boxes", storage="v1", versions={"v1": Version({"type": "object"})})


def run(coroutine: Coroutine[Any, Any, Any]) -> None:
    with pytest.raises(StopIteration):
        coroutine.send(None)


def review(operation: Operation = Operation.CREATE) -> Review:
    return Review(
        operation=operation,
        kind=KIND,
        group="example.com",
        version="v1",
        user=User("jane"),
        obj={"metadata": {"name": "a"}},
    )


class Both:
    def __init__(self, name: str, log: list[str], error: BaseException | None = None) -> None:
        self.name, self.log, self.error = name, log, error

    async def start(self, context: Any) -> None:
        self.log.append(f"{self.name} starts with {context}")

    async def mutate(self, review: Review) -> None:
        self.log.append(f"{self.name} mutates")
        if self.error is not None:
            raise self.error

    async def validate(self, review: Review) -> None:
        self.log.append(f"{self.name} validates")
        if self.error is not None:
            raise self.error


class OnlyValidates:
    def __init__(self, log: list[str]) -> None:
        self.log = log

    async def validate(self, review: Review) -> None:
        self.log.append("only validates")
        review.refuse("no")


def test_all_mutate_in_order_then_all_validate() -> None:
    log: list[str] = []
    chain = AdmissionChain([Both("b", log), OnlyValidates(log), Both("a", log)])
    run(chain.start("context"))
    run(chain.mutate(review()))
    with pytest.raises(Forbidden, match=r'boxes\.example\.com "a" is forbidden: no'):
        chain.validate(review()).send(None)
    assert log == [
        "b starts with context",
        "a starts with context",
        "b mutates",
        "a mutates",
        "b validates",
        "only validates",
    ]


@pytest.mark.parametrize("error", [BadRequest("odd"), CancelledError()])
def test_refusals_and_cancellation_pass_as_they_are(error: Exception) -> None:
    log: list[str] = []
    chain = AdmissionChain([Both("a", log, error), Both("b", log)])
    with pytest.raises(type(error)) as caught:
        chain.mutate(review()).send(None)
    assert caught.value is error
    assert log == ["a mutates"]


def test_what_does_not_fit_its_type_can_still_be_deleted_and_nothing_else() -> None:
    """Each plugin that would see it is passed over; otherwise it would stay for ever."""
    unfit = Unfit.of("Box", "example.com/v1", "Expected `int`, got `str` - at `$.size`")
    log: list[str] = []
    chain = AdmissionChain([Both("a", log, unfit), Both("b", log)])
    deletion = review(Operation.DELETE)
    with capturedLogs() as told:
        run(chain.mutate(deletion))
        run(chain.validate(deletion))
    assert log == ["a mutates", "b mutates", "a validates", "b validates"]
    assert [formatEvent(event).partition(" for the deletion")[0] for event in told] == ['"Both" is ignored'] * 2
    for operation in (Operation.CREATE, Operation.UPDATE):
        with pytest.raises(Unfit):
            chain.mutate(review(operation)).send(None)


def test_a_plugin_that_fails_refuses_without_telling_why() -> None:
    broken = ValueError("secret")
    chain = AdmissionChain([Both("a", [], broken)])
    for call in (chain.mutate(review()), chain.validate(review())):
        with pytest.raises(InternalError) as caught:
            call.send(None)
        assert str(caught.value) == 'Internal error occurred: admission plugin "Both" failed'
        assert caught.value.__cause__ is broken


def test_what_is_no_plugin_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match='admission plugin "str" has neither a method mutate nor validate'):
        AdmissionChain(["x"])  # type: ignore[list-item] # the mistake
