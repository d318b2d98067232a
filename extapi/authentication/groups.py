"""The group of everybody who proved who they are (spec A27), and the user of those who did not try (spec A14)."""

from __future__ import annotations

from dataclasses import replace

from extapi.api.user import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User


def authenticated(user: User) -> User:
    """The user with ``system:authenticated`` last among the groups, unless anonymous or already marked either way."""
    if user.name == ANONYMOUS or AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED))


def anonymous() -> User:
    """Nobody in particular."""
    return User(ANONYMOUS, groups=(UNAUTHENTICATED,))
