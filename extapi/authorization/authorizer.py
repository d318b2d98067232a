"""What an authorizer is: it is asked about attributes, and allows, denies, or has no opinion (behaviour B8, B15, B18).

Source: ``k8s.io/apiserver/pkg/authorization/authorizer``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import msgspec

from extapi.api.requestselectors import Selectors
from extapi.api.user import User
from extapi.errors import TooManyRequests, aggregate
from extapi.http.request import RequestInfo


class Verdict(Enum):
    """An authorizer's answer. After NO_OPINION the next authorizer is asked; a request that none allows is refused."""

    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, and the reason for it, which messages show."""

    verdict: Verdict
    reason: str = ""


class Attributes(msgspec.Struct, frozen=True, gc=False):
    """What a request wants to do. A request that is not for a resource fills only ``verb`` and ``path``."""

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
    """The selectors of a list, watch or deletecollection, if it has some."""


def attributes_of(info: RequestInfo, selectors: Selectors | None = None) -> Attributes:
    """The attributes of a request, with its selectors if it has some.

    Source: ``k8s.io/apiserver/pkg/endpoints/filters/authorization.go`` GetAuthorizerAttributes.
    """
    if not info.is_resource:
        return Attributes(info.verb, info.path)
    return Attributes(
        info.verb,
        info.path,
        is_resource=True,
        group=info.group,
        version=info.version,
        namespace=info.namespace,
        resource=info.resource,
        subresource=info.subresource,
        name=info.name,
        selectors=selectors,
    )


class AuthorizationError(Exception):
    """An authorizer could not decide. Unless another one allows the request, it ends with 500 (behaviour B14)."""


class Authorizer(Protocol):
    """Decides whether a user may do something."""

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        """The decision.

        Raises:
            AuthorizationError: It cannot decide.
            TooManyRequests: It cannot decide now; the client should try again.
        """
        ...


class UnionAuthorizer:
    """Asks authorizers in order; the first one that allows or denies decides (behaviour B8).

    If none does, there is no opinion, and the reasons are joined, one per line (behaviour B18).
    """

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        """The decision. After an error the next authorizer is asked; it may allow or deny (behaviour B15).

        Raises:
            AuthorizationError: None decided, and at least one failed; all errors are in the text.
            TooManyRequests: None decided, and at least one could not decide now.
        """
        reasons: list[str] = []
        errors: list[str] = []
        busy: TooManyRequests | None = None
        for each in self._authorizers:
            try:
                decision = await each.authorize(user, attributes)
            except AuthorizationError as error:
                errors.append(str(error))
                continue
            except TooManyRequests as error:
                busy = error
                continue
            if decision.verdict is not Verdict.NO_OPINION:
                return decision
            if decision.reason:
                reasons.append(decision.reason)
        if busy is not None:
            raise busy  # not a refusal: the authorizer might allow it later
        if errors:
            raise AuthorizationError(aggregate(errors))
        return Decision(Verdict.NO_OPINION, "\n".join(reasons))
