"""Several authorizers, asked in order (spec B8)."""

from __future__ import annotations

from collections.abc import Sequence

from extapi.api.user import User
from extapi.authorization.base import Attributes, AuthorizationError, Authorizer, Decision, Verdict
from extapi.errors import TooManyRequests, aggregate


class Union:
    """The first that allows or denies decides; otherwise there is no opinion, with all reasons line by line (B18)."""

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        """The decision. An error of one does not keep the next from allowing (B15); without that it is raised."""
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
            if decision.verdict is Verdict.ALLOW:
                return decision
            if decision.verdict is Verdict.DENY:
                return decision
            if decision.reason:
                reasons.append(decision.reason)
        if busy is not None:
            raise busy  # nobody knows yet: a refusal would be a wrong one
        if errors:
            raise AuthorizationError(aggregate(errors))
        return Decision(Verdict.NO_OPINION, "\n".join(reasons))
