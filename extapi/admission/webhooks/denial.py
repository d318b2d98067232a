"""The refusal of a webhook as the client gets it (behaviour I12).

Source: ``k8s.io/apiserver/pkg/admission/plugin/webhook/errors`` ToStatusErr.
"""

from __future__ import annotations

from typing import Any, Final

from extapi.admission.webhooks.reviews import Result
from extapi.client.status import error_from_status
from extapi.client.webhookreply import shortened
from extapi.errors import ApiError, go_quote

_MOST: Final = 599
"""The largest code that is passed on; Go passes on all that HTTP could have."""


class Rejection(Exception):
    """A webhook has refused a write (ErrWebhookRejection); ``error`` is what the client gets."""

    def __init__(self, error: ApiError) -> None:
        super().__init__(str(error))
        self.error = error


def denied(webhook: str, result: Result | None) -> ApiError:
    """The error for a webhook that has not allowed a write; with the code, reason and details that it gives."""
    result = result or Result()
    by = f"admission webhook {go_quote(webhook)} denied the request"
    code = 400 if result.code < 400 else result.code if result.code <= _MOST else 500
    said = result.message or result.reason
    status: dict[str, Any] = {
        "message": f"{by}: {shortened(said)}" if said else f"{by} without explanation",
        "reason": shortened(result.reason),
    }
    if result.details is not None:
        status["details"] = dict(result.details)
    return error_from_status(status, code)
