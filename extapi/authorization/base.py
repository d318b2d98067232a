"""The seam of authorization: three answers, allow, deny and no opinion (``k8s.io/apiserver/pkg/authorization/authorizer``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import msgspec

from extapi.api.requestselectors import Selectors
from extapi.api.user import User


class Verdict(Enum):
    """What an authorizer says. NO_OPINION lets the next one speak; if nobody allows, it is no."""

    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and, for messages and audit, why."""

    verdict: Verdict
    reason: str = ""


class Attributes(msgspec.Struct, frozen=True, gc=False):
    """What is asked for. Resource requests fill the resource's fields, others only ``verb`` and ``path``."""

    verb: str
    path: str = ""
    is_resource: bool = False
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    selectors: Selectors | None = None
    """Of list, watch and deletecollection, if there are any."""


class AuthorizationError(Exception):
    """The question could not be answered; without an allow from another authorizer the request ends with 500 (spec B14)."""


class Authorizer(Protocol):
    """Answers whether a user may do something."""

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        """The decision. Raises :class:`AuthorizationError` when there is none to be had, :class:`TooManyRequests` when not now."""
        ...
