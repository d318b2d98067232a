"""Errors as the Kubernetes API reports them: each has a code, a reason and a ``Status``.

One stage of the server turns them into responses. Must not know HTTP beyond the code, or the request. Texts are those of
``k8s.io/apimachinery/pkg/api/errors`` and ``k8s.io/apimachinery/pkg/util/validation/field``.
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
    """A resource or kind as messages name it: ``<resource>.<group>``, or ``<resource>`` in the core group."""
    return f"{resource}.{group}" if group else resource


@dataclass(frozen=True, slots=True)
class StatusCause:
    """One entry of ``details.causes``."""

    reason: str = ""
    message: str = ""
    field: str = ""

    def to_dict(self) -> dict[str, str]:
        """The cause as JSON data, without empty members, as Go's ``omitempty`` writes it."""
        return {
            key: value
            for key, value in (("reason", self.reason), ("message", self.message), ("field", self.field))
            if value
        }


@dataclass(eq=False)
class ApiError(Exception):
    """An error that a client gets as a ``Status``.

    ``name``, ``group``, ``kind``, ``uid`` and ``causes`` become ``details``. As in kube-apiserver, ``kind`` is the plural
    *resource* for most errors, and the kind for :class:`Invalid`. ``retry_after``, in whole seconds, also becomes the
    header ``Retry-After``.
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
    """Whether the Status has ``details``; by default if they are not empty."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """The list metadata of the Status; has ``continue`` if a list has to be started again."""

    def __post_init__(self) -> None:
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message

    def status(self) -> dict[str, Any]:
        """The ``v1`` ``Status`` of this error."""
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
    """400: the request is malformed. Sending it again does not help."""

    code = 400
    reason = "BadRequest"


class Unauthorized(ApiError):
    """401: the request has credentials, and none is accepted. The text is always the same; the log has the reason."""

    code = 401
    reason = "Unauthorized"

    def __init__(self) -> None:
        ApiError.__init__(self, "Unauthorized")


class Forbidden(ApiError):
    """403: authorization or admission refuses the request."""

    code = 403
    reason = "Forbidden"

    @classmethod
    def on(cls, resource: str, group: str, name: str, why: str, *, causes: Sequence[StatusCause] = ()) -> Forbidden:
        """An admission plugin's refusal: ``R "name" is forbidden: why``.

        Example::

            refusal = Forbidden.on("pizzas", "example.com", "hawaii", "no pineapple here")
            assert str(refusal) == 'pizzas.example.com "hawaii" is forbidden: no pineapple here'

        Source: ``k8s.io/apiserver/pkg/admission/errors.go`` NewForbidden.
        """
        return cls(
            f'{qualified(resource, group)} "{name}" is forbidden: {why}',
            name=name,
            group=group,
            kind=resource,
            causes=causes,
        )


class NotFound(ApiError):
    """404: there is no such object, or no such path."""

    code = 404
    reason = "NotFound"

    @classmethod
    def named(cls, resource: str, group: str, name: str) -> NotFound:
        """There is no object of that name: ``toppings.example.com "ham" not found``.

        Example::

            missing = NotFound.named("toppings", "example.com", "ham")
            assert str(missing) == 'toppings.example.com "ham" not found'
        """
        return cls(f'{qualified(resource, group)} "{name}" not found', name=name, group=group, kind=resource)

    @classmethod
    def path(cls) -> NotFound:
        """There is no such path. For a missing object use :meth:`named`."""
        return cls("the server could not find the requested resource", with_details=True)


class MethodNotAllowed(ApiError):
    """405: the resource does not have the verb."""

    code = 405
    reason = "MethodNotAllowed"

    @classmethod
    def on(cls, resource: str, group: str, action: str) -> MethodNotAllowed:
        """The resource does not have the verb ``action``."""
        return cls(
            f'{action} is not supported on resources of kind "{qualified(resource, group)}"',
            group=group,
            kind=resource,
        )

    @classmethod
    def on_path(cls) -> MethodNotAllowed:
        """The path has no route for the method; of a verb that a resource lacks, :meth:`on` tells."""
        return cls("the server does not allow this method on the requested resource", with_details=True)


class NotAcceptable(ApiError):
    """406: the server can produce none of the media types in Accept."""

    code = 406
    reason = "NotAcceptable"


class AlreadyExists(ApiError):
    """409: an object of that name exists already."""

    code = 409
    reason = "AlreadyExists"

    @classmethod
    def named(cls, resource: str, group: str, name: str, *, terminating: bool = False) -> AlreadyExists:
        """There is an object of that name; ``terminating``: it is being deleted, which the message says."""
        prefix = "object is being deleted: " if terminating else ""
        return cls(
            f'{prefix}{qualified(resource, group)} "{name}" already exists', name=name, group=group, kind=resource
        )


class RequestTimeout(ApiError):
    """408: the request arrives too slowly (RFC 9110, section 15.5.9). Kubernetes has no reason for this code."""

    code = 408


class Conflict(ApiError):
    """409: the object changed meanwhile, or a precondition is not met."""

    code = 409
    reason = "Conflict"

    MODIFIED: ClassVar[str] = (
        "the object has been modified; please apply your changes to the latest version and try again"
    )

    @classmethod
    def on(cls, resource: str, group: str, name: str, why: str) -> Conflict:
        """The object cannot be changed now: ``Operation cannot be fulfilled on R "name": why``.

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
    """410: the item does not exist any more, and will not return."""

    code = 410
    reason = "Gone"


class Expired(ApiError):
    """410: the requested resourceVersion is older than the history that the server keeps."""

    code = 410
    reason = "Expired"


class RequestTooLarge(ApiError):
    """413: the body is too large, or a patch has too many operations."""

    code = 413
    reason = "RequestEntityTooLarge"

    def __init__(self, why: str) -> None:
        ApiError.__init__(self, f"Request entity too large: {why}")


class UnsupportedMediaType(ApiError):
    """415: the server does not read the format of the body. The garbage collector depends on this reason."""

    code = 415
    reason = "UnsupportedMediaType"

    @classmethod
    def accepting(cls, types: Iterable[str]) -> UnsupportedMediaType:
        """The server accepts only ``types``, which are listed in this order."""
        return cls(
            "the body of the request was in an unknown format - accepted media types include: " + ", ".join(types)
        )


class Invalid(ApiError):
    """422: the object or the options are not valid. Made from field errors."""

    code = 422
    reason = "Invalid"

    @classmethod
    def of(cls, kind: str, group: str, name: str, errors: Iterable[FieldError]) -> Invalid:
        """All errors of one object. The message has a repeated text once; the causes have all.

        Errors beyond :data:`extapi.fielderrors.MOST_TEXT` characters are left out.

        Source: ``k8s.io/apimachinery/pkg/api/errors/errors.go`` NewInvalid, ``util/errors`` Aggregate.
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
        return cls(message, name=name, group=group, kind=kind, causes=causes)


class TooManyRequests(ApiError):
    """429: the client should try again after ``retry_after`` seconds."""

    code = 429
    reason = "TooManyRequests"


class InternalError(ApiError):
    """500: the server failed. Clients get ``message``."""

    code = 500
    reason = "InternalError"

    @classmethod
    def because(cls, why: str) -> InternalError:
        """``Internal error occurred: why``, with ``why`` as a cause."""
        return cls(f"Internal error occurred: {why}", causes=[StatusCause(message=why)])


class StorageError(ApiError):
    """500 without a reason, as kube-apiserver reports errors that have no Status (behaviour E7)."""

    code = 500
    reason = ""


class ServerTimeout(ApiError):
    """500 with reason ServerTimeout: the storage did not respond in time. The client should try again."""

    code = 500
    reason = "ServerTimeout"

    @classmethod
    def on(cls, resource: str, group: str, operation: str) -> ServerTimeout:
        """The operation (get, list, create, update or delete) could not be completed in time."""
        return cls(
            f"The {operation} operation against {qualified(resource, group)} could not be completed at this time, "
            "please try again.",
            name=operation,
            group=group,
            kind=resource,
            retry_after=2,
        )


class ServiceUnavailable(ApiError):
    """503: the server cannot handle the request now."""

    code = 503
    reason = "ServiceUnavailable"


class Timeout(ApiError):
    """504: the request took too long."""

    code = 504
    reason = "Timeout"

    @classmethod
    def too_large_resource_version(cls, wanted: int, current: int) -> Timeout:
        """A read wanted a revision that the store has not reached."""
        return cls(
            f"Timeout: Too large resource version: {wanted}, current: {current}",
            causes=[StatusCause("ResourceVersionTooLarge", "Too large resource version")],
            retry_after=1,
        )
