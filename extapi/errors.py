"""Errors as the Kubernetes API reports them: each knows its code, its reason and its ``Status``.

Code anywhere in the library raises these; ``server/`` turns them into an answer in one place. Nothing here knows HTTP
beyond the number, or who is asking. Texts follow ``k8s.io/apimachinery/pkg/api/errors`` and
``k8s.io/apimachinery/pkg/util/validation/field``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from extapi.fielderrors import MOST_ERRORS, MOST_TEXT, FieldError, FieldErrorType, aggregate, go_float, go_quote

__all__ = [
    "MOST_ERRORS",
    "AlreadyExists",
    "ApiError",
    "BadRequest",
    "Conflict",
    "Expired",
    "FieldError",
    "FieldErrorType",
    "Forbidden",
    "Gone",
    "InternalError",
    "Invalid",
    "MethodNotAllowed",
    "NotAcceptable",
    "NotFound",
    "RequestTimeout",
    "RequestTooLarge",
    "ServerTimeout",
    "ServiceUnavailable",
    "StatusCause",
    "StorageError",
    "Timeout",
    "TooManyRequests",
    "Unauthorized",
    "UnsupportedMediaType",
    "aggregate",
    "go_float",
    "go_quote",
    "qualified",
]


def qualified(resource: str, group: str) -> str:
    """``<resource>.<group>``, or just the resource in the core group: how messages name a resource or a kind."""
    return f"{resource}.{group}" if group else resource


@dataclass(frozen=True, slots=True)
class StatusCause:
    """One entry of ``details.causes``."""

    reason: str = ""
    message: str = ""
    field: str = ""

    def to_dict(self) -> dict[str, str]:
        """The cause as JSON; empty members are left out, as Go's ``omitempty`` does."""
        return {
            key: value
            for key, value in (("reason", self.reason), ("message", self.message), ("field", self.field))
            if value
        }


@dataclass(eq=False)
class ApiError(Exception):
    """A refusal that a client sees as a ``Status``.

    ``name``, ``group`` and ``kind`` become ``details``. For most errors ``kind`` holds the *resource* (plural), for
    :class:`Invalid` the kind: so does kube-apiserver. ``retry_after`` is in whole seconds and also becomes a header.
    """

    code: ClassVar[int] = 500
    reason: ClassVar[str] = ""

    message: str = ""
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: Sequence[StatusCause] = ()
    retry_after: int = 0
    with_details: bool | None = None
    """Force ``details`` in (as ``{}``) or out; by default they are there when something is in them."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """The Status' own list metadata; carries ``continue`` when a list has to start anew."""

    def __post_init__(self) -> None:
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message

    def status(self) -> dict[str, Any]:
        """The ``Status`` object (``v1``) of this error."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": dict(self.metadata),
            "status": "Failure",
        }
        if self.message:
            status["message"] = self.message
        if self.reason:
            status["reason"] = self.reason
        details: dict[str, Any] = {
            key: value
            for key, value in (("name", self.name), ("group", self.group), ("kind", self.kind), ("uid", self.uid))
            if value
        }
        if self.causes:
            details["causes"] = [cause.to_dict() for cause in self.causes]
        if self.retry_after:
            details["retryAfterSeconds"] = self.retry_after
        if self.with_details or (details and self.with_details is None):
            status["details"] = details
        status["code"] = self.code
        return status


class BadRequest(ApiError):
    """400: the request cannot be understood; sending it again will not help."""

    code = 400
    reason = "BadRequest"


class Unauthorized(ApiError):
    """401: credentials were there and none was accepted. Always the same text: details are in the log."""

    code = 401
    reason = "Unauthorized"

    def __init__(self) -> None:
        ApiError.__init__(self, "Unauthorized")


class Forbidden(ApiError):
    """403: known who, but not allowed, by authorization or by admission."""

    code = 403
    reason = "Forbidden"

    @classmethod
    def on(cls, resource: str, group: str, name: str, why: str, *, causes: Sequence[StatusCause] = ()) -> Forbidden:
        """An admission plugin's refusal: ``R "name" is forbidden: why`` (k8s.io/apiserver/pkg/admission).

        Example::

            refusal = Forbidden.on("pizzas", "example.com", "hawaii", "no pineapple here")
            assert str(refusal) == 'pizzas.example.com "hawaii" is forbidden: no pineapple here'
        """
        return cls(
            f'{qualified(resource, group)} "{name}" is forbidden: {why}',
            name=name,
            group=group,
            kind=resource,
            causes=causes,
        )


class NotFound(ApiError):
    """404: the object, or the path, is not there."""

    code = 404
    reason = "NotFound"

    @classmethod
    def named(cls, resource: str, group: str, name: str) -> NotFound:
        """The object ``name`` of ``resource.group`` does not exist: ``toppings.example.com "ham" not found``.

        Example::

            missing = NotFound.named("toppings", "example.com", "ham")
            assert str(missing) == 'toppings.example.com "ham" not found'
        """
        return cls(f'{qualified(resource, group)} "{name}" not found', name=name, group=group, kind=resource)

    @classmethod
    def path(cls) -> NotFound:
        """No route leads there; of an object that is missing, :meth:`named` tells."""
        return cls("the server could not find the requested resource", with_details=True)


class MethodNotAllowed(ApiError):
    """405: the resource does not support the action."""

    code = 405
    reason = "MethodNotAllowed"

    @classmethod
    def on(cls, resource: str, group: str, action: str) -> MethodNotAllowed:
        """``action`` (a verb) is not supported on ``resource.group``."""
        return cls(
            f'{action} is not supported on resources of kind "{qualified(resource, group)}"',
            group=group,
            kind=resource,
        )


class NotAcceptable(ApiError):
    """406: none of the media types in Accept can be produced."""

    code = 406
    reason = "NotAcceptable"


class AlreadyExists(ApiError):
    """409: create met an object of that name."""

    code = 409
    reason = "AlreadyExists"

    @classmethod
    def named(cls, resource: str, group: str, name: str, *, terminating: bool = False) -> AlreadyExists:
        """``terminating``: the stored object is being deleted, which the message says first."""
        prefix = "object is being deleted: " if terminating else ""
        return cls(
            f'{prefix}{qualified(resource, group)} "{name}" already exists', name=name, group=group, kind=resource
        )


class RequestTimeout(ApiError):
    """408: the request itself comes too slowly (RFC 9110, 15.5.9). Kubernetes has no reason for it."""

    code = 408


class Conflict(ApiError):
    """409: the object changed meanwhile, or a precondition does not hold."""

    code = 409
    reason = "Conflict"

    MODIFIED: ClassVar[str] = (
        "the object has been modified; please apply your changes to the latest version and try again"
    )

    @classmethod
    def on(cls, resource: str, group: str, name: str, why: str) -> Conflict:
        """The change of ``name`` cannot be made as things stand now: ``Operation cannot be fulfilled on R "name": why``.

        Example::

            conflict = Conflict.on("pizzas", "example.com", "funghi", Conflict.MODIFIED)
            assert conflict.code == 409
        """
        return cls(
            f'Operation cannot be fulfilled on {qualified(resource, group)} "{name}": {why}',
            name=name,
            group=group,
            kind=resource,
        )


class Gone(ApiError):
    """410: the item is gone for good."""

    code = 410
    reason = "Gone"


class Expired(ApiError):
    """410: the resourceVersion asked for is older than the history that is kept."""

    code = 410
    reason = "Expired"


class RequestTooLarge(ApiError):
    """413: the body, or the number of operations in it, is over the limit."""

    code = 413
    reason = "RequestEntityTooLarge"

    def __init__(self, why: str) -> None:
        ApiError.__init__(self, f"Request entity too large: {why}")


class UnsupportedMediaType(ApiError):
    """415: the body is in a format that is not read here. Garbage collection falls back on this very reason."""

    code = 415
    reason = "UnsupportedMediaType"

    @classmethod
    def accepting(cls, types: Iterable[str]) -> UnsupportedMediaType:
        """``types``: the media types that would have been accepted, in order."""
        return cls(
            "the body of the request was in an unknown format - accepted media types include: " + ", ".join(types)
        )


class Invalid(ApiError):
    """422: the object, or an option, breaks its rules. Made from the field errors."""

    code = 422
    reason = "Invalid"

    @classmethod
    def of(cls, kind: str, group: str, name: str, errors: Iterable[FieldError]) -> Invalid:
        """All errors of one object at once; a text that occurs twice is said once, but stays twice among the causes.

        As many as fit into :data:`extapi.fielderrors.MOST_TEXT`. Source: ``NewInvalid`` and ``utilerrors.Aggregate``.
        """
        found = list(errors)
        message = f'{qualified(kind, group)} "{name}" is invalid'
        if found:
            message += f": {aggregate(error.text() for error in found)}"
        causes: list[StatusCause] = []
        size = 0
        for error in found:
            if size > MOST_TEXT:
                break
            causes.append(StatusCause(error.type.reason, error.body(), error.path or "<nil>"))
            size += len(causes[-1].field) + len(causes[-1].message)
        return cls(
            message,
            name=name,
            group=group,
            kind=kind,
            causes=causes,
        )


class TooManyRequests(ApiError):
    """429: come back in ``retry_after`` seconds."""

    code = 429
    reason = "TooManyRequests"


class InternalError(ApiError):
    """500: something broke here; ``message`` is already meant for clients."""

    code = 500
    reason = "InternalError"

    @classmethod
    def because(cls, why: str) -> InternalError:
        """``Internal error occurred: why``, with the reason as a cause."""
        return cls(f"Internal error occurred: {why}", causes=[StatusCause(message=why)])


class StorageError(ApiError):
    """500 with no reason: what k8s.io/apiserver answers for errors that are no API Status (spec E7)."""

    code = 500
    reason = ""


class ServerTimeout(ApiError):
    """500 with reason ServerTimeout: the storage could not be reached in time; try again."""

    code = 500
    reason = "ServerTimeout"

    @classmethod
    def on(cls, resource: str, group: str, operation: str) -> ServerTimeout:
        """``operation``: get, list, create, update or delete."""
        return cls(
            f"The {operation} operation against {qualified(resource, group)} could not be completed at this time, "
            "please try again.",
            name=operation,
            group=group,
            kind=resource,
            retry_after=2,
        )


class ServiceUnavailable(ApiError):
    """503: not now."""

    code = 503
    reason = "ServiceUnavailable"


class Timeout(ApiError):
    """504: it took too long."""

    code = 504
    reason = "Timeout"

    @classmethod
    def too_large_resource_version(cls, wanted: int, current: int) -> Timeout:
        """A read "at least as fresh as" a revision that is not there yet."""
        return cls(
            f"Timeout: Too large resource version: {wanted}, current: {current}",
            causes=[StatusCause("ResourceVersionTooLarge", "Too large resource version")],
            retry_after=1,
        )
