"""The stage that asks whether the user may: the next stage, 403 in kube-apiserver's words, or 500 (behaviour B14-B18).

Must not know how decisions are made.
"""

from __future__ import annotations

from functools import partial

import msgspec

from extapi.api.user import User
from extapi.authorization.authorizer import Attributes, AuthorizationError, Authorizer, Verdict, attributes_of
from extapi.errors import Forbidden, InternalError, go_quote, qualified
from extapi.http.request import Request
from extapi.http.response import Handler, Response, http_error

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class Authorization:
    """Calls ``handler`` only for what ``authorizer`` allows."""

    def __init__(self, handler: Handler, authorizer: Authorizer) -> None:
        self._handler = handler
        self._authorizer = authorizer

    async def __call__(self, request: Request) -> Response:
        """The handler's response; 500 if the authorizer could not decide.

        Raises:
            NotAuthorized: The authorizer does not allow it.
            BadRequest: A selector is over its bounds.
        """
        user = request.user
        if user is None:
            raise InternalError.because("no user found for the request")
        info = request.info
        # Oversized selectors are refused for everybody: a review would be as large as they are.
        selectors = request.selectors if info.field_selector or info.label_selector else None
        attributes = attributes_of(info, selectors)
        try:
            decision = await self._authorizer.authorize(user, attributes)
        except AuthorizationError as error:
            request.log["authorization"] = str(error)
            return _unanswered(request.target)
        if decision.verdict is not Verdict.ALLOW:
            request.log["authorization"] = decision.reason or decision.verdict.value
            raise not_authorized(user, attributes, decision.reason)
        if attributes.verb == "patch":
            request.authorize = partial(self._authorize, request, user, attributes)
        return await self._handler(request)

    async def _authorize(self, request: Request, user: User, attributes: Attributes, verb: str) -> None:
        """Ask about another verb.

        Source: ``apiserver/pkg/endpoints/handlers/update.go`` withAuthorization.

        Raises:
            NotAuthorized: The authorizer does not allow it.
            InternalError: The authorizer could not decide.
        """
        asked = msgspec.structs.replace(attributes, verb=verb)
        try:
            decision = await self._authorizer.authorize(user, asked)
        except AuthorizationError as error:
            request.log["authorization"] = str(error)
            raise InternalError.because("the authorizer gave no answer") from error
        if decision.verdict is not Verdict.ALLOW:
            request.log["authorization"] = decision.reason or decision.verdict.value
            raise not_authorized(user, asked, decision.reason)


def _unanswered(target: str) -> Response:
    """The response when no authorizer could decide: plain text, not a Status (behaviour B14).

    kube-apiserver adds the error, which names the address of the authorizer and repeats its answer. Here the error goes
    to the log only.
    """
    return http_error(500, f'Internal Server Error: "{_html_escaped(target)}": the authorizer gave no answer')


class NotAuthorized(Forbidden):
    """403 from authorization, not from admission: the response also has ``X-Content-Type-Options: nosniff`` (behaviour B16)."""


def not_authorized(user: User, attributes: Attributes, reason: str) -> NotAuthorized:
    """The refusal of ``attributes`` to ``user``, with the authorizer's reason if it gave one."""
    why = _html_escaped(_what(user, attributes))
    if reason:
        why = f"{why}: {reason}"  # not escaped: the authorizer chose it, not the client
    if not attributes.is_resource:
        return NotAuthorized(f"forbidden: {why}", with_details=True)
    of = qualified(attributes.resource, attributes.group)
    name = f" {go_quote(attributes.name)}" if attributes.name else ""
    return NotAuthorized(
        f"{of}{name} is forbidden: {why}",
        name=attributes.name,
        group=attributes.group,
        kind=attributes.resource,
        with_details=True,
    )


def _html_escaped(text: str) -> str:
    """``&``, ``<`` and ``>`` escaped: a browser may show the text."""
    return text.translate(_ESCAPES)


def _what(user: User, attributes: Attributes) -> str:
    who = f"User {go_quote(user.name)} cannot {attributes.verb}"
    if not attributes.is_resource:
        return f"{who} path {go_quote(attributes.path)}"
    resource = attributes.resource
    if attributes.subresource:
        resource += f"/{attributes.subresource}"
    where = f"in the namespace {go_quote(attributes.namespace)}" if attributes.namespace else "at the cluster scope"
    return f"{who} resource {go_quote(resource)} in API group {go_quote(attributes.group)} {where}"
