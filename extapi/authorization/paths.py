"""Paths that everybody may ask for, such as health checks (spec B9)."""

from __future__ import annotations

from collections.abc import Iterable

from extapi.api.user import User
from extapi.authorization.base import Attributes, Decision, Verdict

DEFAULT_PATHS = ("/healthz", "/readyz", "/livez")

_ALLOW = Decision(Verdict.ALLOW)
_NO_OPINION = Decision(Verdict.NO_OPINION)


class AlwaysAllowPaths:
    """Allows requests for ``paths``: exact, or by prefix where they end with ``*``. Raises ValueError for other ``*``."""

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

    async def authorize(self, user: User, attributes: Attributes) -> Decision:  # noqa: ARG002 - it does not matter who
        """Allow, or no opinion; resources are never among the paths."""
        if attributes.is_resource:
            return _NO_OPINION
        path = attributes.path.removeprefix("/")
        return _ALLOW if path in self._exact or path.startswith(self._prefixes) else _NO_OPINION
