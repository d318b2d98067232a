"""How long a request may take: ``?timeout=``, a duration as Go writes it.

Source: ``k8s.io/apiserver/pkg/endpoints/filters/request_deadline.go`` (spec H4).
"""

from __future__ import annotations

from extapi.api.duration import BadDuration, parse_duration as nanoseconds

_LONGEST = 256
"""Characters of a duration; a longer one is refused unread, as nobody is known yet who sends it."""


def parse_duration(text: str) -> float:
    """Seconds. Raises ``ValueError`` with Go's text."""
    if len(text) > _LONGEST:
        raise BadDuration(text)
    return nanoseconds(text) / 1e9


def time_allowed(timeout: str, maximum: float) -> float:
    """Seconds for a request with this ``timeout`` parameter.

    ``maximum`` if there is none, or none between 0 and ``maximum``. Raises ``ValueError`` with kube-apiserver's text.
    """
    if not timeout:
        return maximum
    try:
        wanted = parse_duration(timeout)
    except ValueError as error:
        raise ValueError(f"invalid timeout specified in the request URL - {error}") from None
    return wanted if 0 < wanted < maximum else maximum
