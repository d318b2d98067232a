"""From a ``Status`` on the wire back to the error it was made from, so that a client catches what a server raised.

Pure. Knows nothing of how the response was transported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from extapi.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Expired,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    RequestTooLarge,
    ServerTimeout,
    ServiceUnavailable,
    StatusCause,
    Timeout,
    TooManyRequests,
    Unauthorized,
    UnsupportedMediaType,
)

_BY_REASON: Mapping[str, type[ApiError]] = {
    each.reason: each
    for each in (
        BadRequest,
        Unauthorized,
        Forbidden,
        NotFound,
        MethodNotAllowed,
        NotAcceptable,
        AlreadyExists,
        Conflict,
        Gone,
        Expired,
        RequestTooLarge,
        UnsupportedMediaType,
        Invalid,
        TooManyRequests,
        InternalError,
        ServerTimeout,
        ServiceUnavailable,
        Timeout,
    )
}

_BY_CODE: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    406: NotAcceptable,
    409: Conflict,
    410: Gone,
    413: RequestTooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    500: InternalError,
    503: ServiceUnavailable,
    504: Timeout,
}


def error_from_status(status: Mapping[str, Any], code: int, *, retry_after: int = 0) -> ApiError:
    """The error for a ``Status`` that came with HTTP ``code``, as the subclass for its reason.

    For a reason without a subclass, the error keeps reason and code, in a class of its own. Members of a wrong type are
    ignored, because the server may send anything.

    Args:
        status: The Status.
        code: The HTTP status code.
        retry_after: Seconds in the Retry-After header; used if the Status has none.
    """
    reason = _text(status.get("reason"))
    code = status["code"] if _is_code(status.get("code")) else code
    details = status.get("details")
    details = details if isinstance(details, dict) else {}
    kind = _BY_REASON.get(reason)
    if kind is None or kind.code != code:
        kind = type("ApiError", (ApiError,), {"code": code, "reason": reason})
    seconds = details.get("retryAfterSeconds")
    return _made(
        kind,
        _text(status.get("message")),
        name=_text(details.get("name")),
        group=_text(details.get("group")),
        kind=_text(details.get("kind")),
        uid=_text(details.get("uid")),
        causes=_causes(details.get("causes")),
        retry_after=seconds if isinstance(seconds, int) and seconds > 0 else retry_after,
        with_details=True if "details" in status else None,
        metadata=dict(status["metadata"]) if isinstance(status.get("metadata"), dict) else {},
    )


def error_from_text(text: str, code: int, *, retry_after: int = 0) -> ApiError:
    """The error for a response with HTTP ``code`` that is not a ``Status``: a proxy's page, or plain text."""
    kind = _BY_CODE.get(code) or type("ApiError", (ApiError,), {"code": code, "reason": ""})
    return _made(kind, text, retry_after=retry_after)


def _made(subclass: type[ApiError], message: str, **members: Any) -> ApiError:
    """An instance, without calling the subclass's constructor, which would compose another text."""
    error = subclass.__new__(subclass)
    ApiError.__init__(error, message, **members)
    return error


def _causes(value: Any) -> list[StatusCause]:
    if not isinstance(value, list):
        return []
    return [
        StatusCause(_text(each.get("reason")), _text(each.get("message")), _text(each.get("field")))
        for each in value
        if isinstance(each, dict)
    ]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _is_code(value: Any) -> bool:
    return isinstance(value, int) and 100 <= value < 600
