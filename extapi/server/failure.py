"""The one place where an error becomes an answer: a ``Status`` in the form that the client accepts (spec E8)."""

from __future__ import annotations

from typing import Any

from twisted.logger import Logger
from twisted.python.failure import Failure

from extapi.authorization.impersonation import BadImpersonation
from extapi.authorization.refusal import NotAuthorized
from extapi.codec.negotiation import Negotiated, negotiate
from extapi.codec.protobufmeta import status_bytes
from extapi.codec.strictjson import encode_status, indented
from extapi.errors import ApiError, NotAcceptable
from extapi.listener.call import Call, Handler, Response
from extapi.listener.service import Describe
from extapi.storage.base import Unavailable

_FALLBACK = Negotiated("json", None, pretty=True)
"""When negotiation itself fails, or asks for another kind, errors are indented JSON (observed on 1.36.3)."""


class Failures:
    """Runs its successor; what that raises as :class:`ApiError` becomes the answer.

    What an author's code raised behind an error of ours goes to the log only, unless ``describe`` puts it into words. What
    is no ApiError at all goes on to the listener, which logs it.
    """

    _log = Logger()

    def __init__(self, successor: Handler, describe: Describe | None = None) -> None:
        self._successor = successor
        self._describe = describe

    async def __call__(self, call: Call) -> Response:
        """The successor's answer, or the Status of its error."""
        try:
            return await self._successor(call)
        except ApiError as error:
            call.log["reason"] = error.reason or error.message
            cause = error.__cause__
            if isinstance(cause, Unavailable):
                # Every write meets this while the disk is full. Where it was caught helps nobody, and fills the disk.
                self._log.error("{text} {why}", text=error.message, why=str(cause))
            elif error.code >= 500 and cause is not None:
                self._log.error("{text}", text=error.message, log_failure=_failure(cause))
                if self._describe is not None:
                    return failure(call, error, why=self._describe(cause))
            return failure(call, error)


def failure(call: Call, error: ApiError, *, why: str = "") -> Response:
    """The answer that says ``error``, and ``why`` behind its message. The error may be raised again: it stays as it is."""
    form = _form(call)
    headers = [("Content-Type", form.content_type)]
    if error.retry_after:
        headers.append(("Retry-After", str(error.retry_after)))
    if isinstance(error, NotAuthorized | BadImpersonation):
        headers.append(("X-Content-Type-Options", "nosniff"))
    status = error.status()
    if why:
        status["message"] = f"{error.message}: {why}"
    if form.format == "yaml":
        from extapi.codec.strictyaml import encode_yaml  # noqa: PLC0415 - the YAML library is only loaded where used

        body = encode_yaml(status)
    elif form.format == "protobuf":
        body = status_bytes(status)
    else:
        body = encode_status(status)
        body = indented(body) if form.pretty else body + b"\n"
    return Response(error.code, headers, body)


def _form(call: Call) -> Negotiated:
    try:
        return negotiate(
            call.header("accept"),
            pretty=call.first("pretty"),
            user_agent=call.header("user-agent"),
            transforms=frozenset(),  # a clause that asks for a table does not match; the next one may
            protobuf=True,
        )
    except NotAcceptable:
        return _FALLBACK


def _failure(error: BaseException) -> Any:
    """As Twisted's log takes it; the class has no types."""
    untyped: Any = Failure
    return untyped(error)
