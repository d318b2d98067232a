"""What is allowed without asking the cluster: members of some groups, and paths such as health checks (behaviour B8, B9)."""

from __future__ import annotations

from collections.abc import Iterable

from extapi.api.user import MASTERS, User
from extapi.authorization.authorizer import Attributes, Decision, Verdict

DEFAULT_PATHS = ("/healthz", "/readyz", "/livez")

_ALLOW = Decision(Verdict.ALLOW)
_NO_OPINION = Decision(Verdict.NO_OPINION)


class AlwaysAllowGroups:
    """Allows members of ``groups`` everything; has no opinion on other users."""

    def __init__(self, groups: Iterable[str] = (MASTERS,)) -> None:
        self._groups = frozenset(groups)

    async def authorize(self, user: User, attributes: Attributes) -> Decision:  # noqa: ARG002 - only the user matters
        """Allow, or no opinion."""
        return _NO_OPINION if self._groups.isdisjoint(user.groups) else _ALLOW


class AlwaysAllowPaths:
    """Allows everybody requests for ``paths``; has no opinion on other paths, nor on resources.

    Args:
        paths: Exact paths, or prefixes that end with ``*``.

    Raises:
        ValueError: A path has a ``*`` elsewhere.
    """

    def __init__(self, paths: Iterable[str] = DEFAULT_PATHS) -> None:
        exact: set[str] = set()
        prefixes: list[str] = []
        for path in paths:
            stem = path.removeprefix("/").removesuffix("*")
            if "*" in stem:
                raise ValueError(f"only trailing * allowed in {path!r}")
            if path.endswith("*"):
                prefixes.append(stem)
            else:
                exact.add(stem)
        self._exact = frozenset(exact)
        self._prefixes = tuple(prefixes)

    async def authorize(self, user: User, attributes: Attributes) -> Decision:  # noqa: ARG002 - only the path matters
        """Allow, or no opinion."""
        if attributes.is_resource:
            return _NO_OPINION
        path = attributes.path.removeprefix("/")
        return _ALLOW if path in self._exact or path.startswith(self._prefixes) else _NO_OPINION
