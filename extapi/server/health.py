"""``/healthz``, ``/livez`` and ``/readyz``: named checks, each also at its own path (behaviour C22-C26, M15).

Why a check fails is only logged, unless the check tells it: anybody may read these endpoints. A check that passes may have a note
for operators, which ``?verbose`` shows. It names settings, but no values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from extapi.http.request import Request
from extapi.http.response import Response, plain_text

Check = Callable[[], str | None]
"""Returns the reason of a failure, or None. Must not wait: a check that takes time returns its last result."""

PATHS = ("healthz", "livez", "readyz")


@dataclass(frozen=True, slots=True)
class NamedCheck:
    """A check, and the endpoints that run it."""

    name: str
    check: Check
    paths: frozenset[str] = frozenset(PATHS)
    note: Callable[[], str] = lambda: ""
    """What an operator should know although nothing fails, or the empty string. Anybody may read it."""
    told: Callable[[], str] = lambda: ""
    """What anybody may read of a failure; the empty string: nothing."""


class Health:
    """The three endpoints; ``log`` is called with endpoint, check and reason of each failure."""

    def __init__(self, checks: Sequence[NamedCheck], log: Callable[[str, str, str], None]) -> None:
        self._checks: Mapping[str, Sequence[NamedCheck]] = {
            path: [NamedCheck("ping", lambda: None), *(check for check in checks if path in check.paths)]
            for path in PATHS
        }
        self._log = log
        self.results: dict[tuple[str, str], list[int]] = {}
        """How often each check has passed and failed when an endpoint ran all its checks, and whether it passed last; by the
        check's name and the endpoint's."""

    def paths(self) -> list[str]:
        """All paths that :meth:`answer` handles."""
        return [
            path
            for name, checks in self._checks.items()
            for path in (f"/{name}", *(f"/{name}/{check.name}" for check in checks))
        ]

    def answer(self, request: Request, path: str) -> Response | None:
        """The response for a health path; None for any other path."""
        endpoint, _, single = path.removeprefix("/").partition("/")
        if endpoint not in self._checks:
            return None
        if not single:
            return self._all(request, endpoint)
        for check in self._checks[endpoint]:
            if check.name == single:
                reason = check.check()
                return (
                    plain_text(200, "ok") if reason is None else plain_text(500, f"internal server error: {reason}\n")
                )
        return None

    def _all(self, request: Request, endpoint: str) -> Response:
        excluded = set(request.query.get("exclude", ()))
        unknown = excluded - {check.name for check in self._checks[endpoint]}
        lines = []
        failed = False
        for check in self._checks[endpoint]:
            if check.name in excluded:
                lines.append(f"[+]{check.name} excluded: ok")
                continue
            reason = check.check()
            result = self.results.setdefault((check.name, endpoint), [0, 0, 0])
            result[reason is not None] += 1
            result[2] = int(reason is None)
            if reason is None:
                note = check.note()
                lines.append(f"[+]{check.name} ok: {note}" if note else f"[+]{check.name} ok")
            else:
                failed = True
                self._log(endpoint, check.name, reason)
                lines.append(f"[-]{check.name} failed: {check.told() or 'reason withheld'}")
        if unknown:
            names = ",".join(f'"{name}"' for name in sorted(unknown))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        if failed:
            return plain_text(500, "\n".join([*lines, f"{endpoint} check failed", ""]))
        if "verbose" in request.query:
            return plain_text(200, "\n".join([*lines, f"{endpoint} check passed", ""]))
        return plain_text(200, "ok")
