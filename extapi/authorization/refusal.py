"""The words of a refusal (spec B16-B18)."""

from __future__ import annotations

from extapi.api.user import User
from extapi.authorization.base import Attributes
from extapi.errors import Forbidden, go_quote, qualified

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class NotAuthorized(Forbidden):
    """403 of authorization, not of admission: its answer also has ``X-Content-Type-Options: nosniff`` (B16)."""


def not_authorized(user: User, attributes: Attributes, reason: str) -> NotAuthorized:
    """The refusal of ``attributes`` to ``user``, with the authorizer's reason if it gave one."""
    why = escaped(_what(user, attributes))
    if reason:
        # Only what the caller chose is escaped; the reason is the authorizer's.
        why = f"{why}: {reason}"
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


def escaped(text: str) -> str:
    """``&``, ``<`` and ``>`` as HTML writes them: browsers may show an error to somebody."""
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
