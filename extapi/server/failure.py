"""The one place where an error becomes an answer: a ``Status`` in the form that the client accepts (spec E8)."""

from __future__ import annotations

from extapi.authorization.refusal import NotAuthorized
from extapi.codec.negotiation import Negotiated, negotiate
from extapi.codec.strictjson import encode, encode_pretty
from extapi.errors import ApiError, NotAcceptable
from extapi.listener.call import Call, Handler, Response

_FALLBACK = Negotiated("json", None, pretty=True)
"""When negotiation itself fails, or asks for another kind, errors are indented JSON (observed on 1.36.3)."""


class Failures:
    """Runs its successor; what that raises as :class:`ApiError` becomes the answer.

    Warnings that were collected before are kept. What is no ApiError goes on to the listener, which logs it.
    """

    def __init__(self, successor: Handler) -> None:
        self._successor = successor

    async def __call__(self, call: Call) -> Response:
        """The successor's answer, or the Status of its error."""
        try:
            return await self._successor(call)
        except ApiError as error:
            call.log["reason"] = error.reason or error.message
            return failure(call, error)


def failure(call: Call, error: ApiError) -> Response:
    """The answer that says ``error``."""
    form = _form(call)
    headers = [("Content-Type", form.content_type)]
    if error.retry_after:
        headers.append(("Retry-After", str(error.retry_after)))
    if isinstance(error, NotAuthorized):
        headers.append(("X-Content-Type-Options", "nosniff"))
    status = error.status()
    if form.format == "yaml":
        from extapi.codec.strictyaml import encode_yaml  # noqa: PLC0415 - the YAML library is only loaded where used

        body = encode_yaml(status)
    else:
        body = encode_pretty(status) if form.pretty else encode(status) + b"\n"
    return Response(error.code, headers, body)


def _form(call: Call) -> Negotiated:
    try:
        form = negotiate(
            call.header("accept"), pretty=call.first("pretty"), user_agent=call.header("user-agent")
        )
    except NotAcceptable:
        return _FALLBACK
    return _FALLBACK if form.transform is not None and form.format == "json" else form
