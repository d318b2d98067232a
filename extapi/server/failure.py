"""What handlers have to tell a client besides a response: errors become a Status, warnings become headers (behaviour E8, G15)."""

from __future__ import annotations

from typing import Any

from twisted.logger import Logger
from twisted.python.failure import Failure

from extapi.authentication.authenticator import Undecided
from extapi.authorization.authorizer import AuthorizationError
from extapi.authorization.impersonation import BadImpersonation
from extapi.authorization.stage import NotAuthorized
from extapi.codec.negotiation import Negotiated, negotiate
from extapi.codec.protobufmeta import status_bytes
from extapi.codec.strictjson import encode_status, indented
from extapi.codec.warnings import warning_headers
from extapi.errors import ApiError, NotAcceptable
from extapi.http.request import Request
from extapi.http.response import NOSNIFF, Handler, Response
from extapi.listener.state import Describe
from extapi.storage.base import Unavailable

_FALLBACK = Negotiated("json", None, pretty=True)
"""If negotiation itself fails, errors are indented JSON (observed on 1.36.3)."""


class Failures:
    """Turns each :class:`ApiError` of its successor into a response (behaviour E8). Other errors go on to the listener.

    Any response gets a Warning header for each distinct text in ``request.warnings`` (behaviour G15).

    Args:
        successor: The next stage.
        describe: Describes to the client an exception of an author's code that caused a 500; for development only.
            Without it, such an exception is only logged.
    """

    _log = Logger()

    def __init__(self, successor: Handler, describe: Describe | None = None) -> None:
        self._successor = successor
        self._describe = describe

    async def __call__(self, request: Request) -> Response:
        """The successor's response, or the Status of its error; with warnings."""
        try:
            response = await self._successor(request)
        except ApiError as error:
            response = self._failed(request, error)
        if request.warnings:
            response.headers += [("Warning", value) for value in warning_headers(request.warnings)]
        return response

    def _failed(self, request: Request, error: ApiError) -> Response:
        request.log["reason"] = error.reason or error.message
        cause = error.__cause__
        if isinstance(cause, Unavailable | Undecided | AuthorizationError):
            # While the disk is full, every write fails like this, and while kube-apiserver is away, every request. A traceback
            # does not help, and fills the disk.
            self._log.error("{text}: {why}", text=error.message, why=str(cause))
        elif error.code >= 500 and cause is not None:
            self._log.error("{text}", text=error.message, log_failure=_failure(cause))
            if self._describe is not None:
                return failure(request, error, why=self._describe(cause))
        return failure(request, error)


def failure(request: Request, error: ApiError, *, why: str = "") -> Response:
    """The response for an error. Does not change the error, which may be raised again.

    Args:
        request: The request.
        error: The error.
        why: What to append to its message.
    """
    negotiated = _negotiated(request)
    headers = [("Content-Type", negotiated.content_type)]
    if error.retry_after:
        headers.append(("Retry-After", str(error.retry_after)))
    if isinstance(error, NotAuthorized | BadImpersonation):
        headers.append(NOSNIFF)
    status = error.status()
    if why:
        status["message"] = f"{error.message}: {why}"
    if negotiated.format == "yaml":
        from extapi.codec.strictyaml import encode_yaml  # noqa: PLC0415 - the YAML library is only loaded where used

        body = encode_yaml(status)
    elif negotiated.format == "protobuf":
        body = status_bytes(status)
    else:
        body = encode_status(status)
        body = indented(body) if negotiated.pretty else body + b"\n"
    return Response(error.code, headers, body)


def _negotiated(request: Request) -> Negotiated:
    try:
        return negotiate(
            request.header("accept"),
            pretty=request.first("pretty"),
            user_agent=request.header("user-agent"),
            transforms=frozenset(),  # a clause that asks for a table does not match; the next one may
            protobuf=True,
        )
    except NotAcceptable:
        return _FALLBACK


def _failure(error: BaseException) -> Any:
    """The error as Twisted's log takes it; the class has no types."""
    untyped: Any = Failure
    return untyped(error)
