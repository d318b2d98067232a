"""Match conditions: expressions in CEL that say whether a webhook is asked (behaviour I15).

Source: ``k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions``, ``k8s.io/apiserver/pkg/admission/plugin/cel``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from twisted.internet.threads import deferToThreadPool

from extapi.admission.webhooks.authorizing import Checks, Unanswered
from extapi.api.types import Obj
from extapi.api.user import User
from extapi.authorization.authorizer import Authorizer
from extapi.errors import aggregate

BUDGET: Final = 2_500_000
"""What all conditions of a webhook may cost together (``RuntimeCELCostBudgetMatchConditions``)."""
INLINE: Final = 0.05
"""Seconds that they may take in the reactor's thread; then they begin again in another one."""
_NO_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_ANY: Final = {"x-kubernetes-int-or-string": True}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


_KIND: Final = _object(group=_TEXT, version=_TEXT, kind=_TEXT)
_RESOURCE: Final = _object(group=_TEXT, version=_TEXT, resource=_TEXT)
REQUEST: Final = _object(
    kind=_KIND,
    resource=_RESOURCE,
    subResource=_TEXT,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    requestSubResource=_TEXT,
    name=_TEXT,
    namespace=_TEXT,
    operation=_TEXT,
    userInfo=_object(
        username=_TEXT, uid=_TEXT, groups=_TEXTS, extra={"type": "object", "additionalProperties": _TEXTS}
    ),
    dryRun={"type": "boolean"},
    options=_ANY,
)
"""``request``, as kube-apiserver declares it; int-or-string is its way to say: of any type."""


class MatchError(Exception):
    """The conditions have no answer, and the webhook's failure policy is Fail. The text is kube-apiserver's."""


class Input(NamedTuple):
    """What conditions look at."""

    obj: Obj | None
    old: Obj | None
    request: Obj
    """The request of the AdmissionReview, without objects."""
    user: User
    resource: tuple[str, str, str, str, str]
    """Group, resource, subresource, namespace and name: what ``authorizer.requestResource`` is about."""


class Evaluator:
    """Where conditions run, and whom they may ask.

    Args:
        authorizer: Decides about the checks of ``authorizer``.
        reactor: Provides the clock, and takes calls from threads.
        pool: A thread pool; without one, all run in the reactor's thread.
    """

    def __init__(self, authorizer: Authorizer, reactor: Any, pool: Any = None) -> None:
        self._authorizer = authorizer
        self._reactor = reactor
        self._pool = pool

    async def run(self, evaluate: Callable[[Checks, Callable[[], bool]], bool], user: User, deadline: float) -> bool:
        """The result of ``evaluate``, which is called with the checks that have been answered, until all are.

        Raises:
            MatchError: See :class:`MatchError`.
        """
        checks, clock = Checks(user), self._reactor
        inline = self._pool is not None
        while True:
            try:
                if not inline:
                    return await self._waited(evaluate, checks, deadline)
                late = _Timer(clock.seconds, clock.seconds() + INLINE)
                try:
                    found = evaluate(checks, late)
                except MatchError:
                    if not late.late:
                        raise
                else:
                    if not late.late:
                        return found
                inline = False  # it was stopped, so that the result is none
            except Unanswered as unanswered:
                await checks.answer(unanswered, self._authorizer)

    async def _waited(
        self, evaluate: Callable[[Checks, Callable[[], bool]], bool], checks: Checks, deadline: float
    ) -> bool:
        timer = _Timer(self._reactor.seconds, deadline)
        if self._pool is None:
            return evaluate(checks, timer)
        try:
            return bool(await deferToThreadPool(self._reactor, self._pool, evaluate, checks, timer))
        finally:
            timer.late = True  # whoever waited has left


class _Timer:
    """Whether a time has come; once it has, always."""

    __slots__ = ("_seconds", "_until", "late")

    def __init__(self, seconds: Callable[[], float], until: float) -> None:
        self._seconds = seconds
        self._until = until
        self.late = False

    def __call__(self) -> bool:
        self.late = self.late or self._seconds() >= self._until
        return self.late


class MatchConditions:
    """The conditions of a webhook. They are compiled when they are first needed.

    Args:
        conditions: The conditions, each with a name and an expression.
        fails: Whether an error refuses the write; otherwise the webhook is not asked.
    """

    __slots__ = ("_compiled", "_fails", "_texts")

    def __init__(self, conditions: Sequence[Mapping[str, Any]], *, fails: bool) -> None:
        self._texts = [str(each.get("expression") or "") for each in conditions]
        self._fails = fails
        self._compiled: list[tuple[Any, str]] | None = None

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._texts)

    async def match(self, given: Input, evaluator: Evaluator, deadline: float) -> bool:
        """Whether all are true.

        Args:
            given: What they look at.
            evaluator: Where they run.
            deadline: When the request has to be answered, on the reactor's clock.

        Raises:
            MatchError: See :class:`MatchError`.
        """
        if self._compiled is None:
            self._compiled = [_compiled(text) for text in self._texts]
        compiled = self._compiled

        def evaluate(checks: Checks, expired: Callable[[], bool]) -> bool:
            return self._evaluated(compiled, _values(given, checks), expired)

        return await evaluator.run(evaluate, given.user, deadline)

    def _evaluated(
        self, compiled: Sequence[tuple[Any, str]], values: Sequence[Any], expired: Callable[[], bool]
    ) -> bool:
        remaining = BUDGET
        results: list[tuple[Any, str]] = []
        for text, (expression, error) in zip(self._texts, compiled, strict=True):
            if expression is None:
                results.append((None, f"compilation error: {error}"))
                continue
            found = expression.evaluate(values, expired=expired)
            if found.cost > remaining:
                return self._failed(_NO_BUDGET)
            remaining -= found.cost
            failure = "" if found.error is None else f"expression '{text}' resulted in error: {found.error}"
            results.append((found.value, failure))
        if any(value is False for value, _ in results):
            return False
        errors = [error for _, error in results if error]
        return self._failed(aggregate(errors)) if errors else True

    def _failed(self, why: str) -> bool:
        if self._fails:
            raise MatchError(why)
        return False


@cache
def _environment() -> Any:
    """What conditions may use. Imported when the first one is compiled, for most servers have none."""
    from extapi.schema.cel.declared import declare  # noqa: PLC0415 - CEL is for webhooks with conditions
    from extapi.schema.cel.environment import STORED, Variable, base_environment  # noqa: PLC0415 - CEL is for webhooks with conditions
    from extapi.schema.cel.types import AUTHORIZER, DYN, RESOURCE_CHECK  # noqa: PLC0415 - CEL is for webhooks with conditions
    from extapi.schema.structural import from_openapi  # noqa: PLC0415 - CEL is for webhooks with conditions

    request = declare(from_openapi(REQUEST), name="kubernetes.AdmissionRequest")
    assert request is not None  # noqa: S101 -- a schema of ours
    return base_environment(STORED).with_variables(
        (
            Variable("object", DYN),
            Variable("oldObject", DYN),
            Variable("namespaceObject", DYN),
            Variable("request", request.type, request),
            Variable("authorizer", AUTHORIZER),
            Variable("authorizer.requestResource", RESOURCE_CHECK),
        )
    )


def _compiled(text: str) -> tuple[Any, str]:
    """An expression, or why it is none."""
    from extapi.schema.cel.compilation import compile_expression  # noqa: PLC0415 - CEL is for webhooks with conditions
    from extapi.schema.cel.errors import CompileError, InstantiationError  # noqa: PLC0415 - CEL is for webhooks with conditions
    from extapi.schema.cel.types import BOOL, format_type  # noqa: PLC0415 - CEL is for webhooks with conditions

    try:
        expression = compile_expression(text, _environment())
    except CompileError as error:
        return None, f"compilation failed: {error}"
    except InstantiationError as error:
        return None, f"program instantiation failed: {error}"
    if expression.type != BOOL:
        return None, f"must evaluate to bool but got {format_type(expression.type)}"
    return expression, ""


def _values(given: Input, checks: Checks) -> tuple[Any, ...]:
    """The values of the variables, in their order. A webhook's conditions do not see the namespace."""
    from extapi.schema.cel.library.authorization import (  # noqa: PLC0415 - CEL is for webhooks with conditions
        AuthorizerValue,
        ResourceCheck,
    )

    resource = ResourceCheck(checks, *given.resource)
    return given.obj, given.old, None, given.request, AuthorizerValue(checks), resource
