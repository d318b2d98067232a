"""The stage of the pipe that asks whether the user may: on to the next stage, 403, or 500 (spec B14-B18).

Must not know how decisions are made.
"""

from __future__ import annotations

from extapi.authorization.attributes import attributes_of
from extapi.authorization.base import AuthorizationError, Authorizer, Verdict
from extapi.authorization.refusal import escaped, not_authorized
from extapi.errors import InternalError
from extapi.listener.call import Call, Handler, Response


class Authorization:
    """Calls ``handler`` only for what ``authorizer`` allows."""

    def __init__(self, handler: Handler, authorizer: Authorizer) -> None:
        self._handler = handler
        self._authorizer = authorizer

    async def __call__(self, call: Call) -> Response:
        """The handler's answer. Raises :class:`extapi.authorization.refusal.NotAuthorized`."""
        user = call.user
        if user is None:
            raise InternalError.because("no user found for the request")
        info = call.info
        # 400 if they are too large, whoever asks: the question would be as large.
        selectors = call.selectors if info.field_selector or info.label_selector else None
        attributes = attributes_of(info, selectors)
        try:
            decision = await self._authorizer.authorize(user, attributes)
        except AuthorizationError as error:
            call.log["authorization"] = str(error)
            return unanswered(call.target)
        if decision.verdict is not Verdict.ALLOW:
            call.log["authorization"] = decision.reason or decision.verdict.value
            raise not_authorized(user, attributes, decision.reason)
        return await self._handler(call)


def unanswered(target: str) -> Response:
    """What a review that failed answers; a plain text, not a Status (spec B14).

    kube-apiserver adds the error, which names the address that was asked and repeats what came from there: that is for
    the log.
    """
    text = f'Internal Server Error: "{escaped(target)}": the authorizer gave no answer\n'
    return Response(
        500,
        [("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff")],
        text.encode("utf-8", "replace"),
    )
