"""Groups whose members may do everything (spec B8)."""

from __future__ import annotations

from collections.abc import Iterable

from extapi.api.user import MASTERS, User
from extapi.authorization.base import Attributes, Decision, Verdict

_ALLOW = Decision(Verdict.ALLOW)
_NO_OPINION = Decision(Verdict.NO_OPINION)


class AlwaysAllowGroups:
    """Allows everything to members of ``groups``, and has no opinion on anybody else."""

    def __init__(self, groups: Iterable[str] = (MASTERS,)) -> None:
        self._groups = frozenset(groups)

    async def authorize(self, user: User, attributes: Attributes) -> Decision:  # noqa: ARG002 - it does not matter what
        """Allow, or no opinion."""
        return _NO_OPINION if self._groups.isdisjoint(user.groups) else _ALLOW
