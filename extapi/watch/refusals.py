"""What a store refuses, as clients are told (behaviour E6, K18). Knows errors of stores and of the API, and no cache."""

from __future__ import annotations

from extapi.errors import ApiError, RequestTooLarge, ServerTimeout, StorageError, Timeout, TooManyRequests
from extapi.storage.base import Overloaded, StoreRefused, TooLarge, Unavailable, Uncertain
from extapi.storage.keys import KeyLayout


def unavailable(layout: KeyLayout, operation: str) -> ServerTimeout:
    """The store cannot be reached; ``operation`` is what the client does."""
    return ServerTimeout.on(layout.resource, layout.group, operation)


def refused_write(error: Exception, layout: KeyLayout, operation: str) -> ApiError | None:
    """The error of a write; None if it says nothing to a client by itself, such as a conflict.

    A client has to read after an uncertain write. The text is kube-apiserver's, whose requests to etcd end with the
    deadline of the client's request. A store that works and has too much to do is named as such, so that clients wait: its text
    is that of a server with too many requests (``k8s.io/apiserver/pkg/server/filters`` tooManyRequests).
    What etcd refuses with words is passed on with them, as an error without a Status.

    Source: ``k8s.io/apiserver/pkg/endpoints/handlers/finisher`` FinishRequest.
    """
    if isinstance(error, TooLarge):
        return RequestTooLarge(str(error))
    if isinstance(error, StoreRefused):
        return StorageError(str(error))
    if isinstance(error, Uncertain):
        text = "Timeout: request did not complete within requested timeout - context deadline exceeded"
        return Timeout(text, with_details=True)
    if isinstance(error, Overloaded):
        return TooManyRequests("Too many requests, please try again later.", retry_after=1)
    return unavailable(layout, operation) if isinstance(error, Unavailable) else None
